"""Copying: sequence-to-sequence training on synthetic pairs (P3 3.3)."""
