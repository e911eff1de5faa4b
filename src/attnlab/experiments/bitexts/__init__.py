"""Sentence pairs: what the experiments on translation share (`corpora`), and rows of both kinds (`rows`)."""
