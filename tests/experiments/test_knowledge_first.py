"""What is learned first: steps read from curves whose answer is known, verdicts on them, and a run on texts."""

import csv
from math import log

import numpy as np
import pytest
from tests.lab.drawn import at
from tests.lab.drawn import marks as drawn
from tests.news import write_news

from attnlab.data.labelled_text import load_corpus
from attnlab.experiments.knowledge_first.experiment import (
    COPIED,
    FOLLOWED,
    FROZEN,
    GATED,
    KEYWORD,
    PAIRS,
    PERMUTED,
    TEXTS,
    KnowledgeFirst,
    before,
    seed_row,
)
from attnlab.experiments.knowledge_first.stages import (
    Course,
    end_table,
    ending,
    lead_table,
    relevance,
    row_course,
    text_course,
)
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.fields import ScoreField
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.result import write_result, write_table
from attnlab.runs.loop import Trained, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

STEPS = np.arange(0, 20, 2)


def rising(at):
    """Low until evaluation number ``at``, high from there on."""
    return np.where(np.arange(len(STEPS)) >= at, 1.0, 0.02)


def course(setting=COPIED, seed=0, probe=2, attention=5, entropy=0.99, chance=0.025, **changes):
    top = {
        "probe": rising(probe) if isinstance(probe, int) else probe,
        "attention": rising(attention) if isinstance(attention, int) else attention,
    }
    values = {
        "steps": STEPS,
        "top": top,
        "mean": {field: curve / 2 for field, curve in top.items()},
        "entropy": {field: np.linspace(entropy, 0.5, len(STEPS)) for field in top},
        "accuracy": rising(7),
        "chance": chance,
        **changes,
    }
    return Course(setting.name, seed, f"{seed:016x}", **values)


NEVER = len(STEPS)


def test_steps_are_read_by_rank():
    one = course()
    assert (one.reached("probe"), one.reached("attention"), one.lead) == (4, 10, 6)
    assert course(attention=np.full(len(STEPS), 0.499)).reached("attention") is None
    assert course(attention=np.full(len(STEPS), 0.5)).reached("attention") == 0


def test_a_field_that_does_not_get_there_counts_at_the_end_and_two_do_not_count():
    assert course(attention=NEVER).lead == 18 - 4
    assert course(probe=NEVER).lead == 10 - 18
    assert course(probe=NEVER, attention=NEVER).lead is None


def test_half_heights_are_half_way_from_the_start_to_the_highest():
    values = np.array([0.2, 0.1, 0.3, 0.55, 0.6, 0.8, 1.0, 0.9, 0.2, 0.1])
    one = course(mean={"probe": values, "attention": np.full(len(STEPS), 0.3)})
    assert one.half_height("probe") == 8  # 0.6 is half way from 0.2 to 1
    assert one.half_height("attention") is None


def test_attention_begins_after_its_last_value_at_chance():
    noisy = np.array([0.06, 0.04, 0.2, 0.05, 0.06, 0.3, 0.7, 0.02, 0.02, 0.02])
    one = course(probe=3, attention=noisy)
    assert one.attention_begins == 8  # 0.05 is twice chance; what comes after it got there does not matter
    assert course(attention=0).attention_begins == 0
    assert course(attention=NEVER).attention_begins is None


def test_the_probe_ends_at_nine_tenths_of_its_highest():
    slow = np.array([0.0, 0.2, 0.5, 0.7, 0.71, 0.73, 0.8, 0.79, 0.1, 0.0])
    one = course(probe=slow, attention=2)
    assert one.probe_ends == 10  # 0.73 is above 0.72
    assert (one.attention_begins, one.overlap) == (4, 6)
    assert course(probe=slow, attention=NEVER).overlap is None


def test_when_attention_leaves_uniformity_and_how_uniform_it_is_when_words_are_known():
    one = course(probe=1, entropy=1.0)
    assert one.leaves_uniform == 2
    assert one.entropy_at_knowledge == pytest.approx(1 - 0.5 / 9)
    assert course(probe=NEVER).entropy_at_knowledge is None


def all_courses(count=20, **changes):
    return {setting.name: [course(setting, seed, **changes) for seed in range(count)] for setting in FOLLOWED}


def frozen_courses(count=20, **changes):
    return [course(FROZEN, seed, attention=NEVER, **changes) for seed in range(count)]


