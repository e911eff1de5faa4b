"""Claims of the papers: what they say, the rules that decide each, and how each stands.

`registry` reads the claims, `parts` is what an experiment says about one, `decisions` puts results and claims together.
A claim that nothing has been run for is not run; one whose evidence is not good enough is open.
"""

from attnlab.lab.claims.decisions import (
    LARGEST,
    OF_OURS,
    OUTCOMES,
    ClaimOutcome,
    Decision,
    decide,
    holds_result,
    outcome_of,
    read_whole,
)
from attnlab.lab.claims.parts import (
    VERDICTS,
    Finding,
    Part,
    Verdict,
    differing,
    direction_of,
    first_mistake,
    part_to_json,
    verdict_of,
)
from attnlab.lab.claims.registry import (
    PRESETS,
    By,
    Claim,
    Earlier,
    Preset,
    Stance,
    claim,
    departing,
    load_claims,
    read_claims,
)

__all__ = [
    "LARGEST",
    "OF_OURS",
    "OUTCOMES",
    "PRESETS",
    "VERDICTS",
    "By",
    "Claim",
    "ClaimOutcome",
    "Decision",
    "Earlier",
    "Finding",
    "Part",
    "Preset",
    "Stance",
    "Verdict",
    "claim",
    "decide",
    "departing",
    "differing",
    "direction_of",
    "first_mistake",
    "holds_result",
    "load_claims",
    "outcome_of",
    "part_to_json",
    "read_claims",
    "read_whole",
    "verdict_of",
]
