"""Mixture (P3 3.3, A.3, Figure 2 middle): knowing which set of words it is does not tell one word from another.

Every sequence is a permutation of words 1 to 40 or of words 41 to 80. The input tells which words the output has, so
the bag-of-words proxy learns something, but inside a set all words still occur together always.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import altair as alt
import numpy as np

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.copying.experiment import make_spec
from attnlab.experiments.mixture import proxy as proxies
from attnlab.experiments.mixture.proxy import Fitted, ProxySetting, make_proxy_job, make_proxy_spec
from attnlab.families.copying.spec import CopyingSpec, PermutationSetsSpec, SelectionsSpec
from attnlab.lab.claims import Finding, Part, Preset
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.rates import learned_steps, rate_table, run_row, tell_rates
from attnlab.lab.rules import LEAST
from attnlab.lab.success import (
    EVERY,
    LEARNED,
    WITHIN,
    Outcome,
    Setting,
    by_setting,
    curve_table,
    often_fails,
    seeds_of,
    two_curves,
)
from attnlab.pages.charts import curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule

STEPS: dict[Preset, int] = {"quick": 50, "reduced": WITHIN, "paper": WITHIN}
"""Updates within which a network must have learned."""
LATE, CONTINUED = 1000, 10
"""At `paper` so many seeds of the mixture go on to this step unless they learn before: do they ever?"""

SETS = Setting(
    "permutations of either of two sets of 40",
    CopyingSpec(distribution=PermutationSetsSpec(size=40, sets=2)),
    {"quick": 1, "reduced": 20, "paper": 40},
)
PERMUTATIONS = replace(copying.PERMUTATIONS, seeds={"quick": 0, "reduced": 20, "paper": 40}, ends_when_learned=True)
SELECTIONS = replace(copying.SELECTIONS, seeds={"quick": 1, "reduced": 20, "paper": 20}, ends_when_learned=True)
MANY = Setting(
    "40 of 80",
    CopyingSpec(distribution=SelectionsSpec(length=40, words=80)),
    {"quick": 0, "reduced": 20, "paper": 20},
    ends_when_learned=True,
)
SETTINGS = (SETS, PERMUTATIONS, SELECTIONS, MANY)
PROXY_OF_SETS, PROXY_OF_PERMUTATIONS = ProxySetting(SETS, sets=2), ProxySetting(PERMUTATIONS)
PROXIES = (PROXY_OF_SETS, PROXY_OF_PERMUTATIONS, ProxySetting(SELECTIONS))


class Mixture(Experiment):
    """Figure 2 middle, its controls, and the proxy's side of it."""

    name = "mixture"
    title = "Which set is not which word: permutations of either of two sets"
    source = "P3 3.3, A.3, Figure 2 middle"
    recalls = True
    may_stop = True

    def jobs(self, order: Order) -> list[Job]:
        networks = [make_job(setting, seed, order.preset) for setting in SETTINGS for seed in seeds_of(setting, order)]
        seeds = proxies.seeds_of_proxies(order)
        return networks + [make_proxy_job(proxy, seed, order.preset) for proxy in PROXIES for seed in seeds]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        within, seeds = STEPS[order.preset], proxies.seeds_of_proxies(order)
        whole = [
            Outcome(setting.name, seed, done[make_spec(setting, seed).id])
            for setting in SETTINGS
            for seed in seeds_of(setting, order)
        ]
        outcomes = [outcome.up_to(within) for outcome in whole]
        late = [outcome for outcome in whole if outcome.run.step > within]
        fitted = [
            proxies.read_fitted(proxy, seed, done[make_proxy_spec(proxy, seed).id])
            for proxy in PROXIES
            for seed in seeds
        ]
        success, words = rate_table(outcomes, within), proxies.proxy_table(fitted)
        return Result(
            summary=" ".join([tell_rates(success, within), *tell_late(late), proxies.tell_proxies(words)]),
            tables={
                "success": success,
                "runs": [run_row(outcome, within) for outcome in outcomes],
                "curves": curve_table(outcomes),
                "proxies": words,
                "proxy_seeds": [proxies.seed_row(one) for one in fitted],
                "proxy_curves": proxies.curve_rows(fitted),
                **(
                    {"late_runs": [run_row(one, LATE) for one in late], "late_curves": curve_table(late)}
                    if late
                    else {}
                ),
            },
            figures=figures(outcomes, late, fitted),
            findings=decide(outcomes, fitted, within),
            notes=notes(order),
            seeds={
                **{setting.name: seeds_of(setting, order) for setting in SETTINGS if seeds_of(setting, order)},
                "each proxy": seeds,
            },
        )


