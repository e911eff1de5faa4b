"""What tests of the experiments on translation share: little corpora of our own, runs of a few updates."""

from contextlib import contextmanager

import pytest
from tests.captions import write_aligned, write_captions

from attnlab.experiments.bitexts import corpora
from attnlab.experiments.bitexts.corpora import Size
from attnlab.experiments.knowledge_first import stages
from attnlab.families.translation import pieces


@contextmanager
def little_corpora(folder):
    """ATTNLAB_DATA with captions, and presets so small that a row takes seconds: the real network, a few sentences."""
    write_aligned(write_captions(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_DATA", str(folder))
        patch.setitem(corpora.SIZES, "quick", Size(reference=6, others=6, passes=1))
        patch.setitem(corpora.PAIRS, "quick", 8)
        patch.setattr(corpora, "FIRST", (0, 2, 4))
        forget()
        yield patch
    forget()


def forget():
    """Corpora are read once a process; those of another folder must not be taken for them."""
    for kept in (pieces.task_of, pieces.bitext_of, stages._ibm1):
        kept.cache_clear()
