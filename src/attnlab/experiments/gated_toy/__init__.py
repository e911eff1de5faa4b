"""Gated toy."""
