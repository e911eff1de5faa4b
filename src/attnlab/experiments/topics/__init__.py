"""P1's topic words: how score and embedding of a word grow together. `topics` has what they share."""
