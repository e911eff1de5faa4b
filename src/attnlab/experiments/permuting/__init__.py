"""Permuting."""
