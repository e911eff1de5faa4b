"""Labelled texts: what the experiments on real corpora share (`corpora`), and the page over all corpora (`page`)."""
