"""May this attention be trusted? Explanations of single texts, deceptive twins, and the verdict card."""
