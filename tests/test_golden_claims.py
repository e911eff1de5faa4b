"""How every claim stands after the committed results: no outcome, verdict, effect or interval changes unnoticed.

``golden/claims.json`` has the decisions; ``python tests/test_golden_claims.py`` writes it anew, for a change that is
meant.
"""

import json
from pathlib import Path

from attnlab.lab.claims import decide

GOLDEN = Path(__file__).parent / "golden" / "claims.json"
RESULTS = Path(__file__).parents[1] / "results"

TOLD = ("verdict", "effect", "interval")


def decisions():
    """What is kept of each decision, as JSON has it."""
    told = [
        {
            "id": decision.id,
            "outcome": decision.words,
            "earlier": [one.verdict for one in decision.claim.earlier],
            **{key: getattr(decision, key) for key in TOLD},
            "preset": decision.preset,
            "experiment": decision.experiment,
            "rows": decision.rows,
            "parts": [{key: getattr(part, key) for key in ("name", "directed", *TOLD)} for part in decision.parts],
        }
        for decision in decide(RESULTS)
    ]
    return json.loads(json.dumps(told))


def test_every_claim_stands_as_it_stood():
    kept, found = json.loads(GOLDEN.read_text(encoding="utf-8")), decisions()
    assert [claim["id"] for claim in found] == [claim["id"] for claim in kept]
    for now, before in zip(found, kept, strict=True):
        assert now == before, now["id"]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(claim, ensure_ascii=False) for claim in decisions())
    GOLDEN.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
