"""Symmetry: how little information breaks the deadlock of permutations? (Ours, after P3 3.3 and 4.)

In permutations all entries of the count table are equal. Two ways to disturb that, from hardly at all to a lot: draw 40
of n words, or mix a small share of 40 of 41 into permutations of 40. Success and its step are set against the table's
contrast (`attnlab.families.copying.contrast`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from attnlab.families.copying.contrast import contrast
from attnlab.families.copying.spec import MixtureSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.copying.success import EVERY, WITHIN
from attnlab.lab.claims import Part
from attnlab.lab.copying import network_on, task_of
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import (
    Outcome,
    Runs,
    curve_table,
    estimate_of,
    learned,
    learned_steps,
    mean,
    rate_table,
    rates_in_words,
)
from attnlab.lab.rules import all_of, higher, lower, missing
from attnlab.pages.charts import CONTRAST, INK, accuracy_curves, headed, hue, inline, learned_at, rounded, shares
from attnlab.stats.bootstrap import resampled_rows, value_and_interval
from attnlab.stats.proportions import fisher_exact
from attnlab.stats.ranks import spearman
from attnlab.stats.success_curve import NONE, Fits, Floats, fit_curves

# --- settings

STEPS = by_preset(50, WITHIN, WITHIN)
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
LEFT = 1e-5
"""Where distributions without contrast are drawn: a logarithmic axis has no 0."""


def selected(words: int) -> Setting:
    """40 of so many words."""
    seeds = (1, 20, 20) if words == 41 else (0, 10, 20)
    return network_on(f"40 of {words}", SelectionsSpec(length=40, words=words), seeds, STEPS)


def shared(share: float) -> Setting:
    """Permutations of 40 with a share of 40 of 41; with a share of 0 the vocabulary still has the 41st word."""
    parts = (PermutationsSpec(words=40), SelectionsSpec(length=40, words=41))
    mixed, seeds = MixtureSpec(parts=parts, shares=(1 - share, share)), (int(share == 0.25), 20, 40)
    return network_on(f"permutations of 40, {100 * share:g} % 40 of 41", mixed, seeds, STEPS)


ONE_LEFT_OUT = selected(SIZES[0])
FAMILIES = {
    "40 of n": (
        network_on("permutations of 40", PermutationsSpec(words=40), (1, 20, 40), STEPS),
        ONE_LEFT_OUT,
        *map(selected, SIZES[1:]),
    ),
    "a share of 40 of 41": tuple(map(shared, SHARES)),
}
"""The distributions by the way in which they get their contrast."""


@dataclass(frozen=True)
class Tried:
    """One distribution: its family, its contrast and how its runs ended."""

    name: str
    family: str
    contrast: float
    outcomes: Sequence[Outcome]


class Symmetry(Experiment):
    """From no contrast to a lot, by two ways."""

    name = "symmetry"
    title = "How little information breaks the deadlock of permutations?"
    source = "ours, after P3 3.3, 4"
    settings = tuple(setting for family in FAMILIES.values() for setting in family)
    decides_at = ("reduced", "paper")
    recalls = True
    may_stop = True

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.within = STEPS[self.order.preset]
        self.tried = [
            Tried(setting.name, family, contrast_of(setting), runs[setting])
            for family, settings in FAMILIES.items()
            for setting in settings
            if runs[setting]
        ]
        self.fits = fit(self.tried, self.within)
        too_few = min(len(runs[setting]) for setting in self.settings) < FEWEST
        self.few = f" At least {FEWEST} seeds of every distribution are needed." if too_few else ""

    # --- rules

    @claim("one-word-left-out")
    def one_word_suffices(self) -> Part:
        return all_of(ONE_LEFT_OUT.name, learned(self.runs[ONE_LEFT_OUT], self.within))

    @claim("contrast-breaks-symmetry")
    def contrast_helps(self) -> Iterator[Part]:
        within = self.within
        pairs = [(one, float(o.learned_within(within) is not None)) for one in self.tried for o in one.outcomes]
        yield self.correlated("more often", "success", pairs, sign=1)
        pairs = [(one, float(step)) for one in self.tried for step in learned_steps(one.outcomes, within)]
        yield self.correlated("sooner", "the step of success", pairs, sign=-1)

    def correlated(self, name: str, what: str, pairs: Sequence[tuple[Tried, float]], *, sign: int) -> Part:
        """Holds if the interval of Spearman's correlation with contrast lies on the side of 0 that ``sign`` names."""
        rows = resampled_rows([one.name for one, _ in pairs], name)
        contrasts, values = np.array([one.contrast for one, _ in pairs]), np.array([value for _, value in pairs])
        estimate = value_and_interval(spearman(contrasts[rows], values[rows])) if len(pairs) > 1 else None
        if estimate is None:
            return missing(name, "runs", f"There is nothing to compare: {what} is the same everywhere.")
        value, interval = estimate
        verdict = (higher if sign > 0 else lower)(interval, 0)
        detail = f"Spearman's correlation of contrast and {what} is {value:.2f} over {len(pairs)} runs."
        return Part(name, "undecided" if self.few else verdict, value, interval, "runs", detail + self.few)

    @claim("contrast-slope")
    def rise_is_wide(self) -> Part:
        """Holds if the rise of success is wider than a decade of contrast, fails if it is narrower."""
        width, interval = known(self.fits.width)
        _, (height, _) = known(self.fits.height)
        detail = (
            f"The rise is {width:g} decades of contrast wide, around {10**self.fits.curve.middle:.2g}; the best step's "
            f"AIC is {self.fits.aic_gain[0]:.1f} above the curve's."
        )
        if height < LEAST_HEIGHT:
            detail += f" Its height may be as little as {height:.2f}, too little to speak of its width."
        verdict = "undecided" if self.few or height < LEAST_HEIGHT else higher(interval, DECADE)
        return Part("width of the rise", verdict, width, interval, "runs", detail + self.few)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        """``rise``: what decides between slope and threshold, with 95 % intervals over resampled runs."""
        rise = {"width in decades": self.fits.width, "height": self.fits.height}
        rise["AIC of the best step less the curve's"] = self.fits.aic_gain
        return {
            "distributions": distribution_table(self.tried, self.within),
            "fits": [
                {"fit": name, "low": fitted.low, "high": fitted.high, "middle_contrast": 10**fitted.middle}
                | {"width_decades": fitted.width, "log_likelihood": fitted.log_likelihood}
                for name, fitted in (("curve", self.fits.curve), ("step", self.fits.step))
            ],
            "rise": [{"measure": name, **estimate_of(values)} for name, values in rise.items()],
        }

    def figures(self) -> Figures:
        table = distribution_table(self.tried, self.within)
        drawn = {"success": success_figure(table, self.fits), "steps": steps_figure(self.tried, self.within)}
        for name, family in zip(("curves_of_n", "curves_of_shares"), FAMILIES, strict=True):
            rows = curve_table(outcome for one in self.tried if one.family == family for outcome in one.outcomes)
            drawn[name] = accuracy_curves(rows, f"Accuracy of every seed: {family}")
        return drawn

    def summary(self) -> str:
        table = distribution_table(self.tried, self.within)
        least = next((row for row in table if row["p_none"] is not None and row["p_none"] < 0.05), None)
        helped = "No distribution was learned significantly more often than those without contrast."
        if least is not None:
            helped = (
                f"The least contrast with which runs learned significantly more often than without any is "
                f"{least['contrast']:.2g} ({least['setting']})."
            )
        curve = self.fits.curve
        (width, (low, high)), (gain, (gain_low, gain_high)) = known(self.fits.width), known(self.fits.aic_gain)
        shape = (
            f"The fitted rise from {curve.low:.0%} to {curve.high:.0%} of successes is {width:g} decades of contrast "
            f"wide (95 % interval {low:g} to {high:g}) around {10**curve.middle:.2g}; the best step fits worse by an "
            f"AIC of {gain:.1f} ({gain_low:.1f} to {gain_high:.1f})."
        )
        return " ".join([rates_in_words(table, self.within), helped, shape])

    def notes(self) -> list[str]:
        return [
            "Contrast is exact, from the expected count table of a distribution: L times the mean entry of an output "
            "word with its own input word, less that with another word of its sequence.",
            "With a share of 0 the network still has the 41st word in its vocabulary, so that among shares only the "
            "share differs.",
            "A run ends once it has learned; settings that other experiments have too share their runs.",
            "Shares say how likely each sequence is to be of 40 of 41; at 0.1 % a batch of 128 has such a sequence "
            "about every eighth update.",
            *self.at_preset(
                quick="quick: one seed of three distributions, 50 updates instead of 200.",
                reduced="reduced: 20 seeds of permutations and of each share instead of 40, ten of 40 of 42 to 40 of "
                "80.",
            ),
        ]


