"""Optimal attention."""
