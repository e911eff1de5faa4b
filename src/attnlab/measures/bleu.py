"""BLEU by sacrebleu, with the signature that says how it was counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU

from attnlab.errors import UsageError


@dataclass(frozen=True)
class Bleu:
    """``score`` from 0 to 100, and sacrebleu's ``signature``: without it a score compares with nothing."""

    score: float
    signature: str

    def __str__(self) -> str:
        return f"BLEU {self.score:.2f} ({self.signature})"


def bleu(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """Corpus BLEU of translations against one reference each, with sacrebleu's own tokens (13a), case kept.

    >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score
    100.0
    """
    if len(translations) != len(references):
        raise UsageError(f"Every translation needs its reference: there are {len(translations)} and {len(references)}.")
    if not translations:
        raise UsageError("There are no translations to compare.")
    metric = BLEU()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Bleu(round(float(score), 10), str(metric.get_signature()))
