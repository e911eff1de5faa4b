"""The translation family: parallel corpora in pieces, and what learns to translate them."""