def make_job(setting: Setting, seed: int, preset: Preset) -> Job:
    """One network; those on the mixture go on to the end, a few of them further, others end once they have learned."""
    late = preset == "paper" and setting is SETS and seed < CONTINUED
    stop = LEARNED if setting.ends_when_learned or preset == "quick" or late else None
    schedule = Schedule.every(EVERY, steps=LATE if late else STEPS[preset], stop_at=stop)
    return Job(f"{setting.name}, seed {seed}", make_spec(setting, seed), schedule)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Networks are those of the experiment copying, whose runs on permutations of 40 and on 40 of 60 are shared.",
        f"The proxy: embeddings and output weights of 256 numbers from N(0, 1/256), batches of 128 pairs without their "
        f"end symbols, Adam at 1e-3, {proxies.STEPS[order.preset]} updates.",
        "The probe theta(o|i) is a matter of two words, so it is read over all pairs of words of the vocabulary: a "
        "sequence of the mixture has words of one set only, and could not show that the sets are told apart.",
        "A random start alone makes the probe differ between words by about 6 % (256^-1/2) of its mean, and training "
        "on permutations leaves that as it is; so what training added is looked at, and the right word by itself.",
    ]
    if order.preset == "quick":
        told.append(
            "quick: one seed of the mixture and of 40 of 60 and 50 updates instead of 200; two seeds of each proxy and "
            "500 updates instead of 1000."
        )
    else:
        told.append("Networks on the mixture run to step 200; the others end once they have learned.")
    if order.preset == "paper":
        told.append(
            f"Seeds 0 to {CONTINUED - 1} of the mixture go on until they have learned, at most to step {LATE}; claims "
            f"are decided within {WITHIN} updates."
        )
    if order.preset == "reduced":
        told.append("reduced: 20 seeds of the mixture and of permutations instead of 40.")
    return tuple(told)


def tell_late(late: Sequence[Outcome]) -> list[str]:
    """What became of the seeds that went on, in a sentence; none if none did."""
    if not late:
        return []
    steps = learned_steps(late, LATE)
    ends = [outcome.run.rows[-1] for outcome in late]
    accuracy, attention, probe = (
        float(np.mean([row[name] for row in ends])) for name in ("accuracy", "attention_accuracy", "probe_accuracy")
    )
    when = f" (median step {np.median(steps):.0f})" if steps else ""
    return [
        f"Of {len(late)} seeds of the mixture that went on, {len(steps)} had learned by step {LATE}{when}; in the end "
        f"their mean accuracy was {accuracy:.1%}, with attention at the right position in {attention:.1%} of the cases "
        f"and the probe largest there in {probe:.1%}."
    ]


# --- claims


def decide(outcomes: Sequence[Outcome], fitted: Sequence[Fitted], within: int = WITHIN) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups = by_setting(outcomes)
    sets, permutations = (
        [one.measured for one in fitted if one.proxy == proxy] for proxy in (PROXY_OF_SETS, PROXY_OF_PERMUTATIONS)
    )
    networks = tuple(fails_against(control.name, groups, within) for control in (SELECTIONS, MANY))
    probe = proxies.separates_sets(sets), proxies.blind_inside_sets(sets, PROXY_OF_SETS.chance)
    return (
        Finding("mixture-fails", networks + probe),
        Finding("proxy-blind-to-permutations", proxies.flat(permutations)),
    )


def fails_against(control: str, groups: Mapping[str, list[Outcome]], within: int = WITHIN) -> Part:
    """The rule of "often fails" against one control, on at least 20 seeds of either."""
    mixture, others = groups.get(SETS.name, []), groups.get(control, [])
    part = replace(often_fails(mixture, others, within), name=f"often fail, against {control}")
    if part.effect is not None and min(len(mixture), len(others)) < LEAST:
        return replace(part, verdict="undecided", detail=f"{part.detail} At least {LEAST} seeds of each are needed.")
    return part


# --- figures


def figures(
    outcomes: Sequence[Outcome], late: Sequence[Outcome], fitted: Sequence[Fitted]
) -> dict[str, alt.TopLevelMixin]:
    """Curves of all seeds, where probe and attention point, those that went on, and what the proxies learned."""
    table = curve_table(outcomes)
    drawn: dict[str, alt.TopLevelMixin] = {
        "curves": panels(
            table,
            column="setting",
            layer=curves(x="step", y="accuracy", group="seed", x_title="updates", y_title="token accuracy"),
            title="Accuracy of every seed (Figure 2 middle, and its controls)",
        ),
        "knowledge": two_curves(
            table,
            {"lexical probe": "probe_accuracy", "attention": "attention_accuracy"},
            y_title="right position is the largest",
            title="Where lexical knowledge and attention point",
        ),
        "proxies": proxies.proxy_figure(fitted),
        "proxy_curves": panels(
            proxies.curve_rows(fitted),
            column="setting",
            layer=curves(
                x="step", y="probe_accuracy", group="seed", x_title="updates", y_title="right position is the largest"
            ),
            title="Does the proxy, trained on bags of words, find the right word? Every seed",
        ),
    }
    if late:
        drawn["continued"] = two_curves(
            curve_table(late),
            {"token accuracy": "accuracy", "attention at the right position": "attention_accuracy"},
            y_title="share of the outputs",
            title=f"Seeds of the mixture that went on, at most to step {LATE}",
        )
    return drawn
