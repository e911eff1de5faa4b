"""The keyword task (P3 6.1)."""
