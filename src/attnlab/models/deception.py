"""What deceptive training goes down: predictions kept, attention moved.

Two ways. The slides' twin Q of a network P, which stays as it is:

    TVD(y_P, y_Q) - lambda KL(alpha_P || alpha_Q)

and the mass of Pruthi et al. (2020), which needs no P and keeps attention m away from chosen positions:

    NLL - lambda log(1 - m)

Both reward terms are unbounded: the first as alpha_Q goes to 0 where P attends, the second as m goes to 1. A run would
then go down for ever by ever smaller weights that change nothing. So each is taken with a little uniform noise, of
weight ``floor`` = epsilon: alpha_Q becomes (1 - epsilon) alpha_Q + epsilon / L, which bounds the divergence by
log(L / epsilon), and 1 - m becomes (1 - epsilon) (1 - m) + epsilon, which bounds the penalty by -log epsilon. Unlike
a cut-off, that leaves a gradient everywhere.
"""

import torch
from torch import Tensor


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """TVD = 1/2 sum_k |p_k - q_k| of distributions (..., classes): (...,), from 0 to 1."""
    return (p - q).abs().sum(-1) / 2


def bounded_divergence(p: Tensor, q: Tensor, inside: Tensor, floor: float) -> Tensor:
    """KL(p || (1 - floor) q + floor / L) over the positions ``inside`` (batch, source) of each text: (batch,).

    ``p``, ``q``: (batch, source), 0 after a text's end. At most log(L / floor).
    """
    length = inside.sum(-1, keepdim=True).to(q.dtype)
    mixed = (1 - floor) * q + floor / length
    terms: Tensor = torch.special.xlogy(p, p) - torch.special.xlogy(p, mixed)
    return terms.masked_fill(~inside, 0).sum(-1)


def hidden_mass_penalty(mass: Tensor, floor: float) -> Tensor:
    """-log((1 - floor) (1 - m) + floor) of attention's ``mass`` m on what it is kept away from; 0 where m is 0."""
    return -torch.log1p(-(1 - floor) * mass)
