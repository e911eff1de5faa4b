"""What the agreements on one corpus say about the paper's claims; `claims.toml` says the rules in words."""

from collections.abc import Mapping

import numpy as np

from attnlab.experiments.texts.text_agreement import Agreements, Series
from attnlab.experiments.texts.text_context import IN_CONTEXT, Context, drawn_texts
from attnlab.experiments.texts.text_parts import far_exceeds
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.stats.bootstrap import Interval, interval_over_examples, interval_over_seeds, means_of_drawn, percentiles
from attnlab.stats.ranks import spearman

FIGURES = {
    "alpha, beta_uf": "attention-follows-lexicon",
    "beta_uf, beta_px": "lexicon-under-uniform",
    "delta, beta_uf": "saliency-explained",
    "alpha, beta": "attention-follows-lexicon",
    "alpha, alpha_ibm": "attention-like-ibm1",
    "beta_uf, beta_ibm": "attention-like-ibm1",
    "beta_px, beta_ibm": "attention-like-ibm1",
}
"""The agreements that claims speak of, and the claim that each decides."""
TAU_LEAST = 0.1
"""The least Kendall's tau that counts as agreement: its chance level is 0, which twice is no margin."""
CONTEXT_LEAST = 0.2
"""The least share of the way from untrained to best performance that counts as well above."""
RISES_LEAST = 0.5
"""The least rank correlation that counts as rising together."""


def decide(
    valid: Agreements, train: Agreements, contexts: Mapping[str, Context], untrained: float, best: float
) -> tuple[Finding, ...]:
    """The verdicts. ``untrained`` and ``best``: performances that xi is read between."""
    parts: dict[str, list[Part]] = {}
    for name, claim in FIGURES.items():
        parts.setdefault(claim, []).append(far_exceeds(f"A({name})", valid.series[name].at_best(), valid.chance))
    return (
        *(Finding(claim, tuple(found)) for claim, found in parts.items()),
        Finding("attention-shapes-lexicon", (shaped(valid),)),
        Finding(
            "agreement-in-context",
            tuple(in_context(name, contexts[name], untrained, best) for name in IN_CONTEXT),
        ),
        Finding("agreement-grows-with-performance", (rises_together(valid),)),
        Finding("agreement-kendall", tuple(exceeds_tau(valid.series[name]) for name in IN_CONTEXT)),
        Finding(
            "agreement-training-split",
            tuple(far_exceeds(f"A({name})", train.series[name].at_best(), train.chance) for name in IN_CONTEXT),
        ),
    )


def exceeds_tau(series: Series) -> Part:
    """The same for Kendall's tau, whose chance level is 0: the value is at least 0.1."""
    value, interval = series.value("tau"), series.interval("tau")
    name = f"tau({series.name})"
    if interval is None:
        return Part(name, "undecided", value, None, "examples", "One text has no interval.")
    verdict: Verdict = "undecided"
    if interval.low > 0 and value >= TAU_LEAST:
        verdict = "holds"
    elif interval.high < TAU_LEAST:
        verdict = "fails"
    return Part(name, verdict, value, (interval.low, interval.high), "examples", f"tau {value:.3f}.")


def shaped(valid: Agreements) -> Part:
    """Holds if A(alpha, beta) - A(alpha, beta_uf) has an interval over examples above 0, fails if below."""
    learned, uniform = valid.series["alpha, beta"], valid.series["alpha, beta_uf"]
    differences = learned.at_best() - uniform.at_best()
    interval = interval_over_examples(differences)
    value = float(differences.mean())
    name = "A(alpha, beta) - A(alpha, beta_uf)"
    if interval is None:
        return Part(name, "undecided", value, None, "examples", "One text has no interval.")
    verdict: Verdict = "holds" if interval.low > 0 else "fails" if interval.high < 0 else "undecided"
    detail = f"{learned.value():.3f} against {uniform.value():.3f}."
    return Part(name, verdict, value, (interval.low, interval.high), "examples", detail)


def in_context(name: str, context: Context, untrained: float, best: float) -> Part:
    """Holds if xi lies above the untrained performance, with an interval, by a fifth of the way to the best."""
    gain = context.read - untrained
    told = "never exceeded, read as the best" if context.performance is None else f"{context.performance:.3f}"
    detail = f"xi {told}; untrained {untrained:.3f}, best {best:.3f}."
    if context.over == "examples":
        detail += " One comparison run."
    if context.interval is None:
        return Part(f"xi({name})", "undecided", gain, None, context.over, detail + " One text has no interval.")
    interval = (context.interval[0] - untrained, context.interval[1] - untrained)
    verdict: Verdict = "undecided"
    if interval[0] > 0 and gain >= CONTEXT_LEAST * (best - untrained):
        verdict = "holds"
    elif interval[1] < CONTEXT_LEAST * (best - untrained):
        verdict = "fails"
    return Part(f"xi({name})", verdict, gain, interval, context.over, detail)


def rises_together(valid: Agreements) -> Part:
    """Rank correlation of A(alpha, alpha(step)) and accuracy up to each comparison run's best evaluation.

    The interval is over comparison runs, or over examples where there is one run.
    """
    name = "A(alpha, alpha(step)) and accuracy"
    over = "comparison seeds" if len(valid.accuracy) > 1 else "examples"
    values = []
    for agree, accuracy in zip(valid.seeds_agree["expected"], valid.accuracy, strict=True):
        upto = int(accuracy.argmax()) + 1
        if upto >= 3:
            values.append(float(spearman(agree[None, :upto], accuracy[None, :upto])[0]))
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return Part(name, "undecided", None, None, over, "No run has three evaluations up to its best.")
    value = float(np.mean(known))
    interval = bounds(interval_over_seeds(known)) if len(valid.accuracy) > 1 else correlations_over_examples(valid)
    detail = f"Spearman's correlation {value:.2f}, mean over {len(known)} comparison run{'s' * (len(known) > 1)}."
    if interval is None:
        return Part(name, "undecided", value, None, over, detail + f" One of the {over} has no interval.")
    verdict: Verdict = "undecided"
    if interval[0] > 0 and value >= RISES_LEAST:
        verdict = "holds"
    elif interval[1] < RISES_LEAST:
        verdict = "fails"
    return Part(name, verdict, value, interval, over, detail)


def correlations_over_examples(valid: Agreements) -> tuple[float, float] | None:
    """The same correlation of a single comparison run, its texts drawn again; None for a single text."""
    followed, (accuracy,) = valid.followed("expected"), valid.accuracy
    texts, upto = followed.shape[1], int(accuracy.argmax()) + 1
    if texts == 1:
        return None
    curves = means_of_drawn(followed[:upto], drawn_texts(texts, "rises together"))
    correlations = spearman(curves, np.broadcast_to(accuracy[:upto], curves.shape))
    return percentiles(np.nan_to_num(correlations))  # a constant curve correlates with nothing


def bounds(interval: Interval | None) -> tuple[float, float] | None:
    """An interval as a part has it."""
    return None if interval is None else (interval.low, interval.high)
