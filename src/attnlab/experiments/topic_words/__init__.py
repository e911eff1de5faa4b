"""Topic words."""
