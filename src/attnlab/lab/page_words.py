"""What a page says beside a result's own figures, from the ``page.toml`` of the experiment's folder: the question, the
answer with numbers filled in, captions, and what the papers show.
"""

import tomllib
from collections.abc import Sequence
from importlib import resources
from math import exp

from pydantic import BaseModel, ConfigDict

from attnlab.lab.claims import Finding
from attnlab.lab.paper_figure import PaperFigure
from attnlab.lab.wording import corpus_called
from attnlab.lab.written import WrittenResult


class PageWords(BaseModel):
    """What the page of an experiment's result says of itself.

    ``answer``: two sentences; numbers are filled in from the result: ``{claim_id.effect:.0%}``, ``{claim_id.low}``,
    ``{claim_id.high}``, or of one part ``{claim_id[0].effect}``, with underscores for the id's hyphens. ``name`` and
    ``detail`` are a part's own words. How a number is written: `Number`.
    ``row_answer``: a sentence for each row that was run, ``{corpus}`` its name, after an answer over all of them.
    ``captions``: what each figure shows, by its name, in the order in which they are to be read; ``first`` names
    the one that answers the question, if that is another than the first. ``paper``: what the papers show.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = ""
    answer: str = ""
    row_answer: str = ""
    captions: dict[str, str] = {}
    first: str = ""
    paper: tuple[PaperFigure, ...] = ()

    def answer_for(self, result: WrittenResult) -> str:
        """The answer with this result's numbers; "" for a result that lacks one, and for a few runs at ``quick``.

        An answer is written for what many seeds have shown, so it must not be read off a few.
        """
        return "" if result.preset == "quick" else filled(self.answer, result)

    def answer_over(self, results: Sequence[WrittenResult], *, whole: bool) -> str:
        """The answer over all rows if they are ``whole``, then a sentence for each; rows at ``quick`` say nothing."""
        said = [self.answer] if whole else []
        said += [filled(self.row_answer, result) for result in results if result.preset != "quick"]
        return " ".join(filter(None, said))


def filled(pattern: str, result: WrittenResult) -> str:
    """A pattern with a result's numbers; "" where it lacks one."""
    numbers = {entry.claim.replace("-", "_"): Numbers(entry) for entry in result.findings() if entry.parts}
    try:
        return pattern.format(corpus=corpus_called(result.row), **numbers)
    except (KeyError, IndexError, TypeError):  # no such claim, no such part, or an effect or interval that is None
        return ""


class Number(float):
    """A number as a pattern writes it: as Python does, in points (``.0p``), or as the ratio of which it is the
    logarithm, to base 2 (``2^.1f``) or e (``e^.1f``).

    >>> f"{Number(-0.125):.0p} {Number(-0.125):+.1p} {Number(3):2^.0f} {Number(0):e^.1f} {Number(0.5):.0%}"
    '-12 -12.5 8 1.0 50%'
    """

    def __format__(self, how: str) -> str:
        if how.startswith("2^"):
            return format(2.0 ** float(self), how[2:])
        if how.startswith("e^"):
            return format(exp(self), how[2:])
        return format(100 * float(self), f"{how[:-1]}f") if how.endswith("p") else format(float(self), how)


class Numbers:
    """The numbers of a finding as an answer's placeholders name them: of the part that decides, or of part ``[k]``."""

    def __init__(self, finding: Finding) -> None:
        self.finding, self.verdict = finding, finding.verdict
        deciding = next((part for part in finding.parts if part.verdict == finding.verdict), finding.parts[0])
        self.part = deciding
        self.name, self.detail = deciding.name, deciding.detail
        low, high = deciding.interval or (deciding.effect, deciding.effect)
        self.effect, self.low, self.high = (
            None if one is None else Number(one) for one in (deciding.effect, low, high)
        )

    def __getitem__(self, k: int) -> "Numbers":
        return Numbers(Finding(self.finding.claim, (self.finding.parts[k],)))


def page_words(experiment: str) -> PageWords:
    """Those of ``experiment``; empty for one that has no ``page.toml``, such as a user's own."""
    file = resources.files("attnlab.experiments").joinpath(experiment.replace("-", "_"), "page.toml")
    return PageWords.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else PageWords()
