"""Sample complexity."""
