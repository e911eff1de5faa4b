"""Topic query."""
