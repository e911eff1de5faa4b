"""Mixture."""
