"""Sentences translated by a trained translator, with where it looked for each word."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.auditing.network import best_kept_step
from attnlab.data.bitext import LONGEST, Bitext, piece_side
from attnlab.data.bitexts.cleaning import mended
from attnlab.data.piece_batches import marked
from attnlab.data.pieces import BEGIN, END, UNKNOWN
from attnlab.errors import StoreError, UsageError
from attnlab.families.translation.reading import network_at
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.models.decoding import AT_ONCE, BEAM, beam_search
from attnlab.models.decoding import LONGEST as LONGEST_OUTPUT
from attnlab.models.translator import Translator
from attnlab.runs.run import Run
from attnlab.runs.spec import read_stored
from attnlab.runs.store import RunStore


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence and what the network makes of it.

    ``source``, ``target``: pieces, marks included; the network says ``target`` after ``<s>``. ``alpha`` (target,
    source): for each the share of attention of every source piece. ``notes``: what the network did not read.
    """

    sentence: str
    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    alpha: NDArray[np.float32]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TrainedTranslator:
    """A run's network with its weights at ``step``, and the corpus whose pieces it reads."""

    run: Run
    step: int
    model: Translator
    bitext: Bitext

    def translate(
        self, sentences: Sequence[str], *, beam: int = BEAM, longest: int = LONGEST_OUTPUT, attention: bool = True
    ) -> list[Translation]:
        """Every sentence's translation, of at most ``longest`` pieces, by a search with ``beam`` hypotheses.

        An empty sentence's is empty. Without ``attention`` alpha is empty, and time is saved.
        """
        clean = [mended(sentence) for sentence in sentences]
        pieces = self.bitext.pieces
        side = piece_side(pieces, clean)
        whole = np.diff(pieces.encode(clean).offsets)
        there = np.flatnonzero(side.lengths > 0)
        order = there[np.argsort(-side.lengths[there], kind="stable")]
        done = [Translation(one, "", (), (), np.zeros((0, 0), np.float32)) for one in sentences]
        for first in range(0, len(order), AT_ONCE):
            rows = order[first : first + AT_ONCE]
            tokens, lengths = marked(side, rows, before=True, after=True)
            outputs = beam_search(self.model, tokens, lengths, beam=beam, longest=longest)
            for place, (row, output) in enumerate(zip(rows.tolist(), outputs, strict=True)):
                source = tokens[place, : int(lengths[place])]
                alpha = attention_of(self.model, source, output) if attention else done[row].alpha
                done[row] = Translation(
                    sentences[row],
                    pieces.decode(output),
                    tuple(pieces.names[one] for one in source.tolist()),
                    tuple(pieces.names[one] for one in (*output, END)),
                    alpha,
                    _notes(int(whole[row]), source),
                )
        return done


@torch.no_grad()
def attention_of(model: Translator, source: torch.Tensor, output: Sequence[int]) -> NDArray[np.float32]:
    """alpha (output and end mark, source) of an ``output`` without marks, for the input ``source`` (source,)."""
    previous = torch.tensor([[BEGIN, *output]])
    device = model.embedding.device
    alpha = model(source[None].to(device), previous.to(device)).alpha
    assert alpha is not None
    weights: NDArray[np.float32] = alpha[0].float().cpu().numpy()
    return weights


def load_translator(run: Run, step: int | None = None) -> TrainedTranslator:
    """The network of a run on sentence pairs, at its best kept step unless another is named."""
    spec = read_stored(run.spec(), run.id)
    if spec is None:
        raise StoreError(f"{run.path / 'spec.json'} does not describe run {run.id}.")
    task, model = spec.task, spec.model
    if not isinstance(task, BitextSpec) or not isinstance(model, TranslatorSpec):
        raise UsageError(
            f"Run {run.id} is a {model.kind} on the task {task.kind}; only a translator of sentence pairs translates."
        )
    kept = run.steps()
    if step is not None and step not in kept:
        there = ", ".join(map(str, kept)) or "none"
        raise UsageError(f"Run {run.id} has no weights of step {step} (--step); they are kept of {there}.")
    step = best_kept_step(run) if step is None else step
    return TrainedTranslator(run, step, network_at(run, spec, step), task.build())


def translate(
    run: str,
    sentences: Sequence[str],
    *,
    store: str | Path | RunStore = "runs",
    beam: int = BEAM,
    step: int | None = None,
) -> list[Translation]:
    """What the run with this id (or its first characters) in ``store`` makes of ``sentences``.

    ``beam``: hypotheses of the search, 1 is greedy. ``step``: whose weights; the best that were kept if None.

    >>> import tempfile, attnlab as al
    >>> from attnlab import specs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, home = Path(folder, "pairs.txt"), al.RunStore(Path(folder, "runs"))
    ...     _ = file.write_text("".join(f"a {word} house ||| ein {word} Haus\\n" for word in "red old new big".split()))
    ...     task = specs.BitextSpec.of_files(specs.BitextFiles.of(file), pieces=30)
    ...     model = specs.TranslatorSpec(hidden=4, layers=1)
    ...     spec = specs.RunSpec(task=task, model=model, batch=2, init_seed=0, data_seed=0, evaluation_batch=2)
    ...     run = al.train(spec, specs.Schedule.every(5, steps=5, keep="best"), home)
    ...     (made,) = al.translate(run.id, ["an old house"], store=home)
    >>> made.alpha.shape == (len(made.target), len(made.source)), made.source[0], made.source[-1]
    (True, '<s>', '</s>')
    """
    if isinstance(sentences, str):
        raise UsageError(f"Sentences come as a list of texts, such as [{sentences[:40]!r}].")
    home = store if isinstance(store, RunStore) else RunStore(store)
    return load_translator(home.existing(run), step).translate(sentences, beam=beam)


def _notes(whole: int, source: torch.Tensor) -> tuple[str, ...]:
    """What was cut off, and what the network cannot distinguish."""
    notes = []
    if whole > LONGEST:
        notes.append(f"it has {whole} pieces and is cut to {LONGEST}")
    if unknown := int((source == UNKNOWN).sum()):
        notes.append(f"{unknown} of its pieces {'is' if unknown == 1 else 'are'} unknown to the network")
    return tuple(notes)
