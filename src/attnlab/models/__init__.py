"""Models: one file a network or a part of one, in plain PyTorch. They know nothing of training."""
