"""Attention as word alignment."""
