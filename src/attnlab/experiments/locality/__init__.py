"""Locality."""
