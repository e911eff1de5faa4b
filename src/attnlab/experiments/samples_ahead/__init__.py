"""Samples ahead."""
