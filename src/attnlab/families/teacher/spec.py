"""Specs of the teacher family: teachers, noisy digits, texts as word vectors, and students of P2's kinds."""

from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from attnlab.data.corpora import data_folder, known_corpus
from attnlab.data.digits import digit_files
from attnlab.data.vectors import find_vectors
from attnlab.families.teacher.examples import Data
from attnlab.families.teacher.teachers import Form, Relevance, Teachers
from attnlab.models.self_attention import Readout, Scale, SelfAttention, TwoLayer, WordAttention
from attnlab.protocols import RunSettings
from attnlab.records import Count, Spec

Positive = Annotated[float, Field(gt=0)]
Precision = Literal["single", "double"]
DTYPES = {"single": torch.float32, "double": torch.float64}


class TeacherSpec(Spec):
    """A teacher and a sample of it: see `attnlab.families.teacher.teachers`.

    ``inputs``: p features or words. ``relevant``: s0 of them. ``size``: t, ``value_size``: d_v and ``layers`` are of
    teachers with words. ``hidden``: d. ``samples``: n. ``tests``: inputs to test on. ``problems``: how many teachers,
    each with a sample and a student of its own, are learned side by side; their seeds count upwards from the run's.
    """

    kind: Literal["teacher"] = "teacher"
    form: Form = "features"
    relevance: Relevance = "fixed"
    inputs: Count = 50
    relevant: Count = 5
    size: Count = 6
    hidden: Count = 10
    value_size: Count = 4
    layers: Count = 1
    noise: Annotated[float, Field(ge=0)] = 0.3
    tau0: Positive = 10.0
    samples: Count
    tests: Count = 2000
    problems: Count = 1

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.relevant > self.inputs:
            raise ValueError(f"s0 = {self.relevant} relevant features of p = {self.inputs}: s0 is at most p")
        if self.form == "words":
            if self.relevance == "softmax":
                raise ValueError("relevance = softmax is for features; words have fixed or input")
            if self.size < 3:
                raise ValueError("size: a word has its kind, a 1 and content, so t is at least 3")
            if self.layers > 1 and self.value_size < 3:
                raise ValueError(
                    "value_size: several layers hand on a word's kind, a 1 and content, so d_v is at least 3"
                )
        if self.form == "features" and self.layers > 1:
            raise ValueError("layers: a teacher with features has one")
        return self

    def teachers(self, precision: Precision = "single") -> Teachers:
        """The teachers that it describes."""
        shared = self.model_dump(exclude={"kind", "samples", "tests", "problems"})
        return Teachers(**shared, dtype=DTYPES[precision])

    def data(self, seed: int, precision: Precision) -> Data:
        seeds = range(seed, seed + self.problems)
        return self.teachers(precision).data(self.samples, self.tests, seeds)


class DigitsSpec(Spec):
    """Noisy digits: see `attnlab.families.teacher.digits`. ``content``: what the digits are, in 16 digits."""

    kind: Literal["digits"] = "digits"
    content: str
    samples: Count
    tests: Count = 1000
    noise: Annotated[float, Field(ge=0)] = 0.3
    problems: Count = 1

    def reads(self) -> list[Path]:
        """Those that it reads: none where the digits are scikit-learn's."""
        return digit_files()

    def data(self, seed: int, precision: Precision) -> Data:
        from attnlab.families.teacher.digits import digit_data

        return digit_data(self, seed, DTYPES[precision])


class WordVectorsSpec(Spec):
    """Texts as fixed word vectors: see `attnlab.families.teacher.word_vectors`.

    ``content``: what the texts are, in 16 digits. ``words``: p, the first so many of each text.
    """

    kind: Literal["word-vectors"] = "word-vectors"
    corpus: str
    content: str
    words: Count = 25
    samples: Count
    tests: Count = 1000
    problems: Count = 1

    def reads(self) -> list[Path]:
        """Those that it reads: the corpus' own, and word vectors."""
        root = data_folder(None)
        found = known_corpus(self.corpus).find(root)
        return [*(() if found is None else (*found.train, *found.test)), find_vectors(root)]

    def data(self, seed: int, precision: Precision) -> Data:
        from attnlab.families.teacher.word_vectors import text_data

        return text_data(self, seed, DTYPES[precision])


