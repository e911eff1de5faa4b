"""Forecast and translation."""
