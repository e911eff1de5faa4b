"""Topic limits."""
