"""Every claim: what it says, whose it is, and the rules that decide it.

A claim is written in the ``claims.toml`` of the experiment that decides it; those whose experiment is not built yet are
in ``awaiting.toml``, and ``order.toml`` says in which order they are listed.
"""

import difflib
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from attnlab.errors import UsageError
from attnlab.lab.claims.parts import Verdict, first_mistake

Preset = Literal["quick", "reduced", "paper"]
By = Literal["paper", "ours", "neighbour"]
Stance = Literal["affirms", "rejects", "suggests"]

PRESETS: tuple[Preset, ...] = get_args(Preset)  # from the weakest evidence to the strongest
OPTIONAL = ("strength", "unit", "units", "awaits", "instead", "authors", "reason", "earlier")
"""Fields of a claim that may be empty."""


@dataclass(frozen=True)
class Earlier:
    """How a claim was decided before its rule was changed, with its result seen: on which ``date`` it was, and why.

    ``rule``: its words then; empty where they are those of the strength rule, or of the whole rule, now.
    """

    date: date
    verdict: Verdict
    why: str
    rule: str = ""


@dataclass(frozen=True)
class Claim:
    """One statement, of a paper or of our own, and the rules that decide it.

    ``by``: whose it is: one of the five ``paper`` texts', ``ours``, or that of a ``neighbour``, another paper.
    ``stance``: what the text itself says of it. ``direction``: the rule in the text's own words. ``strength``: the rule
    with our margin, empty where those words leave none to us. ``experiments``: those that decide it, the one it is
    written with first. ``awaits``: rows, or starts of their names, without which it stays open. ``instead``: parts that
    count no more once another one is there, by its name, because that one asks the text's question better.

    ``unit``: that of its effects, by part in ``units`` where they differ; "%" in front of it turns shares into per
    cent. ``authors``: their figure. ``reason``: why ours differs or is open. ``earlier``: how it was decided before.
    """

    id: str
    source: str
    statement: str
    direction: str
    experiments: tuple[str, ...]
    by: By = "paper"
    stance: Stance = "affirms"
    strength: str = ""
    awaits: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    authors: str = ""
    reason: str = ""
    earlier: tuple[Earlier, ...] = ()

    @property
    def rule(self) -> str:
        """All words that decide it."""
        return f"{self.direction}\n{self.strength}" if self.strength else self.direction

    @property
    def paper(self) -> str:
        """The text it is counted under: the first that its source names, ``others`` for a neighbour's, or ``ours``.

        >>> claim("copy-k-of-n-learns").paper, claim("norm-identity-through-layers").paper
        ('blog', 'P1')
        """
        return {"ours": "ours", "neighbour": "others"}.get(self.by) or self.source.split(",")[0].split()[0]

    def earlier_rules(self) -> Iterator[str]:
        """The words of its rules before today's."""
        return (one.rule or self.strength or self.direction for one in self.earlier)

    def counts(self, part: str, parts: Collection[str]) -> bool:
        """Whether a part still counts where all these are there."""
        return self.instead.get(part) not in parts

    def unit_of(self, part: str) -> str:
        """The unit of a part's effect; a part of a row is named ``row: part``."""
        return next((unit for name, unit in self.units.items() if part.endswith(name)), self.unit)


@cache
def load_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of ``order.toml``; claims it does not name come last.

    >>> sum(claim.by == "paper" for claim in load_claims())
    71
    """
    here = resources.files("attnlab.lab.claims")
    claims = list(read_claims(here.joinpath("awaiting.toml").read_text(encoding="utf-8")))
    for name, text in _files():
        claims += read_claims(text, name)
    for one in claims:
        if sum(other.id == one.id for other in claims) > 1:
            raise UsageError(f"Two claims have the id {one.id!r}; an id names one claim.")
    order = tomllib.loads(here.joinpath("order.toml").read_text(encoding="utf-8"))["order"]
    return tuple(sorted(claims, key=lambda one: order.index(one.id) if one.id in order else len(order)))


def _files() -> Iterator[tuple[str, str]]:
    """Each experiment that has claims, with the text of its ``claims.toml``."""
    experiments = resources.files("attnlab.experiments")
    for folder in sorted(experiments.iterdir(), key=lambda folder: folder.name):
        if (file := folder.joinpath("claims.toml")).is_file():
            yield folder.name.replace("_", "-"), file.read_text(encoding="utf-8")


@cache
def departures(experiment: str) -> Mapping[str, str]:
    """What an experiment's preset ``paper`` leaves out of the paper's own settings, by row ("" for all others).

    It is the table ``[paper]`` of its ``claims.toml``, and is said wherever the preset is shown.
    """
    texts = dict(_files())
    by_row: dict[str, str] = tomllib.loads(texts.get(experiment, "")).get("paper", {})
    return {"" if row == "all" else row: words for row, words in by_row.items()}


def departing(experiment: str, preset: str | None, row: str = "") -> str:
    """The same in words for one result; "" where nothing is left out, and at presets that say themselves what is.

    >>> departing("copying", "paper")
    ''
    """
    by_row = departures(experiment) if preset == "paper" else {}
    return by_row.get(row, by_row.get("", ""))


def read_claims(text: str, experiment: str = "") -> tuple[Claim, ...]:
    """The claims of one TOML file; ``experiment``: the one whose folder it is in, which decides them unless they say
    otherwise. No field is empty but those that need not be there.
    """
    where = f"claims.toml of {experiment}" if experiment else "awaiting.toml"
    try:
        entries = tomllib.loads(text).get("claim", ())
        if experiment:
            entries = [{"experiments": (experiment,), **entry} for entry in entries]
        claims = TypeAdapter(tuple[Claim, ...], config={"extra": "forbid"}).validate_python(entries)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The {where} is not TOML: {error}.") from None
    except ValidationError as error:
        raise UsageError(f"The {where} is wrong at {first_mistake(error)}.") from None
    for claim in claims:
        _check(claim, where)
    return claims


def _check(claim: Claim, where: str) -> None:
    for name, value in vars(claim).items():
        texts: Any = (value,) if isinstance(value, str) else value
        if name not in OPTIONAL and (not texts or not all(text.strip() for text in texts)):
            raise UsageError(f"The claim {claim.id!r} in the {where} has an empty {name}.")
    for one in claim.earlier:
        if not one.why.strip():
            raise UsageError(
                f"The claim {claim.id!r} in the {where} does not say why it was decided otherwise earlier."
            )


def claim(id: str) -> Claim:
    """The claim with this id.

    >>> claim("copy-k-of-n-learns").statement
    '40 of 60 is learned by every seed'
    """
    known = {known.id: known for known in load_claims()}
    if id not in known:
        close = difflib.get_close_matches(id, known)
        hint = f"close to it are {', '.join(close)}" if close else f"claims are {', '.join(known)}"
        raise UsageError(f"There is no claim {id!r}; {hint}.")
    return known[id]
