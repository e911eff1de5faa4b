"""Mixture (P3 3.3, A.3, Figure 2 middle): knowing which set of words it is does not separate one word from another.

Every sequence is a permutation of words 1 to 40 or of words 41 to 80. The input says which words the output has, so
the bag-of-words proxy learns something, but inside a set all words still occur together always.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying.spec import PairProxySpec, PermutationSetsSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.families.copying.task import Distribution
from attnlab.families.copying.word_sets import SetMeasures, measure_sets
from attnlab.lab.claims import Part
from attnlab.lab.copying import TO_THE_END, network_on, task_of
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, curve_table, learned_steps, mean, rate_table, rates_in_words
from attnlab.lab.rules import LEAST, above, below, often_fails, within
from attnlab.pages.charts import (
    COLOURS,
    accuracy_curves,
    continued_curves,
    panels,
    pointing_curves,
    rounded,
    seed_curves,
)
from attnlab.runs.engine import Job
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

# --- settings

STEPS = by_preset(50, WITHIN, WITHIN)
"""Updates within which a network must have learned."""
LATE, CONTINUED = 1000, 10
"""At `paper` so many seeds of the mixture go on to this step unless they learn before: do they ever?"""
FLAT = 0.01
"""Largest spread over positions, by the mean, that counts as none."""
PROXY_STEPS = by_preset(500, 1000, 1000)
EVALUATIONS = (0, 10, 20, 50, 100, 200, 500, 1000)
"""Of proxies."""
SMALLEST = 1e-6
"""Smaller values of the probe are drawn here."""
POINTS = 0.02
"""Two points of accuracy: what counts as the same."""
ON_TO_LATE = Schedule.every(EVERY, steps=LATE, stop_at=LEARNED)


def proxy_on(setting: Setting) -> Setting:
    """The proxy of P3 2.3 with 256 numbers a word, batches of 128 pairs, Adam at 1e-3; measured ever more seldom."""
    schedules = {
        preset: Schedule(
            steps=steps, evaluations=tuple(step for step in EVALUATIONS if step <= steps), checkpoint_every=steps
        )
        for preset, steps in PROXY_STEPS.items()
    }

    def spec(seed: int) -> RunSpec:
        return setting.spec(seed).model_copy(update={"model": PairProxySpec()})

    return Setting(f"proxy, {setting.name}", spec, by_preset(2, 20, 20), schedules)


SETS = network_on(
    "permutations of either of two sets of 40", PermutationSetsSpec(size=40, sets=2), (1, 20, 40), STEPS, TO_THE_END
)
PERMUTATIONS = network_on("permutations of 40", PermutationsSpec(words=40), (0, 20, 40), STEPS)
SELECTIONS = network_on("40 of 60", SelectionsSpec(length=40, words=60), (1, 20, 20), STEPS)
MANY = network_on("40 of 80", SelectionsSpec(length=40, words=80), (0, 20, 20), STEPS)
NETWORKS = (SETS, PERMUTATIONS, SELECTIONS, MANY)
PROXIES = {setting.name: proxy_on(setting) for setting in (SETS, PERMUTATIONS, SELECTIONS)}


@dataclass(frozen=True)
class Fitted:
    """One seed of the proxy on a distribution whose words fall into ``sets`` sets, and what its table says."""

    outcome: Outcome
    sets: int
    measured: SetMeasures

    @property
    def setting(self) -> str:
        """The distribution's name."""
        return self.outcome.setting

    @property
    def distribution(self) -> Distribution:
        return task_of(self.outcome.spec).distribution.build()

    @property
    def chance(self) -> float:
        """The share of output words whose own word would be the largest of its set by chance."""
        return self.sets / self.distribution.words


def read_fitted(outcome: Outcome, sets: int) -> Fitted:
    """A trained proxy and what its table says, against its start."""
    run = outcome.run.run
    assert run is not None
    tables = [run.fields(step) for step in (0, outcome.run.step)]
    start, end = (np.stack([np.asarray(t[name], dtype=np.float64) for name in t.column_names], 1) for t in tables)
    return Fitted(outcome, sets, measure_sets(start, end, sets))  # of theta (inputs, outputs)


