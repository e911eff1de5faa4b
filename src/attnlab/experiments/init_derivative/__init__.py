"""Init derivative."""
