"""Data: readers of files and known corpora, vocabularies, vectors, cache."""
