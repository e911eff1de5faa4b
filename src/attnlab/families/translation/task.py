"""The task of the translation family: a parallel corpus in pieces."""

from pathlib import Path
from typing import Any, Literal, Self

from attnlab.data.altered_bitext import fewer_pairs, shuffle_targets
from attnlab.data.bitext import LONGEST, PIECES, Bitext, keep_bitext, kept_bitext, load_bitext, load_bitext_files
from attnlab.data.reading import absolute_name
from attnlab.errors import UsageError
from attnlab.files import as_path
from attnlab.records import Count, Record, Seed, Share, Spec


class BitextFiles(Record):
    """Sentence pairs of the user's own: see `attnlab.data.bitext.load_bitext_files`.

    ``target`` is None where ``source`` has both sides. ``validation``: one file or two to validate on.
    """

    source: str
    target: str | None = None
    columns: tuple[str, str] | None = None
    languages: tuple[str, str] = ("source", "target")
    validation: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        source: str | Path,
        target: str | Path | None = None,
        *,
        columns: tuple[str, str] | None = None,
        languages: tuple[str, str] = ("source", "target"),
        validation: tuple[str | Path, ...] = (),
    ) -> Self:
        """The record of files, found again from whichever folder one is in."""
        names = [absolute_name(as_path(path, "A file of sentences")) for path in (source, *validation)]
        other = None if target is None else absolute_name(as_path(target, "A file of sentences"))
        return cls(source=names[0], target=other, columns=columns, languages=languages, validation=tuple(names[1:]))

    def load(self, pieces: int, longest: int) -> Bitext:
        """The bitext, read from the files."""
        return load_bitext_files(
            self.source,
            self.target,
            columns=self.columns,
            languages=self.languages,
            validation=self.validation,
            pieces=pieces,
            longest=longest,
        )


class BitextSpec(Spec):
    """A parallel corpus by name such as ``multi30k/en-de``: see `attnlab.data.bitext.load_bitext`; or ``files`` of
    one's own.

    ``content``: what its pieces and sentences are, in 16 digits; they alone are the task's part of a run's id, and a
    corpus with another content is refused.

    The rest alters that corpus (see `attnlab.data.altered_bitext`) and is part of the id where it does:
    ``training_pairs`` are kept, then the target sentences of a share ``shuffled`` of them are permuted.
    """

    kind: Literal["translation"] = "translation"
    corpus: str
    pieces: Count = PIECES
    longest: Count = LONGEST
    content: str
    files: BitextFiles | None = None
    shuffled: Share = 0.0
    shuffle_seed: Seed = 0
    training_pairs: Count | None = None

    @classmethod
    def of(cls, corpus: str, **settings: Any) -> Self:
        """The record of a known corpus that is there: its content is read."""
        return cls._with_content(cls(corpus=corpus, content="", **settings))

    @classmethod
    def of_files(cls, files: BitextFiles, **settings: Any) -> Self:
        """The record of files that are there. The bitext is kept by its content, so that runs need them no more."""
        name = " and ".join(Path(path).name for path in (files.source, files.target) if path is not None)
        return cls._with_content(cls(corpus=name, content="", files=files, **settings))

    @classmethod
    def _with_content(cls, record: Self) -> Self:
        bitext = record._load()
        if record.files is not None:
            keep_bitext(bitext)
        return record.model_copy(update={"content": bitext.content})

    def identity(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"kind": self.kind, "content": self.content}
        if self.shuffled:
            settings |= {"shuffled": self.shuffled, "shuffle_seed": self.shuffle_seed}
        if self.training_pairs is not None:
            settings["training_pairs"] = self.training_pairs
        return settings

    def keep(self) -> str:
        """Keep the bitext in the cache by its content, for machines without its files; the name of what is kept."""
        return keep_bitext(self._same())

    def build(self) -> Bitext:
        bitext = self._same()
        if self.training_pairs is not None:
            bitext = fewer_pairs(bitext, self.training_pairs)
        return shuffle_targets(bitext, self.shuffled, self.shuffle_seed)

    def _same(self) -> Bitext:
        """The bitext before it is altered, if it is the one that the run was planned for."""
        bitext = kept_bitext(self.content) if self.files is not None else None
        if bitext is None:
            try:
                bitext = self._load()
            except UsageError:  # a machine without the files, to which the bitext itself was sent
                bitext = kept_bitext(self.content)
                if bitext is None:
                    raise
        if bitext.content != self.content:
            raise UsageError(
                f"The bitext {self.corpus} has changed: its content is {bitext.content}, and the run was planned for "
                f"{self.content}; plan it again, or bring the old files back."
            )
        return bitext

    def _load(self) -> Bitext:
        if self.files is not None:
            return self.files.load(self.pieces, self.longest)
        return load_bitext(self.corpus, pieces=self.pieces, longest=self.longest)
