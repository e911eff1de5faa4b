"""Attention by its distance from the right position: what runs of copying call it, and charts look for."""

FARTHEST = 4
"""Positions before and after the right one up to which it is noted."""


def profile_name(distance: int) -> str:
    """The metric that says how much attention lies so far after (before, if negative) the right position.

    >>> [profile_name(distance) for distance in (-1, 0, 2)]
    ['attention_-1', 'attention_mean', 'attention_+2']
    """
    return f"attention_{distance:+d}" if distance else "attention_mean"


PROFILE = {distance: profile_name(distance) for distance in range(-FARTHEST, FARTHEST + 1)}
"""All of them by distance."""
