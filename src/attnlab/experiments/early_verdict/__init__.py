"""Early verdict."""
