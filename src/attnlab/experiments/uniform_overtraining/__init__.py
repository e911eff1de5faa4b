"""Uniform overtraining."""
