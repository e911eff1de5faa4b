"""The topic experiments: their plans, what is read out of a run, and verdicts on outcomes whose answer is known."""

import numpy as np
import pytest
from tests.lab.drawn import drawn
from tests.lab.ended import after, verdicts

from attnlab.experiments.topic_ablation import experiment as topic_ablation
from attnlab.experiments.topic_ablation.experiment import TopicAblation
from attnlab.experiments.topic_capacity.experiment import TopicCapacity
from attnlab.experiments.topic_limits import experiment as topic_limits
from attnlab.experiments.topic_limits.experiment import TopicLimits
from attnlab.experiments.topic_query.experiment import TopicQuery
from attnlab.experiments.topic_words import experiment as topic_words
from attnlab.experiments.topic_words.experiment import TopicWords
from attnlab.experiments.topics.runs import RELEASED, course_of
from attnlab.families.topics.course import LEVELS, compare, ranges
from attnlab.families.topics.problem import QUANTILES
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.lab.registry import EXPERIMENTS
from attnlab.runs.loop import Trained
from attnlab.theory.norms import norm_of_score

NAMES = ("topic-words", "topic-ablation", "topic-capacity", "topic-query", "topic-limits")


def outcome(
    setting,
    seed=0,
    *,
    final_score=4.0,
    off=0.0,
    learned_at=1000.0,
    last_loss=0.002,
    share=0.9,
    noise=0.01,
    first=1.0,
    dip=0.0,
    query_norm=0.8,
    fall=0.0,
):
    """A run whose scores rise to ``final_score`` and whose norms lie ``off`` above the identity, relatively; ``fall``:
    that of the mended identity.

    The loss falls through 0.5 at ``learned_at``; ``dip``: how far score and norm fall first.
    """
    spec, rows = setting.spec(seed), []
    others = float(np.mean(spec.task.others))
    steps = range(0, setting.schedule.steps + 1, min(100, setting.schedule.steps // 5))
    for step in steps:
        done = step / steps[-1]
        score = final_score * done - (dip if 0 < step <= 100 else 0.0)
        norm = norm_of_score(score, others, query_norm=query_norm, start_norm=0.3, fall=fall) * (1 + off * (step > 0))
        row = {
            "step": step,
            "loss": max(np.log(4) * (0.5 / np.log(4)) ** (step / learned_at), last_loss),
            "accuracy": 0.9,
            "test_accuracy": 0.9,
            "query_norm": query_norm,
            "weight_mean": 0.05 + 0.9 * done,
            "weight_min": 0.05,
            "share": 0.05 + (share - 0.05) * (step >= learned_at / 2),
            "attention_accuracy": first,
            "probe_accuracy": 1.0,
            "probe_mean": done,
        }
        for word in range(8):
            row |= {f"score_{word}": score, f"norm_{word}": float(norm)}
        for quantile in QUANTILES:
            row |= {f"other_score_{quantile}": -noise * final_score, f"other_norm_{quantile}": noise}
        rows.append(row)
    return Outcome(setting.name, seed, Trained(spec.id, rows, steps[-1]), spec)


def course(setting, seed=0, **changes):
    return course_of(outcome(setting, seed, **changes))


def words(count=20, **changes):
    return [outcome(s, seed, **changes) for s in TopicWords.settings for seed in range(count if s.name == "FC" else 5)]


def words_decide(outcomes):
    return verdicts(after(TopicWords(), outcomes))


def test_what_is_read_out_of_a_run():
    run = course(topic_words.FIXED, off=0.02)
    assert run.largest_deviation() == pytest.approx(0.02)
    assert run.median_deviation() == pytest.approx(0.02)
    assert run.crossing(0.5) == pytest.approx(1000, abs=0.1)
    assert run.crossing(1.0) == pytest.approx(1000 * np.log(np.log(4)) / np.log(np.log(4) / 0.5), abs=0.1)
    assert run.crossing(1e-4) is None
    assert run.crossing(2.0) == 0
    assert run.final_score() == pytest.approx(4.0)
    assert run.final_norm() == pytest.approx(0.8 * 1.02 * norm_of_score(4.0, 20, query_norm=0.8, start_norm=0.3))
    assert set(run.row()) >= {f"epoch_of_loss_{level}" for level in LEVELS}


def test_the_identity_is_given_the_middle_of_a_range_of_m():
    by_name = {setting.name: setting for setting in TopicQuery.settings}
    others = {name: course(by_name[name]).others for name in ("FC", "FC, m = 5", "FC, m from 10 to 30")}
    assert others == {"FC": 20, "FC, m = 5": 5, "FC, m from 10 to 30": 20}


def test_scores_that_stay_small_show_no_identity():
    run = course(topic_words.FIXED, final_score=0.04, off=0.5)
    assert run.largest_deviation() is None and run.median_deviation() is None


def test_the_authors_values_lie_inside_the_range_or_not():
    runs = [course(topic_words.FIXED, seed, learned_at=at) for seed, at in enumerate((500, 900))]
    rows = {row["measure"]: row for row in compare(ranges(runs), topic_words.AUTHORS)}
    assert rows["epoch_of_loss_0.5"]["inside"] and rows["epoch_of_loss_0.5"]["authors"] == 778
    assert not rows["final_score"]["inside"]
    assert (rows["epoch_of_loss_0.5"]["smallest"], rows["epoch_of_loss_0.5"]["reached"]) == (pytest.approx(500), 2)


def test_the_papers_outcome_makes_every_claim_about_topic_words_hold():
    whole, parts = words_decide(words(off=0.005))
    assert set(whole.values()) == {"holds"}
    assert parts["norm-identity", "all classifiers"].effect == pytest.approx(0.005)
    assert parts["norm-converges", "FC"].detail.startswith("In 20 of 20 seeds")


@pytest.mark.parametrize(
    ("changes", "claim"),
    [
        ({"off": 0.08}, "norm-identity"),
        ({"off": 0.08}, "norm-identity-any-classifier"),
        ({"last_loss": 0.06}, "norm-converges"),
        ({"first": 0.999}, "norm-converges"),
        ({"share": 0.2}, "topic-words-stand-out"),
        ({"noise": 0.3}, "non-topic-words-still"),
    ],
)
def test_the_opposite_outcome_makes_a_claim_about_topic_words_fail(changes, claim):
    whole, _ = words_decide(words(**changes))
    assert whole[claim] == "fails"


def test_one_classifier_off_the_curve_refutes_both_identities():
    runs = [outcome(s, seed, off=0.08 if s.name == "TL" else 0.0) for s in TopicWords.settings for seed in range(5)]
    whole, parts = words_decide(runs)
    assert whole["norm-identity"] == whole["norm-identity-any-classifier"] == "fails"
    assert parts["norm-identity-any-classifier", "FC"].verdict == "holds"


def test_few_seeds_or_unseen_scores_decide_nothing():
    whole, _ = words_decide(words(count=5))
    assert whole["norm-converges"] == "undecided"
    single = [outcome(s, 0) for s in TopicWords.settings]
    whole, parts = words_decide(single)
    assert set(whole.values()) == {"undecided"}
    assert parts["norm-identity", "all classifiers"].interval is None
    whole, parts = words_decide(words(final_score=0.04))
    assert whole["norm-identity"] == "undecided"
    detail = "5 of 5 seeds have no largest relative deviation."
    assert parts["norm-identity-any-classifier", "TC"].detail == detail


def test_a_loss_that_never_halves_leaves_the_share_undecided():
    runs = words()
    stuck = outcome(TopicWords.settings[1], 2, last_loss=1.0)
    changed = [stuck if (o.setting, o.seed) == ("TC", 2) else o for o in runs]
    _, parts = words_decide(changed)
    assert parts["topic-words-stand-out", "TC"].verdict == "undecided"
    assert parts["topic-words-stand-out", "TC"].detail == "In 1 of 5 seeds the loss never halved."
    assert parts["topic-words-stand-out", "FC"].verdict == "holds"


def ablation(joint, frozen_keys, frozen_embeddings, **changes):
    epochs = {"": joint, "KF": frozen_keys, "EF": frozen_embeddings}
    runs = []
    for setting in TopicAblation.settings:
        count = 20 if setting.name == "TC" else 5
        at = epochs[setting.name.removesuffix(RELEASED)[3:]]
        runs += [outcome(setting, seed, learned_at=at + 10 * seed, **changes) for seed in range(count)]
    return runs


def ablation_decides(runs):
    return verdicts(after(TopicAblation(), runs))


def test_learning_sooner_by_half_is_promotion():
    whole, parts = ablation_decides(ablation(800, 3000, 90_000))
    assert whole["mutual-promotion"] == "holds"
    assert parts["mutual-promotion", "FC against FC-KF"].effect == pytest.approx(2200, abs=1)
    assert "5 of 5 seeds never reach it" in parts["mutual-promotion", "TC against TC-EF"].detail


@pytest.mark.parametrize(
    ("epochs", "verdict"),
    [
        ((3000, 800, 800), "fails"),
        ((2000, 2100, 2100), "fails"),  # sooner, but not by half
        ((4000, 90_000, 90_000), "undecided"),  # how much sooner cannot be known
        ((90_000, 90_000, 90_000), "undecided"),
    ],
)
def test_other_orders_of_learning_are_not_promotion(epochs, verdict):
    whole, _ = ablation_decides(ablation(*epochs))
    assert whole["mutual-promotion"] == verdict


def test_suppression_is_a_joint_fall_early_in_one_seed_of_twenty():
    runs = ablation(800, 3000, 3000)
    assert ablation_decides(runs)[0]["mutual-suppression"] == "fails"
    linear = {setting.name: setting for setting in TopicAblation.settings}["TC"]
    dipping = outcome(linear, 3, dip=0.2)
    changed = [dipping if (o.setting, o.seed) == ("TC", 3) else o for o in runs]
    whole, parts = ablation_decides(changed)
    assert whole["mutual-suppression"] == "holds"
    assert parts["mutual-suppression", "TC"].effect == 0.05
    few = [o for o in changed if o.seed < 5]
    assert ablation_decides(few)[0]["mutual-suppression"] == "undecided"
    step, score, start, norm = topic_ablation.fall(course_of(dipping))
    assert step <= 100 and score < 0 and norm < start == pytest.approx(0.3)
    row = topic_ablation.fall_row(course_of(dipping))
    assert (row["topic_words"], row["falling_words"], row["epoch"]) == (8, 8, 100)
    assert row["start_norm"] == pytest.approx(0.8 * 0.3)


@pytest.mark.parametrize(
    ("scores", "verdict"), [((4.0, 3.5, 3.0), "holds"), ((4.0, 3.0, 3.5), "fails"), ((4.0, 3.5, 3.5), "undecided")]
)
def test_capacity_weakens_attention_if_scores_fall_twice(scores, verdict):
    by_name = dict(zip(("FC", "TC", "TL"), scores, strict=True))
    runs = [
        outcome(s, seed, final_score=by_name.get(s.name, 3.0) + 0.1 * seed)
        for s in TopicCapacity.settings
        for seed in range(5)
    ]
    assert verdicts(after(TopicCapacity(), runs))[0]["capacity-weakens-attention"] == verdict


@pytest.mark.parametrize(
    ("off", "score", "verdict"), [(0.05, 4.0, "holds"), (0.3, 4.0, "fails"), (0.0, 0.01, "undecided")]
)
def test_the_identity_through_layers_is_decided_by_the_median_word_below_a_linear_layer(off, score, verdict):
    runs = [outcome(s, seed, off=off, final_score=score) for s in TopicQuery.settings for seed in range(5)]
    _, parts = verdicts(after(TopicQuery(), runs))
    told = {name: part.verdict for (claim, name), part in parts.items() if claim == "norm-identity-through-layers"}
    assert told == {"FC, linear layer below": verdict, "FC, LSTM below": "undecided"}


def limits_decide(**changes):
    runs = [
        outcome(s, seed, **changes.get(s.name, changes.get("all", {}))) for s in TopicLimits.settings for seed in (0, 1)
    ]
    return verdicts(after(TopicLimits(), runs))


def test_small_dictionaries_and_large_steps_break_the_identity_and_a_mended_one_is_told_apart():
    """Norms on the mended identity at 8 and 50 words, and far off at the largest rate."""
    mended = {topic_limits.sized(size): {"fall": 8 / size, "final_score": 2.0} for size in (50, 8)}
    whole, parts = limits_decide(**mended, **{topic_limits.paced(50): {"off": 0.3}})
    assert set(whole.values()) == {"holds"}
    assert parts["identity-mended-for-dictionary", topic_limits.sized(8)].effect == pytest.approx(0, abs=1e-9)
    plain = norm_of_score(2.0, 20, query_norm=0.8, start_norm=0.3)
    other = norm_of_score(2.0, 20, query_norm=0.8, start_norm=0.3, fall=1.0)
    effect = parts["identity-needs-large-dictionary", topic_limits.sized(8)].effect
    assert effect == pytest.approx(other / plain - 1)
    assert parts["identity-needs-small-steps", topic_limits.paced(50)].effect == pytest.approx(0.3)


def test_norms_on_the_plain_identity_everywhere_refute_all_three():
    whole, parts = limits_decide()
    assert set(whole.values()) == {"fails"}
    assert parts["identity-needs-small-steps", topic_limits.paced(1)].verdict == "holds"
    whole, _ = limits_decide(all={"final_score": 0.04})
    assert set(whole.values()) == {"undecided"}


def test_limits_change_one_thing_at_a_time_and_train_as_long_as_the_rate_allows():
    by_name = {setting.name: setting for setting in TopicLimits.settings}
    first = by_name["dictionary of 5000"].spec(0)
    assert first.id == TopicWords.settings[0].spec(0).id
    for setting in TopicLimits.settings[1:]:
        spec = setting.spec(0)
        assert (spec.task != first.task) != (spec.optimiser != first.optimiser)
    rates = {name: by_name[name].schedule for name in ("rate 1", "rate 10", "rate 50")}
    assert {name: one.steps for name, one in rates.items()} == {"rate 1": 500, "rate 10": 100, "rate 50": 100}
    assert all(one.evaluations == tuple(range(one.steps + 1)) for one in rates.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_decides_its_claims_and_fills_its_tables_and_figures(name):
    experiment, order = EXPERIMENTS[name], Order("quick")
    jobs = experiment.plan(order, {})
    done = {setting.spec(seed).id: outcome(setting, seed).run for setting in experiment.settings for seed in range(2)}
    assert {job.spec.id for job in jobs} <= done.keys()
    result = experiment.analyse(order, done)
    named = {claim.id for claim in load_claims() if name in claim.experiments}
    assert {finding.claim for finding in result.findings} == named
    assert {row["run"] for row in result.tables["runs"]} == {job.spec.id for job in jobs}
    for table in result.tables.values():
        assert table and all(list(row) == list(table[0]) for row in table)
    for chart in result.figures.values():
        assert chart.to_dict()["$schema"]
    assert result.summary and result.notes and all(result.seeds.values())


# --- figures


def figures_of(experiment, outcomes):
    return after(experiment, outcomes, "quick").figures()


def lines_at(rows, step, *names):
    return {tuple(row[name] for name in names[:-1]): row[names[-1]] for row in rows if row["step"] == step}


def test_figures_of_topic_words_draw_the_right_columns():
    fixed, linear, layers = TopicWords.settings[:3]
    figures = figures_of(
        TopicWords(),
        [outcome(fixed, 0, off=0.5), outcome(linear, 0, final_score=2.0), outcome(layers, 1), outcome(fixed, 7)],
    )
    ends = lines_at(drawn(figures["identity"]), 5000, "setting", "word", "score")
    assert ends["FC", "0: 3"] == 4.0 and ends["TC", "0: 3"] == 2.0 and ends["TL", "1: 0"] == 4.0
    assert not any(word.startswith("7") for _, word in ends), "only the first five seeds are drawn"
    above = {row["setting"]: row["norm"] / row["identity"] for row in drawn(figures["identity"]) if row["step"] == 5000}
    assert above == pytest.approx({"FC": 1.5, "TC": 1.0, "TL": 1.0})
    words, curve = figures["identity"].to_dict()["spec"]["layer"]
    assert (words["encoding"]["y"]["field"], curve["encoding"]["y"]["field"]) == ("norm", "identity")
    walk = drawn(figures["walk"])
    assert {row["seed"] for row in walk} == {0} and {row["setting"] for row in walk} == {"FC", "TC"}
    assert lines_at(walk, 2500, "setting", "score") == {("FC",): 2.0, ("TC",): 1.0}
    assert lines_at(drawn(figures["loss"]), 1000, "setting", "seed", "loss")["TL", 1] == pytest.approx(0.5)
    assert figures["loss"].to_dict()["spec"]["encoding"]["y"]["field"] == "loss"
    assert lines_at(drawn(figures["share"]), 0, "setting", "seed", "share")["TC", 0] == pytest.approx(0.05)
    assert figures["share"].to_dict()["spec"]["encoding"]["y"]["field"] == "share"
    knowledge = lines_at(drawn(figures["knowledge"]), 2500, "setting", "what", "value")
    assert knowledge["FC", "lexical probe"] == 0.5 and knowledge["FC", "attention"] == pytest.approx(0.5)
    knowledge = lines_at(drawn(figures["knowledge"]), 0, "setting", "what", "value")
    assert knowledge["FC", "lexical probe"] == 0 and knowledge["FC", "attention"] == 0.05
    last = {
        (row["setting"], row["measure"], row["words"]): row["value"]
        for row in drawn(figures["distributions"])
        if row["seed"] == 0
    }
    assert last["TC", "score", "topic words"] == 2.0 and last["TC", "score", "other words"] == pytest.approx(-0.02)
    assert last["TC", "norm", "other words"] == pytest.approx(0.8 * 0.01)
    assert last["FC", "norm", "topic words"] == pytest.approx(
        0.8 * 1.5 * norm_of_score(4.0, 20, query_norm=0.8, start_norm=0.3)
    )


def test_figures_of_topic_ablation_draw_the_right_columns():
    runs = [outcome(setting, final_score=k + 1.0) for k, setting in enumerate(TopicAblation.settings)]
    runs[3] = outcome(TopicAblation.settings[3], final_score=4.0, dip=0.5)
    figures = figures_of(TopicAblation(), runs)
    scores = lines_at(drawn(figures["score"]), 6000, "classifier", "variant", "score")
    names = ("both trained", "keys frozen", "embeddings frozen")
    assert scores == {(c, n): 3 * i + k + 1.0 for i, c in enumerate(("FC", "TC", "TL")) for k, n in enumerate(names)}
    norms = lines_at(drawn(figures["norm"]), 0, "classifier", "variant", "norm")
    assert norms["TL", "keys frozen"] == pytest.approx(0.8 * 0.3)
    assert lines_at(drawn(figures["loss"]), 0, "classifier", "variant", "loss")["FC", "both trained"] == np.log(4)
    for name in ("loss", "score", "norm"):
        assert figures[name].to_dict()["spec"]["encoding"]["y"]["field"] == name
    early = drawn(figures["suppression"])
    assert {row["word"][:2] for row in early} == {"0:"} and max(row["step"] for row in early) == 600
    change = lines_at(early, 100, "measure", "word", "change")
    assert change["score", "0: 0"] == pytest.approx(4.0 / 60 - 0.5)
    assert -0.8 * 0.3 <= change["norm", "0: 0"] < 0


def test_figures_of_topic_capacity_draw_the_right_columns():
    runs = [outcome(setting, final_score=k + 1.0) for k, setting in enumerate(TopicCapacity.settings)]
    figures = figures_of(TopicCapacity(), runs)
    scores = {(row["setting"], row["when"]): row["score"] for row in drawn(figures["capacity"])}
    assert (
        scores["FC", "at the end"] == 1 and scores["TL", "at the end"] == 4 and scores["TL, depth 3", "at the end"] == 8
    )
    # The loss falls through 0.1 between epochs 2500 and 2600.
    assert scores["FC", "at loss 0.1"] == pytest.approx(0.52) and scores["TL", "at loss 0.1"] == pytest.approx(2.08)
    assert figures["capacity"].to_dict()["encoding"]["x"]["field"] == "score"
    assert lines_at(drawn(figures["score"]), 2500, "setting", "score")["TC",] == 1.0
    assert figures["score"].to_dict()["spec"]["encoding"]["y"]["field"] == "score"


def test_figures_of_topic_query_draw_the_right_columns():
    runs = [outcome(setting, off=0.01 * (k + 1)) for k, setting in enumerate(TopicQuery.settings)]
    lstm = runs[-1]
    for row in lstm.run.rows[1:]:
        row["norm_0"] *= 1.5  # one word far off, so the largest deviation is not the median word's
    figures = figures_of(TopicQuery(), [*runs, outcome(TopicQuery.settings[0], 1)])
    dots = {(row["setting"], row["what"]): row["deviation"] for row in drawn(figures["deviations"]) if not row["seed"]}
    assert dots["FC", "largest"] == pytest.approx(0.01)
    assert dots["FC, LSTM below", "median word"] == pytest.approx(0.14)
    assert dots["FC, LSTM below", "largest"] == pytest.approx(0.71)
    assert figures["deviations"].to_dict()["encoding"]["x"]["field"] == "deviation"
    paths = drawn(figures["paths"])
    assert {row["seed"] for row in paths} == {0}
    end = {row["setting"]: row for row in paths if row["step"] == 5000 and row["word"] == "0: 1"}
    assert end["FC, m = 5"]["norm"] / end["FC, m = 5"]["identity"] == pytest.approx(1.09)
    words, curve = figures["paths"].to_dict()["spec"]["layer"]
    assert (words["encoding"]["y"]["field"], curve["encoding"]["y"]["field"]) == ("norm", "identity")


# --- plans


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_the_papers(name):
    jobs = EXPERIMENTS[name].plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs)
    assert [job.spec.id for job in EXPERIMENTS[name].at_most(Order("paper"), {})] == [job.spec.id for job in jobs]
    plain = next(job.spec for job in jobs if RELEASED not in job.label)
    assert (plain.task.topics, plain.task.words, plain.task.dictionary, plain.task.others) == (4, 2, 5000, 20)
    assert (plain.task.sentences, plain.model.size, plain.optimiser.learning_rate, plain.batch) == (5000, 10, 0.1, None)
    assert plain.model.query_std == 0.3 and not plain.model.train_query
    epochs = 6000 if name == "topic-ablation" else 5000
    assert jobs[0].schedule.steps == epochs
    assert plain.model.embedding_std == (0.1 if name == "topic-ablation" else 1e-6)
    fewer = EXPERIMENTS[name].plan(Order("paper", seeds=1), {})
    assert {job.spec.init_seed for job in fewer} == {0}


def test_topic_words_at_paper_shares_its_runs_with_capacity_and_query():
    runs = {job.spec.id for job in EXPERIMENTS["topic-words"].plan(Order("paper"), {})}
    for name in ("topic-capacity", "topic-query"):
        assert len(runs & {job.spec.id for job in EXPERIMENTS[name].plan(Order("paper"), {})}) == 15


@pytest.mark.parametrize(("name", "settings"), [("topic-words", 3), ("topic-ablation", 6)])
def test_runs_from_the_authors_start_are_compared_with_their_plots_and_decide_nothing(name, settings):
    experiment = EXPERIMENTS[name]
    ours = [one for one in experiment.settings if one.name.endswith(RELEASED)]
    assert len(ours) == settings
    for one in ours:
        spec = one.spec(2)
        assert (spec.task.sentences, spec.model.start, spec.data_seed) == (1000, "released", 2)
    rest = [one for one in experiment.settings if one not in ours]
    told = [outcome(one, seed, learned_at=900 + seed) for one in rest for seed in range(5)]
    with_them = [*told, *(outcome(one, seed, learned_at=100, off=0.5) for one in ours for seed in range(5))]
    without, whole = (after(experiment, runs) for runs in (told, with_them))
    assert without.findings() == whole.findings()
    compared = {row["setting"] for row in whole.record.tables["authors"]}
    assert any(setting.endswith(RELEASED) for setting in compared)
    assert {row["setting"] for row in whole.record.tables["ranges"]} == {one.name for one in rest}


def test_the_authors_ablation_is_compared_with_their_word_alone():
    """Their plots follow the first topic word, and from their start ours is the same one."""
    runs = [outcome(setting, final_score=3.0) for setting in TopicAblation.settings]
    for run in runs:
        run.run.rows[-1].update(score_0=3.5, norm_0=2.5)
    rows = after(TopicAblation(), runs).tables()["authors"]
    of = {(row["setting"], row["measure"]): row["median"] for row in rows}
    assert of[f"FC{RELEASED}", "final_score"] == 3.5
    assert of[f"FC{RELEASED}", "final_norm"] == pytest.approx(2.5 * 0.8)
    assert of["FC", "final_score"] == pytest.approx((3.5 + 7 * 3.0) / 8), "from other starts words have no names"
