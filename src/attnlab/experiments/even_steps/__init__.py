"""Even steps."""
