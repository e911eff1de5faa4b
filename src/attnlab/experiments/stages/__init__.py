"""Stages of translation training."""
