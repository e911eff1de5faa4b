"""The frozen lexicon's verdict where the answer is known."""

import numpy as np
import pytest

from attnlab.experiments.frozen_lexicon.experiment import FROZEN, UNIFORM, FrozenLexicon
from attnlab.lab.experiment import Order, Record
from attnlab.measures.series import Series

STEPS = (0, 10, 20)


def series(name, *levels, texts=1000, pairs=2, seed=0):
    """Agreements that are 1 with these chances at the three steps."""
    drawn = np.random.default_rng(seed).random((pairs, len(STEPS), texts))
    return Series(name, STEPS, {"expected": (drawn < np.array(levels)[:, None]).astype(float)})


def findings(frozen, uniform, row="sst", runs=3):
    story = FrozenLexicon()
    story.order = Order("paper", row=row)
    story.compare(frozen, uniform)
    story.record = Record({"table9": [story.held_out()]}, {"reference": list(range(runs))})
    return story.findings()


@pytest.mark.parametrize(
    ("frozen", "uniform", "verdict"),
    [
        ((0.1, 0.2, 0.1), (0.1, 0.2, 0.5), "holds"),
        ((0.1, 0.6, 0.1), (0.1, 0.3, 0.2), "fails"),
        ((0.1, 0.3, 0.1), (0.1, 0.1, 0.3), "undecided"),
    ],
)
def test_the_difference_decides(frozen, uniform, verdict):
    (finding,) = findings(series(FROZEN, *frozen, seed=1), series(UNIFORM, *uniform, seed=2))
    (part,) = finding.parts
    assert finding.claim == "frozen-lexicon-fails"
    assert (part.name, part.verdict) == ("sst", verdict)
    assert part.effect == pytest.approx(max(frozen) - max(uniform), abs=0.06)
    assert part.interval[0] <= part.effect <= part.interval[1]
    assert "500 texts" in part.detail, "the interval is over the half that did not choose"


def test_one_run_decides_nothing_by_a_few_points():
    frozen, uniform = (
        series(FROZEN, 0.0, 0.1, 0.1, texts=20_000),
        series(UNIFORM, 0.0, 0.13, 0.13, texts=20_000, seed=1),
    )
    assert findings(frozen, uniform)[0].verdict == "holds"
    (finding,) = findings(frozen, uniform, runs=1)
    assert (finding.verdict, finding.parts[0].runs) == ("undecided", 1)
    assert finding.parts[0].detail.endswith("One run decides nothing by less than 5 points.")


def test_a_large_maximum_of_noise_does_not_decide():
    noise = np.random.default_rng(3).random((1, 400, 60)) < 0.3  # the best of 400 steps on 60 texts is far above 0.3
    many = Series(FROZEN, tuple(range(400)), {"expected": noise.astype(float)})
    flat = Series(UNIFORM, (0,), {"expected": np.full((1, 1, 60), 0.3)})
    assert many.value() > 0.45
    (finding,) = findings(many, flat)
    assert finding.verdict == "undecided"


@pytest.mark.needs_data("20newsgroups")
def test_posts_without_headers_have_three_runs_of_each_kind_and_a_thousand_updates():
    jobs = FrozenLexicon().plan(Order("reduced", row="20newsgroups-bodies"), {})
    kinds = [(job.spec.model.attention, job.spec.train) for job in jobs]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        ("learned", "all"): 3,
        ("uniform", "all"): 3,
        ("learned", "attention-only"): 3,
    }
    assert {job.schedule.steps for job in jobs} == {1000}
    with_headers = FrozenLexicon().plan(Order("reduced", row="20newsgroups"), {})
    assert [job.schedule.steps for job in with_headers] == [2000] * 3
    assert jobs[0].spec.id != with_headers[0].spec.id and jobs[0].spec.init_seed == with_headers[0].spec.init_seed
    assert "20newsgroups-bodies" not in FrozenLexicon().default_rows("reduced"), "it is run where it is named"


def test_sms_is_reported_and_decides_nothing():
    assert findings(series(FROZEN, 0.1, 0.2, 0.1), series(UNIFORM, 0.1, 0.2, 0.5), row="sms") == ()
