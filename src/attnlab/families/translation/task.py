"""The task of the translation family: a parallel corpus in pieces."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from attnlab.data.altered_bitext import fewer_pairs, shuffle_targets
from attnlab.data.bitext import LONGEST, PIECES, Bitext, load_bitext, load_bitext_files
from attnlab.errors import UsageError
from attnlab.records import Count, Seed, Share, Spec


class BitextSpec(Spec):
    """A parallel corpus by name such as ``multi30k/en-de``: see `attnlab.data.bitext.load_bitext`.

    ``content``: what its pieces and sentences are, in 16 digits; they alone are the task's part of a run's id, and a
    corpus with another content is refused. ``files``, ``columns``: where ``corpus`` is no known name, those of a
    user's own (see `load_bitext_files`).

    The rest alters that corpus (see `attnlab.data.altered_bitext`) and is part of the id where it does:
    ``training_pairs`` are kept, then the target sentences of a share ``shuffled`` of them are permuted.
    """

    kind: Literal["translation"] = "translation"
    corpus: str
    pieces: Count = PIECES
    longest: Count = LONGEST
    content: str
    files: Annotated[tuple[str, ...], Field(max_length=2)] = ()
    columns: tuple[str, str] | None = None
    shuffled: Share = 0.0
    shuffle_seed: Seed = 0
    training_pairs: Count | None = None

    @classmethod
    def of(cls, corpus: str, **settings: Any) -> Self:
        """The record of a corpus that is there: its content is read."""
        return cls(corpus=corpus, content=cls(corpus=corpus, content="", **settings)._load().content, **settings)

    def identity(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"kind": self.kind, "content": self.content}
        if self.shuffled:
            settings |= {"shuffled": self.shuffled, "shuffle_seed": self.shuffle_seed}
        if self.training_pairs is not None:
            settings["training_pairs"] = self.training_pairs
        return settings

    def build(self) -> Bitext:
        bitext = self._load()
        if bitext.content != self.content:
            raise UsageError(
                f"The bitext {self.corpus} has changed: its content is {bitext.content}, and the run was planned for "
                f"{self.content}; plan it again, or bring the old files back."
            )
        if self.training_pairs is not None:
            bitext = fewer_pairs(bitext, self.training_pairs)
        return shuffle_targets(bitext, self.shuffled, self.shuffle_seed)

    def _load(self) -> Bitext:
        if not self.files:
            return load_bitext(self.corpus, pieces=self.pieces, longest=self.longest)
        source, target = self.files[0], self.files[1] if len(self.files) == 2 else None
        return load_bitext_files(source, target, columns=self.columns, pieces=self.pieces, longest=self.longest)
