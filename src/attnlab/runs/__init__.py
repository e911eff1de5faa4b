"""Runs: specs, schedules, the training loop, the run store and sweeps."""
