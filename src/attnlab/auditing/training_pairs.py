"""The papers' translator on sentence pairs: the run spec and the schedule of `attnlab train` for a parallel corpus."""

from pathlib import Path
from typing import Any, Literal

from attnlab.auditing.translating import load_translator
from attnlab.data.bitext import LONGEST, PIECES, Bitext
from attnlab.families.texts.stopping import NoImprovement
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.measures.bleu import Bleu, bleu
from attnlab.runs.run import Run
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

Attention = Literal["learned", "uniform"]
BATCH, PAIRS = 16, 1000
"""Pairs of an update (P3 A.8), and validation pairs that evaluations read at most."""
LEAST, MOST = 25, 500
"""Updates between two evaluations."""


def bitext_task(
    source: str,
    target: Path | None = None,
    *,
    known: bool,
    columns: tuple[str, str] | None = None,
    pieces: int = PIECES,
    longest: int = LONGEST,
) -> tuple[BitextSpec, Bitext]:
    """The task of a ``known`` bitext by its name, or of files of one's own, and its sentences."""
    sizes: dict[str, Any] = {"pieces": pieces, "longest": longest}
    if known:
        task = BitextSpec.of(source, **sizes)
    else:
        task = BitextSpec.of_files(BitextFiles.of(source, target, columns=columns), **sizes)
    return task, task.build()


def translator_spec(task: BitextSpec, *, attention: Attention = "learned", seed: int = 0) -> RunSpec:
    """P3's translator on these pairs, as the experiments train it."""
    model = TranslatorSpec(attention=attention)
    return RunSpec(task=task, model=model, batch=BATCH, evaluation_batch=PAIRS, init_seed=seed, data_seed=seed)


def pairs_schedule(pairs: int, steps: int, patience: int) -> Schedule:
    """At most ``steps`` updates; measured about once each pass over so many training ``pairs``, and ended once the
    validation loss has not improved for ``patience`` evaluations. The best weights are kept.
    """
    every = min(max(-(-pairs // BATCH), LEAST), MOST)
    rule = NoImprovement(patience=patience)
    return Schedule.every(every, steps=steps, checkpoint_every=every, keep="best", give_up=rule)


def validation_bleu(run: Run, beam: int = 5, most: int = PAIRS) -> Bleu:
    """BLEU of a run's best kept weights on the first ``most`` validation pairs."""
    translator = load_translator(run)
    held_out = translator.bitext.validation
    texts, references = held_out.source.texts()[:most], held_out.target.texts()[:most]
    return bleu([made.text for made in translator.translate(texts, beam=beam, attention=False)], references)