class StudentSpec(Spec):
    """A network of P2's kinds: see `attnlab.models.self_attention`.

    ``network``: ``baseline``; ``known``, with the teacher's own f or one that keeps the first ``kept`` features;
    ``attention``. ``tau0`` None: ReLU. ``starts``: how many are trained side by side on the same sample, with seeds
    that count upwards from the run's. ``steps``: what an update is, a step of the run's optimiser or one to
    stationarity (`attnlab.families.teacher.newton`). ``ridge``: the latter's objective has this times half the squared
    norm of all parameters.
    """

    kind: Literal["student"] = "student"
    network: Literal["baseline", "known", "attention"] = "baseline"
    hidden: Count = 10
    query_size: Count = 4
    value_size: Count = 4
    layers: Count = 1
    heads: Count = 1
    scale: Scale = "d_q"
    readout: Readout = "vec"
    attention: WordAttention = "learned"
    kept: Count | None = None
    tau0: Positive | None = 10.0
    starts: Count = 1
    steps: Literal["gradient", "newton", "saddle"] = "gradient"
    ridge: Annotated[float, Field(ge=0)] = 0.0
    precision: Precision = "single"

    @model_validator(mode="after")
    def _shared_evenly(self) -> Self:
        if self.value_size % self.heads:
            raise ValueError(f"{self.heads} heads share the values evenly; a value_size of {self.value_size} cannot be")
        return self

    def build(self, task: Spec, data: Data, seeds: range) -> TwoLayer | SelfAttention:
        outputs, dtype = data.classes or 1, DTYPES[self.precision]
        shape = data.train.x.shape[2:]
        if self.network != "attention":
            weigh = None
            if self.network == "known":
                assert isinstance(task, TeacherSpec)
                known = task if self.kept is None else task.model_copy(update={"relevant": self.kept})
                weigh = known.teachers().weigh()
            return TwoLayer(shape.numel(), self.hidden, outputs, weigh=weigh, tau0=self.tau0, seeds=seeds, dtype=dtype)
        shared = self.model_dump(include={"layers", "heads", "scale", "readout", "attention", "tau0"})
        return SelfAttention(
            shape[1], shape[0], self.query_size, self.value_size, self.hidden, outputs, seeds=seeds, dtype=dtype,
            **shared,
        )  # fmt: skip


def check_student(spec: RunSettings) -> None:
    """A ValueError where a student cannot learn its task."""
    task, model = spec.task, spec.model
    assert isinstance(model, StudentSpec)
    of_words = not isinstance(task, TeacherSpec) or task.form == "words"
    if model.network == "known" and of_words:
        raise ValueError("network = known needs a teacher of features: only there is f known")
    if model.kept is not None and not (isinstance(task, TeacherSpec) and model.kept <= task.inputs):
        raise ValueError(f"kept = {model.kept} features, but there are not so many")
    if model.network == "attention" and not of_words:
        raise ValueError("network = attention needs words; a teacher of features has baseline and known")
    if spec.train != "all":
        raise ValueError(f"train = {spec.train} is not for students: all of a student is trained")
    if model.starts > 1 and getattr(task, "problems", 1) > 1:
        raise ValueError("starts and problems cannot both be more than 1: networks side by side differ in one of them")
    if model.steps == "saddle" and model.network == "attention":
        raise ValueError("steps = saddle is for baseline and known attention, whose Hessians are cheap")
    if model.steps != "gradient":
        if model.precision != "double":
            raise ValueError(
                f"steps = {model.steps} needs precision = double: gradients of 1e-6 are below what single has"
            )
        if not isinstance(task, TeacherSpec) or model.tau0 is None:
            raise ValueError(
                f"steps = {model.steps} needs a teacher and a smooth network: second derivatives are taken"
            )
        if spec.batch is not None or spec.optimiser.kind != "sgd" or spec.optimiser.learning_rate != 1:
            raise ValueError(
                f"steps = {model.steps} needs batch = null and the optimiser sgd with a learning rate of 1"
            )