class Mixture(Experiment):
    """Figure 2 middle, its controls, and the proxy's side of it."""

    name = "mixture"
    title = "Which set is not which word: permutations of either of two sets"
    source = "P3 3.3, A.3, Figure 2 middle"
    settings = (*NETWORKS, *PROXIES.values())
    recalls = True
    may_stop = True

    def jobs(self, order: Order) -> list[Job]:
        """At ``paper`` the first seeds of the mixture go on."""
        late = {SETS.spec(seed).id for seed in SETS.seeds_at(order)[:CONTINUED]} if order.preset == "paper" else {}
        return [replace(job, schedule=ON_TO_LATE) if job.spec.id in late else job for job in super().jobs(order)]

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.within = STEPS[self.order.preset]
        whole = [outcome for setting in NETWORKS for outcome in runs[setting]]
        self.networks = Runs(outcome.up_to(self.within) for outcome in whole)
        self.late = [outcome for outcome in whole if outcome.run.step > self.within]
        self.proxies = {
            name: [self.fitted(replace(outcome, setting=name)) for outcome in runs[proxy]]
            for name, proxy in PROXIES.items()
        }
        self.all_proxies = [one for group in self.proxies.values() for one in group]

    def fitted(self, outcome: Outcome) -> Fitted:
        """What a proxy's table says, by the number of sets that the words of its distribution fall into."""
        return read_fitted(outcome, sets=2 if outcome.setting == SETS.name else 1)

    # --- rules

    @claim("mixture-fails", reads=("runs", "proxy_seeds", "proxies"))
    def mixture_fails(self) -> Iterator[Part]:
        for control in (SELECTIONS, MANY):
            yield self.fails_against(control)
        group = self.record.rows("proxy_seeds", setting=SETS.name)
        apart = [row["separation"] for row in group if row["separation"] is not None]
        detail = f"The probe is {np.mean(apart or 0):.4f} higher at words of the right set."
        yield above("the proxy separates the sets", apart, 0.0, detail)
        top = [row["top"] for row in group]
        chance = self.record.row("proxies", setting=SETS.name)["chance"] if group else 0.0
        largest = f"The right word is the largest of its set in {np.mean(top or 0):.2%} of the cases"
        detail = f"{largest}, by chance in {chance:.2%}."
        yield within("the proxy does not separate words", top, chance, POINTS, detail)

    @claim("proxy-blind-to-permutations", reads=("proxy_seeds",))
    def proxy_is_blind(self) -> Iterator[Part]:
        """Trained on permutations, the proxy has the same probe at every position, its random start apart."""
        group = self.record.rows("proxy_seeds", setting=PERMUTATIONS.name)
        added, right = ([row[name] for row in group] for name in ("added", "right"))
        spread, start = np.mean(added or 0), np.mean([row["spread_start"] for row in group] or 0)
        detail = f"Its spread over positions is {spread:.2%} of the mean; the random start has {start:.1%}."
        yield below("what training adds", added, FLAT, detail)
        detail = f"The probe there differs by {np.mean(right or 0):+.2%} from its mean over positions."
        yield within("the right position", right, 0.0, FLAT, detail)

    def fails_against(self, control: Setting) -> Part:
        """The rule of "often fails" against one control, on at least 20 seeds of either."""
        mixture, others = (self.record.learned(setting.name) for setting in (SETS, control))
        detail = (
            f"{mixture.count(False)} of {len(mixture)} seeds failed within {STEPS[self.order.preset]} updates, "
            f"{others.count(False)} of {len(others)} on {control.name}"
        )
        part = replace(often_fails(mixture, others, detail), name=f"often fail, against {control.name}")
        if part.effect is not None and min(len(mixture), len(others)) < LEAST:
            few = f"{part.detail} At least {LEAST} seeds of each are needed."
            return replace(part, verdict="undecided", direction="undecided", detail=few)
        return part

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        late = {"late_runs": [one.row(LATE) for one in self.late], "late_curves": curve_table(self.late)}
        return {
            "success": rate_table(self.networks, self.within),
            "proxies": proxy_table(self.all_proxies),
            "proxy_seeds": [seed_row(one) for one in self.all_proxies],
            "proxy_curves": curve_table(one.outcome for one in self.all_proxies),
            **(late if self.late else {}),
        }

    def run_tables(self) -> dict[str, Table]:
        """Of networks only, up to the step that decides."""
        return {"runs": [one.row(self.within) for one in self.networks.all()], "curves": self.networks.curves()}

    def seeds(self) -> dict[str, list[int]]:
        seeds = {name: [one.seed for one in group] for name, group in self.networks.items()}
        return {**seeds, "each proxy": [one.outcome.seed for one in self.proxies[SETS.name]]}

    def figures(self) -> Figures:
        table = self.networks.curves()
        drawn = {
            "curves": accuracy_curves(table, "Accuracy of every seed (Figure 2 middle, and its controls)"),
            "knowledge": pointing_curves(table),
            "proxies": proxy_figure(self.all_proxies),
            "proxy_curves": seed_curves(
                curve_table(one.outcome for one in self.all_proxies),
                "probe_accuracy",
                "right position is the largest",
                "Does the proxy, trained on bags of words, find the right word? Every seed",
            ),
        }
        if self.late:
            title = f"Seeds of the mixture that went on, at most to step {LATE}"
            drawn["continued"] = continued_curves(curve_table(self.late), title)
        return drawn

    def summary(self) -> str:
        rates = rates_in_words(rate_table(self.networks, self.within), self.within)
        words = proxies_in_words(proxy_table(self.all_proxies))
        return " ".join([rates, *late_in_words(self.late), words])

    def notes(self) -> list[str]:
        whole = "Networks on the mixture run to step 200; the others end once they have learned."
        return [
            "Networks are those of the experiment copying, whose runs on permutations of 40 and on 40 of 60 are "
            "shared.",
            f"The proxy: embeddings and output weights of 256 numbers from N(0, 1/256), batches of 128 pairs without "
            f"their end symbols, Adam at 1e-3, {PROXY_STEPS[self.order.preset]} updates.",
            "The probe theta(o|i) is a matter of two words, so it is read over all pairs of words of the vocabulary: a "
            "sequence of the mixture has words of one set only, and could not show that the sets are told apart.",
            "A random start alone makes the probe differ between words by about 6 % (256^-1/2) of its mean, and "
            "training on permutations leaves that as it is; so what training added is looked at, and the right word "
            "by itself.",
            *self.at_preset(reduced=whole, paper=whole),
            *self.at_preset(
                quick="quick: one seed of the mixture and of 40 of 60 and 50 updates instead of 200; two seeds of each "
                "proxy and 500 updates instead of 1000.",
                reduced="reduced: 20 seeds of the mixture and of permutations instead of 40.",
                paper=f"Seeds 0 to {CONTINUED - 1} of the mixture go on until they have learned, at most to step "
                f"{LATE}; claims are decided within {WITHIN} updates.",
            ),
        ]