def contrast_of(setting: Setting) -> float:
    """The contrast of a setting's count table."""
    return contrast(task_of(setting.spec(0)).distribution.build())


def fit(tried: Sequence[Tried], within: int) -> Fits:
    """Curve and step fitted to all runs, and to resamples of them within each distribution."""
    groups = [place for place, one in enumerate(tried) for _ in one.outcomes]
    success = np.array([done for one in tried for done in learned(one.outcomes, within)], dtype=np.float64)
    rows = resampled_rows(groups, "success curve", FIT_RESAMPLES)
    member = np.equal.outer(np.array(groups), np.arange(len(tried))).astype(np.float64)  # (runs, distributions)
    return fit_curves(np.array([one.contrast for one in tried]), success[rows] @ member, member.sum(0))


def known(values: Floats) -> tuple[float, tuple[float, float]]:
    """Value and interval of what is always defined."""
    estimate = value_and_interval(values)
    assert estimate is not None
    return estimate


def distribution_table(tried: Sequence[Tried], within: int) -> Table:
    """A row for each distribution, by contrast; ``p_none``: Fisher's exact test against the runs without contrast.

    It is multiplied by the number of distributions that have contrast, since as many are compared.
    """
    none = [done for one in tried if one.contrast <= NONE for done in learned(one.outcomes, within)]
    compared = sum(one.contrast > NONE for one in tried)
    table = []
    for one in sorted(tried, key=lambda one: one.contrast):
        (rates,), p = rate_table(Runs(one.outcomes), within), None
        if none and one.contrast > NONE:
            p = min(1.0, compared * fisher_exact((rates["learned"], rates["seeds"]), (sum(none), len(none))))
        steps = mean(outcome.step_or_after(within) for outcome in one.outcomes)
        table.append({**rates, "family": one.family, "contrast": one.contrast, "mean_step": steps, "p_none": p})
    return table


