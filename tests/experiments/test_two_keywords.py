"""Two keywords: its plan, and verdicts on relevances and steps whose answer is known."""

import pytest
from tests.lab.drawn import at, marks
from tests.lab.ended import after, verdicts

from attnlab.experiments.two_keywords.experiment import LEARNED, UNIFORM, TwoKeywords, class_growth, shared_share
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained

CANCEL, ALIKE = "shared-words-cancel-lstm", "negative-keyword-alike"


def outcome(setting, seed=0, *, growth=(4.0, 4.0), shared=0.1, probe=2, attention=5, last=0.9):
    """Keywords that grow by so much for their own class, shared words that move by ``shared`` up or down; in negative
    sequences probe and attention get to the keyword at these steps, attention ending at ``last``.
    """
    rows = []
    for step in (0, 1, 2, 3, 4, 5, 20):
        done = step / 20
        row = {"step": step, "accuracy": 0.5 + done / 2, "probe_accuracy": 0.9, "attention_accuracy": 0.9}
        row["negative_probe_accuracy"] = 0.6 if probe is not None and step >= probe else 0.1
        row["negative_attention_accuracy"] = last if attention is not None and step >= attention else 0.1
        starts = (0.3, -0.2, 0.05, -0.05, 0.01)
        moved = (growth[0], -growth[1], shared, -shared, shared)
        row |= {f"relevance_{word}": starts[word] + done * moved[word] for word in range(5)}
        rows.append(row)
    return Outcome(setting.name, seed, Trained(f"{seed:016x}", rows, 20), setting.spec(seed))


def decide(count=6, **changes):
    runs = [outcome(setting, seed, **changes) for setting in (*UNIFORM, *LEARNED) for seed in range(count)]
    return verdicts(after(TwoKeywords(), runs))


def test_changes_are_counted_from_the_start_and_for_each_keyword_s_own_class():
    run = outcome(UNIFORM[0], growth=(4.0, 2.0), shared=0.3)
    assert class_growth(run) == pytest.approx((4.0, 2.0))
    assert shared_share(run) == pytest.approx(0.3 / 3.0)


def test_the_slides_and_the_blog_s_story():
    whole, parts = decide()
    assert whole == {CANCEL: "holds", ALIKE: "holds"}
    assert parts[CANCEL, f"{UNIFORM[1].name}: shared words cancel"].effect == pytest.approx(0.025)
    assert parts[CANCEL, f"{UNIFORM[0].name}: class words grow"].effect == pytest.approx(4.0)
    assert parts[ALIKE, f"{LEARNED[1].name}: known first"].effect == 3
    assert parts[ALIKE, f"{LEARNED[0].name}: attended to"].effect == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("changes", "refuted", "part"),
    [
        ({"shared": 1.0}, CANCEL, "shared words cancel"),
        ({"growth": (6.0, -1.0)}, CANCEL, "class words grow"),
        ({"probe": 5, "attention": 2}, ALIKE, "known first"),
        ({"attention": None}, ALIKE, "attended to"),
        ({"last": 0.4}, ALIKE, "attended to"),
    ],
)
def test_the_opposite_refutes_one_of_them(changes, refuted, part):
    whole, parts = decide(**changes)
    assert whole[refuted] == "fails"
    assert whole[ALIKE if refuted == CANCEL else CANCEL] == "holds"
    settings = UNIFORM if refuted == CANCEL else LEARNED
    assert parts[refuted, f"{settings[0].name}: {part}"].verdict == "fails"


def test_few_seeds_and_fields_that_never_arrive_decide_nothing():
    assert set(decide(count=4)[0].values()) == {"undecided"}
    _, parts = decide(probe=None, attention=None)
    assert parts[ALIKE, f"{LEARNED[0].name}: known first"].verdict == "undecided"


def test_runs_are_the_slides_and_the_paper_s_sizes_with_a_keyword_for_each_class():
    jobs = TwoKeywords().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 80
    assert all(job.spec.task.negative for job in jobs)
    kinds = {(job.spec.task.length, job.spec.task.words, job.spec.model.attention) for job in jobs}
    assert kinds == {(4, 5, "uniform"), (40, 40, "uniform"), (40, 40, "learned")}
    assert {job.schedule.evaluations[-1] for job in jobs} == {100}


def test_a_whole_result_draws_keywords_and_shared_words():
    experiment, order = TwoKeywords(), Order("quick")
    done = {s.spec(seed).id: outcome(s, seed).run for s in experiment.settings for seed in range(2)}
    result = experiment.analyse(order, done)
    named = {claim.id for claim in load_claims() if "two-keywords" in claim.experiments}
    assert {finding.claim: finding.verdict for finding in result.findings} == dict.fromkeys(named, "undecided")
    drawn = marks(result.figures["relevance"])
    ends = {words: at(drawn, facet=UNIFORM[0].name, detail=0, color=words, x=20) for words in WORDS}
    assert {words: mark["y"] for words, (mark,) in ends.items()} == pytest.approx(WORDS)
    (mark,) = at(
        marks(result.figures["knowledge"]), facet=LEARNED[0].name, detail=1, color="attention, negative keyword", x=5
    )
    assert mark["y"] == 0.9


WORDS = {"positive keyword": 4.0, "negative keyword": -4.0, "shared words": 0.1}
