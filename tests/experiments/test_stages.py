"""Stages of translation training: what is counted at words whose answer is known, and a run of a few updates."""

import math

import numpy as np
import pytest
from tests.experiments.translating import little_corpora
from tests.lab.drawn import drawn

from attnlab.data.pieces import BEGIN, END
from attnlab.experiments.knowledge_first.experiment import PAIRS, KnowledgeFirst
from attnlab.experiments.knowledge_first.stages import FIELDS, evaluated_pairs, ibm1_of, pair_course
from attnlab.experiments.stages.experiment import STAGES, TRANSLATOR, Followed, Stages, neighbours, trigram
from attnlab.families.texts.reading import stored_field
from attnlab.families.translation.pieces import sentence_pairs
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order, Record
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore

STEPS = (0, 4, 8)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stages")
    with little_corpora(folder / "data"):
        spec = TRANSLATOR.spec(0)
        run = train(spec, Schedule(steps=STEPS[-1], evaluations=STEPS), RunStore(folder / "runs"))
        yield Outcome(TRANSLATOR.name, 0, run, spec)


@pytest.fixture(scope="module")
def story(outcome):
    return Stages().story(Order("quick"), [outcome])


def test_the_runs_are_those_of_knowledge_first():
    assert TRANSLATOR.name == PAIRS.name
    assert TRANSLATOR.spec is PAIRS.spec
    assert TRANSLATOR.schedule_at("paper") == PAIRS.schedule_at("paper")
    assert TRANSLATOR.seeds["paper"] == PAIRS.seeds["paper"] == 5


def words_of(outcome):
    """Every output word but end marks: its number, the word, its sentence."""
    pairs = sentence_pairs(*evaluated_pairs(outcome))
    sentence = np.repeat(np.arange(len(pairs)), np.diff(pairs.target_offsets))
    inner = np.flatnonzero(pairs.target != END)
    return inner, pairs.target, sentence


def test_shares_are_counted_word_by_word(outcome, story):
    (followed,) = story.followed
    log_p, said = trigram(*evaluated_pairs(outcome))
    inner, _, sentence = words_of(outcome)
    aligned = ibm1_of(outcome)
    for at, step in enumerate(STEPS):
        table = outcome.run.run.fields(step)
        valid = np.array(table["split"].to_pylist()) == "valid"
        predicted, given = (np.array(table[name].to_pylist())[valid] for name in ("predicted", "log_p"))
        alpha = [np.array(row) for row, one in zip(table["alpha"].to_pylist(), valid, strict=True) if one]
        assert followed.curves["language"][at] == pytest.approx(np.mean([predicted[k] == said[k] for k in inner]))
        assert followed.curves["as_well"][at] == pytest.approx(np.mean([log_p[k] >= given[k] for k in inner]))
        back, ahead, all_steps = [], [], []
        for k in inner:
            if k + 1 in inner and sentence[k] == sentence[k + 1]:
                step_of_ibm = aligned.row(k + 1).argmax() - aligned.row(k).argmax()
                goes_back = alpha[k + 1].argmax() < alpha[k].argmax()
                if step_of_ibm:
                    (back if step_of_ibm < 0 else ahead).append(goes_back)
                    all_steps.append(goes_back)
        assert followed.curves["reordering"][at] == pytest.approx(np.mean(back) - np.mean(ahead))
        assert followed.curves["monotone"][at] == pytest.approx(1 - np.mean(all_steps))


def test_the_trigram_is_of_the_target_side(outcome):
    split, bitext = evaluated_pairs(outcome)
    log_p, said = trigram(split, bitext)
    assert len(log_p) == int((split.target.lengths + 1).sum())
    first = {int(bitext.train.target.sentence(k)[0]) for k in range(len(bitext.train))}
    assert int(said[0]) in first, "after two begin marks comes a word that sentences begin with"
    assert BEGIN not in said
    assert np.exp(log_p).max() <= 1


