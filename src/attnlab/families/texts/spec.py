"""Specs of the texts family: a corpus of labelled texts, the classifier of P3 2.4, the bag-of-words proxy of P3 2.3."""

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import Field

from attnlab.data.altered import add_ends, remove_keywords, shuffle_labels
from attnlab.data.corpora import data_folder
from attnlab.data.labelled_text import Corpus, keep_corpus, kept_corpus, load_corpus, load_file
from attnlab.data.own_file import parse_groups
from attnlab.data.reading import absolute_name
from attnlab.data.tokens import VocabularyRule
from attnlab.data.vectors import read_vectors
from attnlab.errors import UsageError
from attnlab.files import as_path
from attnlab.models.classifier import Classifier, TextAttention, TextScore
from attnlab.models.proxy import TextProxy
from attnlab.models.recurrent import Cell
from attnlab.records import Count, Record, Seed, Share, Spec


class TextFile(Record):
    """A file of labelled texts of the user's own, and what of it is meant: see `attnlab.data.labelled_text.load_file`.

    ``groups``: pairs of a label and its class.
    """

    path: str
    text: str = "text"
    label: str = "label"
    groups: tuple[tuple[str, str], ...] = ()
    valid: str | None = None
    longest: Count | None = None

    @classmethod
    def of(
        cls,
        path: Path,
        *,
        text: str = "text",
        label: str = "label",
        groups: str | Mapping[str, str] | None = None,
        valid: Path | None = None,
        longest: int | None = None,
    ) -> Self:
        """The record of a file, found again from whichever folder one is in."""
        pairs = tuple((parse_groups(groups) or {}).items())
        files = [None if one is None else absolute_name(one) for one in (path, valid)]
        return cls(path=files[0], text=text, label=label, groups=pairs, valid=files[1], longest=longest)

    def load(self) -> Corpus:
        """The corpus, read from the file."""
        return load_file(
            Path(self.path),
            text=self.text,
            label=self.label,
            groups=dict(self.groups) or None,
            valid=None if self.valid is None else Path(self.valid),
            longest=self.longest,
        )


class LabelledTextSpec(Spec):
    """A corpus of labelled texts by name: see `attnlab.data.labelled_text.load_corpus`; or a ``file`` of one's own.

    ``content``: what its texts are, in 16 digits; they alone are the task's part of a run's id, and a corpus with
    another content is refused.

    The rest alters that corpus (see `attnlab.data.altered`) and is part of the id where it does: ``without_keywords``
    that many words are removed, then a share ``shuffled`` of the training labels is, as ``shuffle_seed`` draws them.
    ``ends``: texts have a mark at their begin and one at their end.
    """

    kind: Literal["text"] = "text"
    corpus: str
    vocabulary: VocabularyRule = "text"
    content: str
    shuffled: Share = 0.0
    shuffle_seed: Seed = 0
    without_keywords: Annotated[int, Field(ge=0)] = 0
    ends: bool = False
    file: TextFile | None = None

    @classmethod
    def of_file(cls, path: str | Path, **settings: Any) -> Self:
        """The record of a file that is there; ``settings``: those of `TextFile`. The corpus is kept by its content."""
        file = TextFile.of(as_path(path, "A file of labelled texts"), **settings)
        corpus = file.load()
        keep_corpus(corpus)
        return cls(corpus=corpus.name, content=corpus.content, file=file)

    def identity(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"kind": self.kind, "content": self.content}
        if self.shuffled:
            settings |= {"shuffled": self.shuffled, "shuffle_seed": self.shuffle_seed}
        if self.without_keywords:
            settings["without_keywords"] = self.without_keywords
        return settings | ({"ends": True} if self.ends else {})

    def keep(self) -> str:
        """Keep the corpus in the cache by its content, for machines without its files; the name of what is kept."""
        return keep_corpus(self._load())

    def build(self) -> Corpus:
        corpus = self._load()
        corpus = shuffle_labels(remove_keywords(corpus, self.without_keywords), self.shuffled, self.shuffle_seed)
        return add_ends(corpus) if self.ends else corpus

    def _load(self) -> Corpus:
        if self.file is not None:
            corpus = kept_corpus(self.content) or self.file.load()
        else:
            try:
                corpus = load_corpus(self.corpus, vocabulary=self.vocabulary)
            except UsageError:  # a machine without the files, to which the corpus itself was sent
                kept = kept_corpus(self.content)
                if kept is None:
                    raise
                corpus = kept
        if corpus.content != self.content:
            raise UsageError(
                f"The corpus {self.corpus} has changed: its content is {corpus.content}, and the run was planned for "
                f"{self.content}; plan it again, or bring the old files back."
            )
        return corpus


class VectorsSpec(Record):
    """A file of word vectors in GloVe's form, below the folder that ATTNLAB_DATA names unless its path is absolute.

    ``content``, 16 digits of its hash, is its part of a run's id; a file with another content is refused.
    """

    path: str
    content: str

    @classmethod
    def of_file(cls, path: str) -> Self:
        """The record of a file that is there."""
        return cls(path=path, content=_content(data_folder(None) / path))

    def identity(self) -> dict[str, Any]:
        return {"content": self.content}

    def file(self) -> Path:
        """Where it is; on a machine that was sent it, in the data folder."""
        path = data_folder(None) / self.path
        sent = data_folder(None) / path.name
        return sent if sent.is_file() and not path.is_file() else path

    def read(self, words: tuple[str, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        """The ids of those ``words`` that have a vector, and their vectors: (n,), (n, size)."""
        path = self.file()
        if (content := _content(path)) != self.content:
            raise UsageError(
                f"{path} has changed: its content is {content}, and the run was planned for {self.content}."
            )
        vectors = read_vectors(path, words)
        return torch.from_numpy(vectors.ids), torch.from_numpy(vectors.matrix)


def _content(path: Path) -> str:
    if not path.is_file():
        raise UsageError(f"There is no file of word vectors {path}.")
    with path.open("rb") as data:
        return file_digest(data, "sha256").hexdigest()[:16]


class ClassifierSpec(Spec):
    """The network of P3 2.4: see `attnlab.models.classifier.Classifier`."""

    kind: Literal["classifier"] = "classifier"
    embedding_size: Count = 300
    hidden: Count = 256
    cell: Cell = "lstm"
    score: TextScore = "mlp"
    bidirectional: bool = True
    attention: TextAttention = "learned"
    vectors: VectorsSpec | None = None

    def reads(self) -> list[Path] | None:
        """Those that it reads."""
        return None if self.vectors is None else [self.vectors.file()]

    def build(self, words: tuple[str, ...], classes: int, seed: int) -> Classifier:
        settings = self.model_dump(exclude={"kind", "vectors"})
        vectors = None if self.vectors is None else self.vectors.read(words)
        return Classifier(len(words), classes, seed=seed, vectors=vectors, **settings)


class ProxySpec(Spec):
    """The bag-of-words proxy of P3 2.3 on labelled texts: see `attnlab.models.proxy.TextProxy`."""

    kind: Literal["proxy"] = "proxy"
    size: Count = 256

    def build(self, words: int, classes: int, seed: int) -> TextProxy:
        return TextProxy(words, classes, self.size, seed=seed)
