"""How often the right position has the largest score."""

from torch import Tensor


def top_share(field: Tensor, position: Tensor) -> Tensor:
    """For each output word, 1 if ``position`` has the largest value of ``field``, 0 if not: (batch, target).

    Positions that tie for the largest value share the 1, which is what breaking ties at random gives on average: a
    uniform field scores 1/L. A position outside the input scores 0. ``field``: (batch, target, source), ``position``:
    (target,), or (batch, target) where it differs between examples.
    """
    source = field.shape[-1]
    largest = field == field.amax(-1, keepdim=True)
    known = (position >= 0) & (position < source)
    at = position.clamp(0, source - 1).expand(field.shape[:2]).unsqueeze(-1)
    hit = largest.gather(-1, at).squeeze(-1) & known
    return hit.double() / largest.sum(-1)
