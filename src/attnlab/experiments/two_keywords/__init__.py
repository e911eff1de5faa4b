"""Two keywords."""
