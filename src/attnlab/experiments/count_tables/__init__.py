"""Count tables."""
