"""The experiment `deceptive`."""
