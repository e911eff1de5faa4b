"""The experiment `uniform-accuracy`."""
