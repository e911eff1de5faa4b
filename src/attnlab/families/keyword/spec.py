"""The spec of the keyword task."""

from typing import Literal, Self

from pydantic import model_validator

from attnlab.families.keyword.task import KeywordTask
from attnlab.records import Count, Spec


class KeywordSpec(Spec):
    """Does a keyword occur? See `attnlab.families.keyword.task.KeywordTask`."""

    kind: Literal["keyword"] = "keyword"
    length: Count = 40
    words: Count = 40
    negative: bool = False

    @model_validator(mode="after")
    def _buildable(self) -> Self:
        self.build()
        return self

    def build(self) -> KeywordTask:
        return KeywordTask(self.length, self.words, self.negative)
