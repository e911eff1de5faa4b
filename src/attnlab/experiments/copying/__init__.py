"""Copying."""
