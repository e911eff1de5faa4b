"""Forecast copying."""
