"""Frozen lexicon."""
