"""Probes: what is read out of a model's parts at a position, beside its own attention. See `attnlab.probes.view`."""
