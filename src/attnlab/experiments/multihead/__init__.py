"""Multihead."""
