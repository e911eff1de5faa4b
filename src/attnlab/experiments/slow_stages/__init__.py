"""The two stages of the keyword task at a tenth of the learning rate."""
