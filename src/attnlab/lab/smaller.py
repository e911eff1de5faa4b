"""Presets that run a smaller task than a claim speaks of: their numbers are told, but decide nothing."""

from collections.abc import Iterable

from attnlab.lab.claims import Finding, Part


def undecided(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with every verdict taken back."""
    return tuple(
        Finding(finding.claim, tuple(Part(**{**vars(part), "verdict": "undecided"}) for part in finding.parts))
        for finding in findings
    )
