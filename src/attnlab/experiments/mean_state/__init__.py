"""Mean state."""
