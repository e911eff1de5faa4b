"""Runs on a machine that has the package and no data: what they need is sent, and their bits are those of this one."""

import numpy as np
import pytest
from tests.data.test_corpora import TREES, write
from tests.number_pairs import write_numbers
from tests.runs.for_ray import bits
from tests.runs.test_ray_task import hear, order

from attnlab.data.cache import cached_bytes, put_cached
from attnlab.data.labelled_text import load_corpus
from attnlab.families.registry import kept_data
from attnlab.families.teacher import digits, word_vectors
from attnlab.families.teacher.spec import DigitsSpec, StudentSpec, WordVectorsSpec
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, VectorsSpec
from attnlab.families.topics.spec import SstSpec, TopicModelSpec
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.runs.loop import train
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.ray_task import train_on_ray
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

SCHEDULE = Schedule.every(2, steps=4)
SEEDS = {"init_seed": 0, "data_seed": 0}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder with a little treebank, word vectors, and more vectors outside of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "data"))
    for part in ("train", "dev", "test"):
        write(tmp_path / f"data/sst/{part}.txt.gz", "\n".join(TREES * 12))
    numbers = np.random.default_rng(0).normal(size=(4, 5)).round(3)
    lines = [
        " ".join([word, *map(str, row)]) for word, row in zip(("good", "film", "bad", "not"), numbers, strict=True)
    ]
    write(tmp_path / "data/glove/little.txt", "\n".join(lines))
    write(tmp_path / "mine.txt", "\n".join(lines))
    forget()
    yield tmp_path
    forget()


def forget():
    """What a process reads once, another one reads for itself."""
    for read in (digits.digits, word_vectors.corpus_of, word_vectors.vectors_of):
        read.cache_clear()


def sst(_):
    model = TopicModelSpec(classifier="linear", size=6, key_size=3, embedding_std=0.1)
    return RunSpec(task=SstSpec(), model=model, optimiser=SgdSpec(), batch=None, **SEEDS)


def noisy_digits(_):
    task = DigitsSpec(content=digits.digits().content, samples=20, tests=10)
    return RunSpec(task=task, model=StudentSpec(hidden=4), batch=8, **SEEDS)


def vectors(_):
    task = WordVectorsSpec(corpus="sst", content=word_vectors.corpus_of("sst").content, words=3, samples=20, tests=8)
    return RunSpec(task=task, model=StudentSpec(hidden=4), batch=8, **SEEDS)


def classifier(path):
    task = LabelledTextSpec(corpus="sst", content=load_corpus("sst").content)
    model = ClassifierSpec(embedding_size=5, hidden=4, vectors=VectorsSpec.of_file(str(path)))
    return RunSpec(task=task, model=model, batch=8, evaluation_batch=10, **SEEDS)


def pairs(folder):
    task = BitextSpec.of_files(BitextFiles.of(*write_numbers(folder)), pieces=40)
    return RunSpec(task=task, model=TranslatorSpec(hidden=8, layers=1), batch=4, evaluation_batch=20, **SEEDS)


MAKE = {
    "trees": sst,
    "digits": noisy_digits,
    "word vectors": vectors,
    "embeddings from the data folder": lambda _: classifier("glove/little.txt"),
    "embeddings from elsewhere": lambda folder: classifier(folder / "mine.txt"),
    "pairs": lambda folder: pairs(folder / "data"),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_machine_without_data_is_sent_what_a_run_needs(make, data, monkeypatch):
    spec = make(data)
    near, far = RunStore(data / "near"), RunStore(data / "far")
    train(spec, SCHEDULE, near)
    sent = {name: cached_bytes(name) for name in kept_data(spec)}
    assert sent
    assert all(sent.values())
    # Another machine: no data, nothing in its cache but what was sent, nothing read yet.
    for name in ("data", "mine.txt"):
        (data / name).rename(data / f"gone {name}")
    monkeypatch.setenv("ATTNLAB_CACHE", str(data / "other cache"))
    monkeypatch.delenv("ATTNLAB_DATA")
    forget()
    for name, content in sent.items():
        put_cached(name, content)
    events = hear(train_on_ray(order(spec, data, SCHEDULE), [part for name in sent for part in (name, None)]), far)
    assert events[-1]["kind"] == "finished", events[-1]
    assert bits(far) == bits(near)
