"""Symmetry: how little information breaks the deadlock of permutations? (Ours, after P3 3.3 and 4.)

In permutations all entries of the count table are equal. Two ways to disturb that, from hardly at all to a lot: draw 40
of n words, or mix a small share of 40 of 41 into permutations of 40. Success and its step are set against the table's
contrast (`attnlab.families.copying.contrast`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.copying.experiment import make_spec
from attnlab.experiments.symmetry.curve import NONE, Fits, Floats, fit_curves
from attnlab.experiments.symmetry.figures import curve_figure, steps_figure, success_figure
from attnlab.families.copying.contrast import contrast
from attnlab.families.copying.spec import CopyingSpec, MixtureSpec, PermutationsSpec, SelectionsSpec
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.rates import learned_steps, rate_table, run_row, tell_rates
from attnlab.lab.smaller import undecided
from attnlab.lab.success import (
    EVERY,
    LEARNED,
    WITHIN,
    Outcome,
    Setting,
    always,
    curve_table,
    learned,
    seeds_of,
)
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.ranks import spearman
from attnlab.stats.rates import fisher_exact

STEPS: dict[Preset, int] = {"quick": 50, "reduced": WITHIN, "paper": WITHIN}
"""Updates within which a run must have learned."""
SIZES = (41, 42, 44, 48, 52, 60, 80)
SHARES = (0.0, 0.001, 0.01, 0.05, 0.25)
FEWEST = 10
"""Fewest seeds of a distribution with which the claims on contrast are decided."""
DECADE = 1.0
"""A rise narrower than this, in decades of contrast, is a threshold."""
LEAST_HEIGHT = 0.1
"""A rise must be at least this high for its width to mean anything."""
FIT_RESAMPLES = 1000
_TOO_FEW = f" At least {FEWEST} seeds of every distribution are needed."


def _selected(words: int) -> Setting:
    """40 of so many words; those that other experiments have too share their runs."""
    seeds: dict[Preset, int] = {
        "quick": int(words == 41),
        "reduced": 20 if words == 41 else 10,
        "paper": 20,
    }
    if words == 60:
        return replace(copying.SELECTIONS, seeds=seeds, ends_when_learned=True)
    task = CopyingSpec(distribution=SelectionsSpec(length=40, words=words))
    return Setting(f"40 of {words}", task, seeds, ends_when_learned=True)


def _shared(share: float) -> Setting:
    """Permutations of 40 with a share of 40 of 41; with a share of 0 the vocabulary still has the 41st word."""
    parts = (PermutationsSpec(words=40), SelectionsSpec(length=40, words=41))
    task = CopyingSpec(distribution=MixtureSpec(parts=parts, shares=(1 - share, share)))
    seeds: dict[Preset, int] = {"quick": int(share == 0.25), "reduced": 20, "paper": 40}
    return Setting(f"permutations of 40, {100 * share:g} % 40 of 41", task, seeds, ends_when_learned=True)


PERMUTATIONS = replace(copying.PERMUTATIONS, seeds={"quick": 1, "reduced": 20, "paper": 40}, ends_when_learned=True)
FAMILIES = {
    "40 of n": (PERMUTATIONS, *map(_selected, SIZES)),
    "a share of 40 of 41": tuple(map(_shared, SHARES)),
}
"""The distributions by the way in which they get their contrast."""
SETTINGS = tuple(setting for family in FAMILIES.values() for setting in family)


@dataclass(frozen=True)
class Tried:
    """One distribution: its family, its contrast and how its runs ended."""

    name: str
    family: str
    contrast: float
    outcomes: tuple[Outcome, ...]


class Symmetry(Experiment):
    """From no contrast to a lot, by two ways."""

    name = "symmetry"
    title = "How little information breaks the deadlock of permutations?"
    source = "ours, after P3 3.3, 4"
    recalls = True
    may_stop = True

    def jobs(self, order: Order) -> list[Job]:
        return [make_job(setting, seed, order.preset) for setting in SETTINGS for seed in seeds_of(setting, order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        within = STEPS[order.preset]
        tried = [
            Tried(
                setting.name,
                family,
                contrast(setting.task.distribution.build()),
                tuple(Outcome(setting.name, seed, done[make_spec(setting, seed).id]) for seed in seeds),
            )
            for family, settings in FAMILIES.items()
            for setting in settings
            if (seeds := seeds_of(setting, order))
        ]
        outcomes = [outcome for one in tried for outcome in one.outcomes]
        table, fits = distribution_table(tried, within), fit(tried, within)
        findings = decide(tried, fits, within)
        return Result(
            summary=tell(table, fits, within),
            tables={
                "distributions": table,
                "fits": fit_table(fits),
                "rise": rise_table(fits),
                "runs": [run_row(outcome, within) for outcome in outcomes],
                "curves": curve_table(outcomes),
            },
            figures={
                "success": success_figure(table, fits),
                "steps": steps_figure(table),
                **{
                    name: curve_figure(
                        curve_table(o for one in tried if one.family == family for o in one.outcomes), family
                    )
                    for name, family in zip(("curves_of_n", "curves_of_shares"), FAMILIES, strict=True)
                },
            },
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS if seeds_of(setting, order)},
        )


def make_job(setting: Setting, seed: int, preset: Preset) -> Job:
    """One run, which ends once it has learned."""
    schedule = Schedule.every(EVERY, steps=STEPS[preset], stop_at=LEARNED)
    return Job(f"{setting.name}, seed {seed}", make_spec(setting, seed), schedule)


# --- tables


def distribution_table(tried: Sequence[Tried], within: int) -> Table:
    """A row for each distribution, by contrast; ``p_none``: Fisher's exact test against the runs without contrast.

    It is multiplied by the number of distributions that have contrast, since as many are compared.
    """
    none = [outcome for one in tried if one.contrast <= NONE for outcome in one.outcomes]
    compared = sum(one.contrast > NONE for one in tried)
    table = []
    for one in sorted(tried, key=lambda one: one.contrast):
        (rates,) = rate_table(one.outcomes, within)
        p = None
        if none and one.contrast > NONE:
            counts = (learned(one.outcomes, within), len(one.outcomes)), (learned(none, within), len(none))
            p = min(1.0, compared * fisher_exact(*counts))
        steps = [within + EVERY if (step := o.learned_within(within)) is None else step for o in one.outcomes]
        table.append(
            {**rates, "family": one.family, "contrast": one.contrast, "mean_step": float(np.mean(steps)), "p_none": p}
        )
    return table


def fit(tried: Sequence[Tried], within: int, resamples: int = FIT_RESAMPLES) -> Fits:
    """Curve and step fitted to all runs, and to resamples of them within each distribution."""
    groups = [place for place, one in enumerate(tried) for _ in one.outcomes]
    success = np.array([o.learned_within(within) is not None for one in tried for o in one.outcomes], dtype=np.float64)
    rows = resampled_rows(groups, "success curve", resamples)
    member = np.equal.outer(np.array(groups), np.arange(len(tried))).astype(np.float64)  # (runs, distributions)
    return fit_curves(np.array([one.contrast for one in tried]), success[rows] @ member, member.sum(0))


def fit_table(fits: Fits) -> Table:
    """The fitted curve and the best step."""
    return [
        {
            "fit": name,
            "low": curve.low,
            "high": curve.high,
            "middle_contrast": 10**curve.middle,
            "width_decades": curve.width,
            "log_likelihood": curve.log_likelihood,
        }
        for name, curve in (("curve", fits.curve), ("step", fits.step))
    ]


def rise_table(fits: Fits) -> Table:
    """What decides between slope and threshold, each with its 95 % interval over resampled runs."""
    measures = {
        "width in decades": fits.width,
        "height": fits.height,
        "AIC of the best step less the curve's": fits.aic_gain,
    }
    table = []
    for measure, values in measures.items():
        value, (low, high) = _known(values)
        table.append({"measure": measure, "value": value, "low": low, "high": high})
    return table


def tell(table: Table, fits: Fits, within: int) -> str:
    """The result in plain words."""
    least = next((row for row in table if row["p_none"] is not None and row["p_none"] < 0.05), None)
    helped = "No distribution was learned significantly more often than those without contrast."
    if least is not None:
        helped = (
            f"The least contrast with which runs learned significantly more often than without any is "
            f"{least['contrast']:.2g} ({least['setting']})."
        )
    width, (low, high) = _known(fits.width)
    gain, (gain_low, gain_high) = _known(fits.aic_gain)
    shape = (
        f"The fitted rise from {fits.curve.low:.0%} to {fits.curve.high:.0%} of successes is {width:g} decades of "
        f"contrast wide (95 % interval {low:g} to {high:g}) around {10**fits.curve.middle:.2g}; the best step fits "
        f"worse by an AIC of {gain:.1f} ({gain_low:.1f} to {gain_high:.1f})."
    )
    return " ".join([tell_rates(table, within), helped, shape])


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Contrast is exact, from the expected count table of a distribution: L times the mean entry of an output word "
        "with its own input word, less that with another word of its sequence.",
        "With a share of 0 the network still has the 41st word in its vocabulary, so that among shares only the share "
        "differs.",
        "A run ends once it has learned; settings that other experiments have too share their runs.",
        "Shares say how likely each sequence is to be of 40 of 41; at 0.1 % a batch of 128 has such a sequence about "
        "every eighth update.",
    ]
    if order.preset == "quick":
        told.append("quick: one seed of three distributions, 50 updates instead of 200.")
    if order.preset == "reduced":
        told.append("reduced: 20 seeds of permutations and of each share instead of 40, ten of 40 of 42 to 40 of 80.")
    return tuple(told)


# --- claims


def decide(tried: Sequence[Tried], fits: Fits, within: int) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    few = len(tried) < len(SETTINGS) or min(len(one.outcomes) for one in tried) < FEWEST
    one_left_out = [outcome for one in tried if one.name == "40 of 41" for outcome in one.outcomes]
    return (
        Finding("one-word-left-out", (always("40 of 41", one_left_out, within),)),
        Finding("contrast-breaks-symmetry", (more_often(tried, within, few), sooner(tried, within, few))),
        Finding("contrast-slope", (slope(fits, few),)),
    )


def more_often(tried: Sequence[Tried], within: int, few: bool) -> Part:
    """Holds if success goes with contrast: interval of Spearman's correlation above 0."""
    pairs = [(one, float(o.learned_within(within) is not None)) for one in tried for o in one.outcomes]
    return _correlated("more often", "success", pairs, few, sign=1)


