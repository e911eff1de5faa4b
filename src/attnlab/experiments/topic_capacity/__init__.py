"""Topic capacity."""
