"""Statistics: rates and exact tests, the bootstrap, ranks, and correction for several tests. NumPy and SciPy only."""