def test_probe_and_attention_are_read_against_ibm1(outcome):
    course = pair_course(outcome)
    inner, _, _ = words_of(outcome)
    aligned = ibm1_of(outcome)
    for at, step in enumerate(STEPS):
        table = outcome.run.run.fields(step)
        for field, column in (("probe", "log_beta"), ("attention", "alpha")):
            stored = stored_field(table, "valid", column)
            hits = []
            for k in inner:
                highest = np.flatnonzero(aligned.row(k) == aligned.row(k).max())
                largest = np.flatnonzero(stored.row(k) == stored.row(k).max())
                hits.append(len(np.intersect1d(highest, largest)) / (len(highest) * len(largest)))
            assert course.top[field][at] == pytest.approx(np.mean(hits))
            assert 0 < course.entropy[field][at] <= 1 + 1e-6
    lower = min(course.top[field].max() for field in FIELDS)
    assert course.level == pytest.approx((course.chance + lower) / 2)
    assert all(course.reached(field) is not None for field in FIELDS)


def test_some_words_alone_have_a_course_of_their_own(outcome):
    inner, _, _ = words_of(outcome)
    assert pair_course(outcome, inner).top["probe"].tolist() == pair_course(outcome).top["probe"].tolist()
    assert pair_course(outcome, inner[:5]).chance != pair_course(outcome).chance


def test_neighbours_stay_in_their_sentence():
    positions = np.array([3, 1, 2, 9, 5, 5, 9, 0, 4])
    ends = np.array([0, 4, 7, 9])  # the last word of each sentence is its end mark
    back, ahead = neighbours(positions, np.array([0, 1, 2, 4, 5, 7]), ends)
    assert (back.tolist(), ahead.tolist()) == ([0], [1])


def test_half_heights():
    def course(values):
        return Followed(None, np.array([0, 10, 20, 30]), {"language": np.array(values)}, None, None)

    assert course([0.0, 0.3, 0.6, 0.5]).half_height("language") == 10
    assert course([0.0, 0.1, 0.9, 0.5]).half_height("language") == 20
    assert course([0.5, 0.1, 0.2, 0.5]).half_height("language") is None


def test_a_result_is_whole(story):
    result = Stages().analyse(Order("quick"), {story.runs.all()[0].run.id: story.runs.all()[0].run})
    claims = {claim.id for claim in load_claims() if "stages" in claim.experiments}
    assert {finding.claim for finding in result.findings} == claims
    assert {finding.verdict for finding in result.findings} == {"undecided"}
    assert [row["step"] for row in result.tables["curves"]] == list(STEPS)
    for table in result.tables.values():
        assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    shown = drawn(result.figures["stages"])
    assert {(row["what"], row["step"]) for row in shown} == {(name, step) for name in shown_names() for step in STEPS}
    curves = {row["step"]: row for row in result.tables["curves"]}
    for row in shown:
        assert row["share"] in (curves[row["step"]][name] for name in STAGES)
    assert "nan" not in result.summary


def shown_names():
    from attnlab.experiments.stages.experiment import NAMES

    return set(NAMES.values())


@pytest.mark.parametrize(("lead", "seeds", "verdict"), [(50, 5, "holds"), (-50, 5, "fails"), (50, 4, "undecided")])
def test_verdicts_are_over_seeds(lead, seeds, verdict):
    columns = ("lexicon_after_language", "reordering_after_attention", "attention_after_lexicon_unsaid")
    rows = [dict.fromkeys(columns, lead + seed) for seed in range(seeds)]
    told = Stages().retold(Order("paper"), Record({"steps": rows}, {}))
    assert {finding.verdict for finding in told.findings()} == {verdict}


def test_seeds_in_which_a_stage_never_comes_are_left_out():
    rows = [{"lexicon_after_language": lead} for lead in (None, 10, 20)]
    told = Stages().retold(Order("paper"), Record({"steps": rows}, {}))
    part = Stages.rules()["language-before-lexicon"](told)
    assert part.effect == 15
    assert "2 of 3 seeds" in part.detail


def test_knowledge_first_has_a_part_on_multi30k(outcome):
    story = KnowledgeFirst().story(Order("reduced"), [outcome])
    (finding,) = [one for one in story.findings() if one.claim == "lexicon-before-attention"]
    (part,) = [one for one in finding.parts if one.name == PAIRS.name]
    assert part.verdict == "undecided"
    assert "IBM Model 1" in part.detail
    assert any("end marks are left out" in note for note in story.notes())
