"""Measures of agreement between score fields: A(u, v), Kendall's tau, xi, their baselines and intervals."""
