"""Rescue."""