def story(courses=None, frozen=(), preset="paper"):
    """The experiment with these courses of its runs."""
    experiment = KnowledgeFirst()
    experiment.order, experiment.runs = Order(preset), Runs([])
    experiment.measure(experiment.runs)
    experiment.courses, experiment.frozen = {**experiment.courses, **(courses or {})}, list(frozen)
    experiment.curves = [row for group in experiment.courses.values() for one in group for row in one.rows()]
    return experiment


def findings(courses, frozen):
    return story(courses, frozen).findings()


def verdicts(courses, frozen):
    return {finding.claim: finding.verdict for finding in findings(courses, frozen)}


def test_the_papers_story_makes_every_claim_hold():
    slow = np.linspace(0, 1, len(STEPS))  # ends at step 18, long after attention has begun
    courses = all_courses(probe=slow, attention=np.where(slow > 0.5, slow - 0.2, 0.1))
    assert set(verdicts(courses, frozen_courses()).values()) == {"holds"}


def test_the_opposite_makes_every_claim_fail():
    courses = all_courses(probe=2, attention=6, entropy=0.9)
    decided = verdicts(courses, [*frozen_courses(), course(FROZEN, 20, attention=9)])
    assert decided.pop("lexicon-before-attention") == "holds"
    assert set(decided.values()) == {"fails"}
    assert verdicts(all_courses(probe=6, attention=2), [])["lexicon-before-attention"] == "fails"


def test_few_seeds_decide_nothing():
    assert set(verdicts(all_courses(4), frozen_courses(19)).values()) == {"undecided"}
    assert set(verdicts({}, []).values()) == {"undecided"}


def test_one_setting_that_goes_the_other_way_refutes_the_whole():
    courses = all_courses()
    courses[PERMUTED.name] = [course(PERMUTED, seed, probe=8, attention=3) for seed in range(20)]
    finding = findings(courses, [])[1]
    assert finding.verdict == "fails"
    assert [part.verdict for part in finding.parts] == ["holds", "fails", "holds", "holds", "holds", "holds"]


def test_parts_say_what_was_left_out_and_what_did_not_get_there():
    group = [course(PERMUTED, seed, attention=NEVER) for seed in range(6)]
    group += [course(PERMUTED, seed, probe=NEVER, attention=NEVER) for seed in range(6, 10)]
    part = before(PERMUTED.name, [seed_row(one) for one in group])
    assert (part.verdict, part.effect) == ("holds", 14)
    assert "over 6 of 10 seeds" in part.detail
    assert "In 6 of these the attention does not and counts at the last evaluation." in part.detail


def test_sst_is_no_part_of_the_overlap():
    finding = findings(all_courses(), [])[2]
    assert [part.name for part in finding.parts] == [COPIED.name, PERMUTED.name, KEYWORD.name, GATED.name, PAIRS.name]


def test_rows_of_a_run_become_a_course():
    measured = {
        "accuracy": 0.1,
        "attention_accuracy": 0.5,
        "probe_accuracy": 0.25,
        "attention_mean": 0.3,
        "probe_mean": 0.2,
        "attention_entropy": log(8) / 2,
        "probe_entropy": log(8),
    }
    rows = [{"step": step, **measured} for step in (0, 2)]
    one = row_course(Outcome("x", 3, Trained("id", rows, 2)), 8)
    assert one.steps.tolist() == [0, 2]
    assert (one.reached("attention"), one.reached("probe"), one.chance) == (0, None, 1 / 8)
    assert one.entropy["attention"][0] == pytest.approx(0.5)
    assert one.entropy["probe"][1] == pytest.approx(1)


