"""How claims are worded for people: effects with their units, presets with what they leave out, tallies by paper."""

from collections.abc import Iterable, Sequence

from attnlab.lab.claims.decisions import OUTCOMES, ClaimOutcome, Decision, outcome_of
from attnlab.lab.claims.parts import Part, differing
from attnlab.lab.claims.registry import Claim

PAPERS = ("blog", "slides", "P1", "P2", "P3", "others", "ours")
"""Texts in the order in which they are counted: the five, those of neighbours, our own."""
TITLES = {
    "blog": "the authors' blog post on P3, 2021",
    "slides": "Snell, Zhong, Steinhardt, Klein: Understanding Attention Training via Output Relevance, 2020",
    "P1": "Lu, Mao, Nayak: On the Dynamics of Training Attention Models, 2021",
    "P2": "Liu, Balaji, Xue, Min: Analyzing Attention Mechanisms through Lens of Sample Complexity and Loss Landscape",
    "P3": "Snell, Zhong, Klein, Steinhardt: Approximating How Single Head Attention Learns, 2021",
    "others": "related work",
    "ours": "what this project adds",
}
"""What each of them is."""
ONE_RUN = "One run: its interval is over texts alone."


def effect_in_words(effect: float | None, interval: tuple[float, float] | None, unit: str, digits: int = 3) -> str:
    """An effect with its unit and interval, as far as they are there.

    >>> effect_in_words(0.425, (0.285, 0.578), "% of seeds"), effect_in_words(20.2, None, "updates")
    ('42.5 % of seeds [28.5, 57.8]', '20.2 updates')
    """
    if effect is None:
        return ""
    scale = 100 if unit.startswith(("%", "points")) else 1
    shown = [_shown(scale * number, digits) for number in (effect, *(interval or ()))]
    return f"{shown[0]}{' ' if unit else ''}{unit}{f' [{shown[1]}, {shown[2]}]' if interval else ''}"


def _shown(number: float, digits: int) -> str:
    """So many significant digits, and all of a whole number's: 1676, not 1.68e+03."""
    return f"{number:.0f}" if 10**digits <= abs(number) < 1e6 else f"{number:.{digits}g}"


def preset_in_words(decision: Decision) -> str:
    """The preset with a star where it left something out; ours have no paper, so all we meant to run is ``full``."""
    if decision.preset is None:
        return ""
    name = "full" if decision.claim.by == "ours" and decision.preset == "paper" else decision.preset
    return f"{name}*" if decision.departs else name


def outcome_sentence(claim: Claim, parts: Sequence[Part]) -> str:
    """How some parts of a claim stand by themselves, such as those of one result, in a sentence or two."""
    outcome, weakly = outcome_of(claim.stance, parts)
    if claim.by == "ours":
        said = {"as the paper says": "It holds", "differs": "It fails"}.get(outcome, f"It is {outcome}")
    else:
        said = {"as the paper says": "As the paper says", "differs": "It differs from the paper"}.get(
            outcome, f"It is {outcome}"
        )
    said += ", but weakly: in its direction, not with our margin" if weakly else ""
    if difference := differing(parts):
        said += f": {difference}"
    return f"{said}.{f' {ONE_RUN}' if any(part.one_run for part in parts) else ''}"


def earlier_rules(claim: Claim) -> list[str]:
    """What became of its earlier rules: verdict, date and reason, and the rule where it is no longer ours."""
    said = [f"Until {one.date} its rule gave: {one.verdict}. {one.why}" for one in claim.earlier]
    rules = [f" That rule: {one.rule.strip()}" if one.rule else "" for one in claim.earlier]
    return [words + rule for words, rule in zip(said, rules, strict=True)]


def counts(decisions: Iterable[Decision]) -> dict[ClaimOutcome, int]:
    """How many there are of each outcome."""
    outcomes = [decision.outcome for decision in decisions]
    return {outcome: outcomes.count(outcome) for outcome in OUTCOMES}


def tally(decisions: Sequence[Decision]) -> list[dict[str, str | int]]:
    """A line for each paper, and one for our own: claims, each outcome, and how many of the first are weak."""
    papers = {decision.claim.paper for decision in decisions}
    lines: list[dict[str, str | int]] = []
    for paper in [name for name in PAPERS if name in papers]:
        own = [decision for decision in decisions if decision.claim.paper == paper]
        lines.append({"paper": paper, "claims": len(own), "weakly": sum(one.weakly for one in own)})
        lines[-1] |= {str(outcome): n for outcome, n in counts(own).items()}
    return lines


def in_a_sentence(decisions: Sequence[Decision]) -> str:
    """The tally of all texts together, then that of ours.

    >>> in_a_sentence([])
    'Of 0 claims of these texts 0 came out as the text says (0 of them weakly), 0 otherwise, 0 are open, 0 not run. \
Of our own 0 claims 0 hold, 0 do not, 0 are open, 0 not run.'
    """
    ours = [decision for decision in decisions if decision.claim.by == "ours"]
    texts = [decision for decision in decisions if decision.claim.by != "ours"]
    said, other, undecided, waiting = counts(texts).values()
    hold, not_so, undecided_ours, waiting_ours = counts(ours).values()
    weak = sum(decision.weakly for decision in texts)
    return (
        f"Of {len(texts)} claims of these texts {said} came out as the text says ({weak} of them weakly), {other} "
        f"otherwise, {undecided} are open, {waiting} not run. Of our own {len(ours)} claims {hold} hold, {not_so} do "
        f"not, {undecided_ours} are open, {waiting_ours} not run."
    )
