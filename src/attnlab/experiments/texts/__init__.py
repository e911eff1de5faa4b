"""Text classification on real corpora: does attention follow what the network knows about words?

They share runs (`classification`) and read them through `text_runs`; each has a row for each corpus.
"""
