"""The claims on deceptive twins and on uniform attention where the answer is known, and the order of their runs."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attnlab.experiments.deceptive.compared import Compared, Read, beside_public, seeds_apart, without_a_word
from attnlab.experiments.deceptive.experiment import WEIGHTS, Deceptive, twin_name
from attnlab.experiments.deceptive_copying.experiment import DeceptiveCopying, off
from attnlab.experiments.texts.corpora import TextRuns
from attnlab.experiments.uniform_accuracy.experiment import Difference, UniformAccuracy
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Order, Record
from attnlab.probes.texts import TextFields
from attnlab.runs.loop import Trained


def line(value, spread, before=""):
    name = before.rstrip("_")
    return {name: value, f"{before}low": value - spread, f"{before}high": value + spread}


def held_out(gained=-0.005, top=0.1, less=-0.4, tau=-0.15, less_tau=-0.25, spread=0.01):
    values = {"gained_": gained, "A_": top, "A_less_": less, "tau_": tau, "tau_less_": less_tau}
    row = {"chosen": "lambda 0.1", "texts": 700, "sample": 100, "chance": 0.09}
    for before, value in values.items():
        row |= line(value, spread, before)
    return row


def verdicts(row, runs=3):
    story = Deceptive()
    story.order = Order("reduced", row="sst")
    story.record = Record({"held_out": [row]}, {"reference": list(range(runs))})
    parts = {finding.claim: finding.parts for finding in story.findings()}
    accuracy, influence = parts["deceptive-attention"]
    (anti,) = parts["deceptive-anti-correlated"]
    return accuracy.verdict, influence.directed, influence.verdict, anti.verdict


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("holds", "holds", "holds", "holds")),
        ({"gained": -0.05}, ("fails", "holds", "holds", "holds")),
        ({"gained": 0.015}, ("undecided", "holds", "holds", "holds")),
        ({"top": 0.3}, ("holds", "holds", "fails", "holds")),
        ({"less": 0.2}, ("holds", "fails", "fails", "holds")),
        ({"less": 0.0}, ("holds", "undecided", "undecided", "holds")),
        ({"tau": 0.1}, ("holds", "holds", "holds", "fails")),
        ({"tau": 0.0}, ("holds", "holds", "holds", "undecided")),
        ({"less_tau": 0.0}, ("holds", "holds", "holds", "undecided")),  # the standard network's is as low
    ],
)
def test_the_rules_on_twins(changes, expected):
    assert verdicts(held_out(**changes)) == expected


def test_one_run_decides_nothing_by_a_few_points():
    assert verdicts(held_out(less=-0.03), runs=1)[1] == "undecided"
    assert verdicts(held_out(less=-0.03), runs=3)[1] == "holds"


def read(rng, texts=30, sample=(1, 4, 7), sharp=1.0):
    """A network whose attention, predictions and leave-one-out are drawn."""
    scores = [np.exp(sharp * rng.normal(size=6)) for _ in range(texts)]
    alpha = ScoreField.from_rows([row / row.sum() for row in scores])
    p = rng.uniform(0.05, 0.95, texts)
    logs = np.log(np.stack([p, 1 - p], 1))
    loo = ScoreField.from_rows([rng.normal(size=6) for _ in sample])
    delta = ScoreField.from_rows([rng.normal(size=6) for _ in sample])
    return Read(TextFields(alpha, alpha, logs, 0.0, 0.0), logs.argmax(1) == 0, loo, delta)


def test_a_network_beside_itself_and_beside_others():
    rng, sample = np.random.default_rng(0), np.array([1, 4, 7])
    standard = [read(rng), read(rng)]
    same = Compared.of(standard, standard, sample)
    assert same.tvd.max() == 0 and same.jsd.max() < 1e-12 and same.gained.tolist() == [0.0] * 30
    np.testing.assert_array_equal(same.top, same.top_standard)
    own = [read(rng, sharp=8.0), read(rng, sharp=8.0)]
    other = Compared.of(standard, own, sample)
    assert other.jsd.mean() > 0.1 and len(other.jsds) == 2
    # Written out for one text: the mean over pairs of half the sum of differences.
    pairs = zip(standard, own, strict=True)
    tvd = [
        np.abs(np.exp(p.fields.log_probabilities[3]) - np.exp(q.fields.log_probabilities[3])).sum() / 2
        for p, q in pairs
    ]
    assert other.tvd[3] == pytest.approx(np.mean(tvd))
    assert other.accuracy == pytest.approx(np.mean([one.right.mean() for one in own]))
    shown = {column for column, _ in Deceptive.dots.values()}
    assert {*shown, *(f"{column}_{end}" for column in shown for end in ("low", "high")), "chance"} <= set(other.line())
    assert seeds_apart(standard)["tvd"] > 0
    assert seeds_apart(standard[:1]) is None


def test_leave_one_out_by_magnitude_is_how_far_the_prediction_moves():
    one, sample = read(np.random.default_rng(3)), np.array([1, 4, 7])
    got = without_a_word(one, sample)
    for k, text in enumerate(sample):
        p = np.exp(one.fields.log_probabilities[text, 0])  # the right class is 0 throughout
        for place, loo in enumerate(one.loo.row(k)):
            without = 1 / (1 + np.exp(-(np.log(p / (1 - p)) - loo)))
            assert got.row(k)[place] == pytest.approx(abs(p - without), abs=1e-9)
    table = beside_public("sst", [one], sample)
    assert [line["jain_wallace"] for line in table] == [0.35, 0.29]
    taus = [kendalltau(one.fields.alpha.row(text), np.abs(one.delta.row(k)))[0] for k, text in enumerate(sample)]
    assert table[0]["tau_magnitude"] == pytest.approx(np.mean(taus))


def chooser(lost, moved):
    story = Deceptive()
    story.half = np.array([True, False])

    def compared(gained, jsd):
        zero = np.zeros(1)
        return Compared(zero, np.array([jsd, 9.0]), np.array([gained, 9.0]), 0.0, *[zero] * 5, [], [])

    names = map(twin_name, WEIGHTS)
    story.twins = {name: compared(gained, jsd) for name, gained, jsd in zip(names, lost, moved, strict=True)}
    return story.choose()


def test_the_first_half_chooses_the_farthest_of_those_as_accurate():
    assert chooser([0.0, -0.005, -0.008, -0.05], [0.1, 0.2, 0.9, 1.0]) == "lambda 0.1"
    assert chooser([0.0, -0.005, -0.011, 0.05], [0.1, 0.2, 0.9, 1.0]) == "lambda 0.01"
    assert chooser([-0.02, -0.03, -0.04, -0.05], [0.1, 0.2, 0.9, 1.0]) == "lambda 0.001"


@pytest.mark.needs_data("sst")
def test_twins_are_planned_beside_originals_that_are_done():
    experiment, order = Deceptive(), Order("quick", row="sst")
    (job,) = experiment.plan(order, {})
    assert len(experiment.at_most(order, {})) == 1 + len(WEIGHTS) + 1
    rows = [{"step": 0, "accuracy": 0.5}, {"step": 250, "accuracy": 0.7}]
    done = {job.spec.id: Trained(job.spec.id, rows, 250)}
    jobs = experiment.plan(order, done)
    assert jobs == experiment.at_most(order, done) and jobs[0] == job
    twins = [one.spec.deception for one in jobs[1:]]
    assert [one.weight for one in twins] == [*WEIGHTS, 1.0]
    assert {one.original for one in twins[:-1]} == {(job.spec.id, 250)}


@pytest.mark.needs_data("imdb", "20newsgroups")
def test_corpora_of_long_texts_have_fewer_twins():
    experiment = Deceptive()
    for row, lambdas in (("imdb", [0.1, 1.0]), ("20newsgroups", [0.1, 1.0])):
        _, *twins = experiment.at_most(Order("reduced", row=row), {})
        assert [twin.spec.deception.weight for twin in twins] == lambdas


# --- uniform attention


def test_uniform_attention_is_as_good_within_the_margin():
    rng = np.random.default_rng(0)
    learned = (rng.random((5, 4000)) < 0.8).astype(float)
    same, worse = learned.copy(), learned * (rng.random(learned.shape) > 0.06)

    def verdict(uniform, seeds=5):
        story = UniformAccuracy()
        story.order = Order("reduced", row="sst")
        one = Difference(learned[:seeds], uniform[:seeds], 0.02)
        story.record = Record({"differences": [{"measure": "accuracy", **one.line()}]}, {})
        ((part,),) = (finding.parts for finding in story.findings())
        return part.verdict

    line = Difference(learned, same, 0.02).line()
    assert {column for column, _ in UniformAccuracy.dots.values()} <= set(line)
    assert verdict(same) == "holds" and verdict(worse) == "fails"
    assert verdict(same, seeds=2) == "holds"  # over texts alone
    noisy = learned + np.array([0.05, -0.05, 0.04, -0.04, 0.0])[:, None]
    assert verdict(noisy) == "undecided"  # seeds differ more than texts


@pytest.mark.needs_data("sst")
@pytest.mark.parametrize("preset", ["quick", "reduced"])
def test_the_notes_name_the_updates_that_were_made(preset):
    order = Order(preset, row="sst")
    uniform, twins = UniformAccuracy(), Deceptive()
    for story, setting in ((uniform, uniform.setting(order, "uniform")), (twins, twins.originals(order))):
        story.order, story.standard = order, []
        story.whole, story.sample = False, torch.arange(3)
        story.texts = TextRuns("sst", preset, None)
        notes = [note for note in story.notes() if note.startswith(f"At {preset}")]
        assert notes == [f"At {preset}: {setting.schedule.steps} updates instead of 4000, and at most "
                         f"{setting.spec(20).evaluation_batch} validation texts."]  # fmt: skip


# --- copying


def test_copying_kept_off_the_right_word():
    story = DeceptiveCopying()
    story.order = Order("reduced")

    def verdicts(accuracy, mass):
        kept = {"accuracy": np.array(accuracy), "attention_mean": np.array(mass)}
        story.last = {"learned": {"accuracy": np.ones(3)}, off(1.0): kept}
        story.record = Record({"paired": story.paired()}, {})
        return [part.verdict for part in story.findings()[0].parts]

    assert verdicts([1.0, 0.999, 0.998], [0.001, 0.002, 0.003]) == ["holds", "holds"]
    assert verdicts([0.8, 0.81, 0.79], [0.5, 0.52, 0.51]) == ["fails", "fails"]
