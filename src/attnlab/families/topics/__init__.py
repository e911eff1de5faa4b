"""Topic words (P1)."""
