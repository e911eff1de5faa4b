"""Sentence pairs: what the experiments on translation share."""
