"""Symmetry."""
