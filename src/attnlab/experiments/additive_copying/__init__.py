"""Additive copying."""
