"""The experiment `deceptive-copying`."""
