"""Sample complexity on real data."""
