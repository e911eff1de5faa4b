"""Probes: what is read out of a model's parts at a position, beside its own attention.

``optimal_attention``: the attention that minimises the loss for given logits (P3 A.1).
"""
