"""Forecast text."""
