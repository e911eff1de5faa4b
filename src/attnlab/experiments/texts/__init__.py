"""Labelled texts: what the experiments on real corpora share."""