def late_in_words(late: Sequence[Outcome]) -> list[str]:
    """What became of the seeds that went on, in a sentence; none if none did."""
    if not late:
        return []
    steps = learned_steps(late, LATE)
    ends = [outcome.run.rows[-1] for outcome in late]
    accuracy, attention, probe = (
        mean(row[name] for row in ends) for name in ("accuracy", "attention_accuracy", "probe_accuracy")
    )
    when = f" (median step {np.median(steps):.0f})" if steps else ""
    return [
        f"Of {len(late)} seeds of the mixture that went on, {len(steps)} had learned by step {LATE}{when}; in the end "
        f"their mean accuracy was {accuracy:.1%}, with attention at the right position in {attention:.1%} of the cases "
        f"and the probe largest there in {probe:.1%}."
    ]


# --- proxies


def proxy_table(fitted: Sequence[Fitted]) -> Table:
    """A row for each distribution: what the proxy learned, mean over seeds."""
    table = []
    for name in dict.fromkeys(one.setting for one in fitted):
        group = [one for one in fitted if one.setting == name]
        seeds, first = [seed_row(one) for one in group], group[0]
        row = {"setting": name, "seeds": len(group), "updates": first.outcome.run.step}
        row |= {"least_loss": log(first.distribution.length), "chance": first.chance}  # each output word as likely
        table.append(row | {key: mean(row[key] for row in seeds) for key in seeds[0] if key not in row})
    return table


def seed_row(one: Fitted) -> dict[str, Any]:
    """What one seed of the proxy learned."""
    row = {"setting": one.setting, "seed": one.outcome.seed, "loss": one.outcome.run.rows[-1]["loss"]}
    return {**row, **vars(one.measured), "right": one.measured.right, "separation": one.measured.separation}


def proxies_in_words(table: Table) -> str:
    """What the proxies learned, as sentences."""
    sentences = []
    for row in table:
        sentence = (
            f"The proxy on {row['setting']}: an output word's own input word has the largest probe of its set in "
            f"{row['top']:.1%} of the cases (chance {row['chance']:.1%}), and there it is {compared(row['right'])}. "
            f"The random start scatters the probe by {row['spread_start']:.1%} of the mean of a set; training changed "
            f"these differences between words by {row['reshaped']:.2%}."
        )
        if row["other_set"] is not None:
            sentence += f" The probe is {row['set_mean']:.4f} at words of its set and {row['other_set']:.4f} at others."
        sentences.append(sentence)
    return " ".join(sentences)


def compared(right: float) -> str:
    """How the probe at the right word compares with the mean of its set, which it differs from by ``right`` of it."""
    if right > 1:
        return f"{1 + right:.0f} times the mean of its set"
    return f"{abs(right):.1%} {'above' if right >= 0 else 'below'} the mean of its set"


def proxy_figure(fitted: Sequence[Fitted]) -> alt.FacetChart:
    """A dot for each seed: the trained proxy's probe at the right word, at others of its set, at those of the other."""
    kinds = {"its own word": "own", "another word of its set": "same_set", "a word of the other set": "other_set"}
    rows = [
        {"setting": one.setting, "seed": one.outcome.seed, "input word": kind, "probe": max(value, SMALLEST)}
        for one in fitted
        for kind, field in kinds.items()
        if (value := getattr(one.measured, field)) is not None
    ]
    word, axis = "input word, seen from an output word", alt.Axis(labelAngle=-30)
    probe = alt.Y(
        "probe:Q",
        title="the proxy's probe, mean over output words",
        scale=alt.Scale(type="log", domain=[SMALLEST, 1]),
        axis=alt.Axis(values=[10.0**power for power in range(-6, 1)], format="~e"),
    )
    dots = alt.Chart().mark_point(filled=True, size=50, opacity=0.6).properties(width=230, height=220)
    layer = dots.encode(
        x=alt.X("input word:N", title=word, sort=list(kinds), axis=axis),
        y=probe,
        color=alt.Color("input word:N", legend=None, scale=alt.Scale(domain=list(kinds), range=list(COLOURS[:3]))),
        tooltip=["seed:N", rounded("probe", ".5f")],
    )
    return panels(rows, layer=layer, title="What the trained proxy knows about pairs of words")
