"""Logistic proxy."""