def success_figure(table: Table, fits: Fits) -> alt.TopLevelMixin:
    """The share of runs that learned, with its interval, the fitted curve and the best step."""
    points = against_contrast(table)
    at, names = np.geomspace(LEFT, 0.5, 200), ["fitted curve", "best step"]
    lines = [
        {"shown": float(place), "p": float(value), "fit": name}
        for name, curve in zip(names, (fits.curve, fits.step), strict=True)
        for place, value in zip(at, curve.at(at), strict=True)
    ]
    scale = alt.Scale(domain=names, range=[[1, 0], [4, 4]])
    dash = alt.StrokeDash("fit:N", title=None, scale=scale, legend=alt.Legend(orient="top"))
    line = alt.Chart(inline(lines)).mark_line(color=INK, strokeWidth=1.2)
    layers = alt.layer(
        line.encode(x=contrast_axis(), y="p:Q", strokeDash=dash),
        points.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        points.mark_point(filled=True, size=60).encode(
            y=shares("rate", "share of runs that learned, with its 95 % interval")
        ),
    )
    return headed(layers, "How much contrast does copying need? Leftmost: none at all", width=460, height=260)


def steps_figure(tried: Sequence[Tried], within: int) -> alt.TopLevelMixin:
    """When every run learned, those that did not in a band."""
    rows = [
        {"setting": one.name, "family": one.family, "contrast": one.contrast}
        | outcome.dot(k / len(one.outcomes), within)
        for one in sorted(tried, key=lambda one: one.contrast)
        for k, outcome in enumerate(one.outcomes)
    ]
    dots = against_contrast(rows).mark_point(filled=True, size=45, opacity=0.5)
    dots = dots.encode(tooltip=["setting:N", "seed:N", rounded("contrast", ".2g"), "learned:N"])
    chart = learned_at(dots, updates=within, every=EVERY)
    return headed(chart, "Contrast and speed, run by run", width=460, height=260)


def against_contrast(table: Table) -> alt.Chart:
    """A point for each row, by contrast; those without any are side by side at the left."""
    families = list(dict.fromkeys(row["family"] for row in table))
    beside = {family: LEFT * 1.3**place for place, family in enumerate(families)}
    rows = [{**row, "shown": max(row["contrast"], beside[row["family"]])} for row in table]
    chart: alt.Chart = alt.Chart(inline(rows)).encode(
        x=contrast_axis(),
        color=hue("family", CONTRAST),
        tooltip=["setting:N", rounded("contrast", ".2g"), "learned:Q", "seeds:Q", "median_step:Q"],
    )
    return chart


def contrast_axis() -> alt.X:
    """The logarithmic axis of contrast, with none at its left end."""
    axis = alt.Axis(
        values=[LEFT, 1e-4, 1e-3, 1e-2, 1e-1],
        labelExpr=f"datum.value < {2 * LEFT} ? 'none' : format(datum.value, '~g')",
    )
    scale = alt.Scale(type="log", domain=[LEFT, 0.5])
    return alt.X("shown:Q", title="contrast of the count table", scale=scale, axis=axis)
