"""Labelled texts (P3 2.4)."""
