"""Theory: what can be computed without training: forecasts, count tables and alignments, closed forms."""
