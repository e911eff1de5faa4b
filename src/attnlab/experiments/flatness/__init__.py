"""Flatness."""
