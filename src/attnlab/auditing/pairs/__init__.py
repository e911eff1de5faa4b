"""The audit of a parallel corpus: translators instead of classifiers, word alignments instead of leave-one-out."""