def sooner(tried: Sequence[Tried], within: int, few: bool) -> Part:
    """Holds if runs that learn do so the sooner the more contrast there is: interval of the correlation below 0."""
    pairs = [(one, float(step)) for one in tried for step in learned_steps(one.outcomes, within)]
    return _correlated("sooner", "the step of success", pairs, few, sign=-1)


def _correlated(name: str, what: str, pairs: Sequence[tuple[Tried, float]], few: bool, *, sign: int) -> Part:
    rows = resampled_rows([one.name for one, _ in pairs], name)
    contrasts, values = np.array([one.contrast for one, _ in pairs]), np.array([value for _, value in pairs])
    found = value_and_interval(spearman(contrasts[rows], values[rows])) if len(pairs) > 1 else None
    if found is None:
        return Part(
            name, "undecided", None, None, "runs", f"There is nothing to compare: {what} is the same everywhere."
        )
    value, interval = found
    verdict: Verdict = "undecided"
    if not few and not interval[0] <= 0 <= interval[1]:
        verdict = "holds" if sign * value > 0 else "fails"
    detail = f"Spearman's correlation of contrast and {what} is {value:.2f} over {len(pairs)} runs."
    return Part(name, verdict, value, interval, "runs", detail + (_TOO_FEW if few else ""))


def slope(fits: Fits, few: bool) -> Part:
    """Holds if the rise of success is wider than a decade of contrast, fails if it is narrower: interval over runs."""
    width, interval = _known(fits.width)
    _, (height, _) = _known(fits.height)
    verdict: Verdict = "undecided"
    if not few and height >= LEAST_HEIGHT:
        verdict = "holds" if interval[0] > DECADE else "fails" if interval[1] < DECADE else "undecided"
    detail = (
        f"The rise is {width:g} decades of contrast wide, around {10**fits.curve.middle:.2g}; the best step's AIC is "
        f"{fits.aic_gain[0]:.1f} above the curve's."
    )
    if height < LEAST_HEIGHT:
        detail += f" Its height may be as little as {height:.2f}, too little to speak of its width."
    return Part("width of the rise", verdict, width, interval, "runs", detail + (_TOO_FEW if few else ""))


def _known(values: Floats) -> tuple[float, tuple[float, float]]:
    """Value and interval of what is always defined."""
    found = value_and_interval(values)
    assert found is not None
    return found
