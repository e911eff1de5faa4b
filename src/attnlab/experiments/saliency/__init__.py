"""Saliency."""