@pytest.mark.parametrize(("preset", "count"), [("quick", 5), ("reduced", 60), ("paper", 100)])
def test_presets_without_a_corpus(preset, count, monkeypatch):
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    jobs = KnowledgeFirst().plan(Order(preset), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == count
    assert all(job.schedule.evaluations[-1] == job.schedule.steps for job in jobs)
    last = 40 if preset == "quick" else 200
    assert {job.schedule.steps for job in jobs} <= {40, 100, 200} and max(job.schedule.steps for job in jobs) == last
    assert any("SST and Multi30k not found" in note for note in story().notes())


def test_fields_are_followed_every_two_updates_up_to_100():
    for setting in FOLLOWED[:-1]:
        assert set(range(0, 101, 2)) <= set(setting.schedule_at("paper").evaluations)
    assert set(range(20)) <= set(KEYWORD.schedule_at("paper").evaluations)
    assert FOLLOWED[-1] is PAIRS
    assert set(range(0, 301, 25)) <= set(PAIRS.schedule_at("paper").evaluations)


def test_the_settings_are_the_papers():
    assert COPIED.spec(3).model == FROZEN.spec(3).model
    assert (COPIED.spec(3).train, FROZEN.spec(3).train) == ("all", "attention-only")
    assert (COPIED.spec(3).batch, COPIED.spec(3).model.hidden) == (128, 256)
    gated = GATED.spec(0).model
    assert (gated.score, gated.bidirectional, gated.attention) == ("linear", False, "learned")
    assert KEYWORD.spec(0).model == ClassifierSpec()


@pytest.mark.needs_data("sst")
def test_with_the_corpus_there_are_runs_on_it():
    jobs = [job for job in KnowledgeFirst().plan(Order("paper"), {}) if job.spec.task.kind == "text"]
    assert len(jobs) == 10
    assert {job.spec.task.corpus for job in jobs} == {"sst"}
    assert {job.schedule.steps for job in jobs} == {1000}


def test_a_whole_result_is_written(tmp_path):
    order, done = Order("quick"), {}
    for setting in (*FOLLOWED, FROZEN):
        for seed in setting.seeds_at(order):
            one = course(setting, seed, attention=NEVER if setting is FROZEN else 5)
            rows = [
                {
                    "step": int(step),
                    "accuracy": float(one.accuracy[at]),
                    **{f"{field}_accuracy": float(one.top[field][at]) for field in one.top},
                    **{f"{field}_mean": float(one.mean[field][at]) for field in one.mean},
                    **{f"{field}_entropy": float(one.entropy[field][at]) for field in one.entropy},
                }
                for at, step in enumerate(STEPS)
            ]
            done[setting.spec(seed).id] = Trained(f"{seed:016x}", rows, 18)
    result = KnowledgeFirst().analyse(order, done)
    folder = write_result(
        result, tmp_path / "r", experiment=KnowledgeFirst(), order=order, command="x", seconds=1, training_seconds=1
    )
    seeds = list(csv.DictReader((folder / "tables" / "runs.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["probe_step"], row["attention_step"], row["lead"]) for row in seeds] == [("4", "10", "6")] * 4
    assert {path.stem for path in (folder / "figures").glob("*.png")} == {"knowledge", "entropy", "frozen"}
    named = {claim.id for claim in load_claims() if "knowledge-first" in claim.experiments}
    assert {finding.claim for finding in result.findings} == named


def test_the_summary_says_who_was_earlier():
    earlier = story({COPIED.name: [course(seed=seed, probe=6, attention=2) for seed in range(3)]})
    assert "attention gets there 8.0 updates earlier on average" in earlier.summary()
    none = story({COPIED.name: [course(probe=NEVER, attention=NEVER)]}, frozen_courses(2))
    assert "of the lexical probe in no seed by step 18" in none.summary()


def test_figures_draw_each_field_of_each_setting():
    group = [course(seed=4, probe=2, attention=5), course(seed=5, probe=1, attention=8)]
    for one in group:
        one.entropy["probe"][:] = 0.7
    figures = story({COPIED.name: group, GATED.name: [course(GATED, 1, attention=0)]}, frozen_courses(2)).figures()
    assert list(figures) == ["knowledge", "entropy", "frozen"]
    knowledge, entropy, frozen = map(drawn, figures.values())
    for one in group:
        for what, field in (("lexical probe", "probe"), ("attention", "attention")):
            marks = at(knowledge, facet=COPIED.name, color=what, detail=one.seed)
            assert [(mark["x"], mark["y"]) for mark in marks] == list(zip(STEPS, one.top[field], strict=True))
    assert {mark["y"] for mark in at(knowledge, facet=GATED.name, color="attention")} == {1.0}
    assert {mark["y"] for mark in at(entropy, facet=COPIED.name, color="relevance (the probe by its sum)")} == {0.7}
    attention = [mark["y"] for mark in at(entropy, facet=COPIED.name, color="attention", detail=4)]
    assert attention == list(group[0].entropy["attention"])
    assert {mark["y"] for mark in at(frozen, facet="attention alone")} == {0.02}
    whole = [mark["y"] for mark in at(frozen, facet="everything", detail=5)]
    assert whole == list(group[1].top["attention"])


# --- texts


@pytest.fixture(scope="module")
def text_run(tmp_path_factory):
    """A tiny classifier on sentences of our own."""
    folder = tmp_path_factory.mktemp("texts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(folder / "cache"))
        patch.setenv("ATTNLAB_DATA", str(write_news(folder / "data")))
        spec = RunSpec(
            task=LabelledTextSpec(corpus="ag_news", content=load_corpus("ag_news").content),
            model=ClassifierSpec(embedding_size=10, hidden=8),
            optimiser=AdamSpec(learning_rate=1e-2),
            batch=16,
            evaluation_batch=20,
            init_seed=1,
            data_seed=1,
        )
        yield train(spec, Schedule(steps=60, evaluations=(0, 10, 30, 60)), RunStore(folder / "runs"))


def valid(run, step, name):
    table = run.run.fields(step).to_pylist()
    return [np.array(row[name]) for row in table if row["split"] == "valid"]


def test_a_course_on_texts_is_measured_against_its_own_end(text_run):
    one, end = text_course(Outcome(TEXTS.name, 1, text_run)), ending(text_run)
    assert one.accuracy[one.steps == end] == one.accuracy.max()
    for place, step in enumerate((0, 10, 30, 60)):
        for field, name in (("attention", "alpha"), ("probe", "gamma")):
            now, last = valid(text_run, step, name), valid(text_run, end, name)
            hits = [float(a.argmax() == b.argmax()) for a, b in zip(now, last, strict=True)]
            assert one.top[field][place] == pytest.approx(np.mean(hits))
            values = [a if name == "alpha" else 1 / (1 + np.exp(-a)) for a in now]
            there = [value[b.argmax()] for value, b in zip(values, last, strict=True)]
            assert one.mean[field][place] == pytest.approx(np.mean(there), rel=1e-5)
            shares = [value / value.sum() for value in values]
            entropy = [-(share * np.log(share)).sum() / log(len(share)) for share in shares if len(share) > 1]
            assert one.entropy[field][place] == pytest.approx(np.mean(entropy), rel=1e-5)
    assert one.chance == pytest.approx(np.mean([1 / len(row) for row in valid(text_run, 0, "alpha")]))
    assert one.lead is not None, "both get to their own end"


def test_fields_are_also_compared_with_each_other_s_end(text_run):
    table = end_table(Outcome(TEXTS.name, 1, text_run))
    own = text_course(Outcome(TEXTS.name, 1, text_run))
    assert [row["attention_at_end_of_attention"] for row in table] == pytest.approx(own.top["attention"])
    last = next(row for row in table if row["step"] == row["end"])
    assert last["probe_at_end_of_attention"] == pytest.approx(last["attention_at_end_of_probe"])


def test_who_is_first_at_one_end_is_read_off_the_table():
    shares = {"probe": ((0.1, 0.6, 0.4), (0.1, 0.2, 0.5)), "attention": ((0.1, 0.4, 1.0), (0.0, 0.1, 0.3))}
    ends = [
        {"seed": 3, "step": 10 * k}
        | {
            f"{field}_at_end_of_{other}": of[k]
            for field, both in shares.items()
            for other, of in zip(("attention", "probe"), both, strict=True)
        }
        for k in range(3)
    ]
    rows = {row["end_of"]: row for row in lead_table(ends)}
    assert (rows["attention"]["probe"], rows["attention"]["attention"]) == (10, 20)
    assert (rows["probe"]["probe"], rows["probe"]["attention"]) == (20, None)


def test_relevance_adds_up_to_one_in_every_text():
    field = relevance(ScoreField.from_rows([[0.0, 0.0], [-800.0, 800.0, -800.0], [3.0]]))
    assert field.row(0) == pytest.approx([0.5, 0.5])
    assert field.row(1) == pytest.approx([0, 1, 0])
    assert field.row(2) == pytest.approx([1])


def test_a_table_has_room_for_what_only_later_rows_were_measured_by(tmp_path):
    write_table([{"step": 0, "loss": 1}, {"step": 2, "loss": 0.5, "probe_entropy": 3}], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").split() == ["step,loss,probe_entropy", "0,1,", "2,0.5,3"]
