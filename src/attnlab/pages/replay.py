"""Attention through training: what a few runs looked at, evaluation by evaluation, in 8 bits a value.

A `Film` is one run. A share v, such as attention, is kept as round(255 √v): small shares keep their differences, and
the byte is how dark it is drawn. A signed value v between -1 and 1 is kept as 128 + round(127 v).
"""

import json
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attnlab.errors import UsageError
from attnlab.files import as_path, check_outputs

Bytes = NDArray[np.uint8]
Kind = Literal["matrix", "texts"]
CAPTION = (
    "Rows are output words, columns input words. Darker: more attention; a dot: a row's largest. Lexical probe: the "
    "chance of the right output word if attention looked at that input word alone, divided by its sum."
)
MOST_INPUTS = 255
"""Input words of a matrix: a position is one byte."""
MOST_BYTES = 2**25
"""Values of all films of a replay, unpacked."""


@dataclass(frozen=True, eq=False)
class Shown:
    """One field of a film: ``values`` (steps, cells), coded; ``tops`` (steps, outputs): where each row is largest, of a
    matrix. ``signed``: values lie around 0.
    """

    name: str
    values: Bytes
    tops: Bytes | None = None
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Film:
    """One run, at the evaluations ``steps``.

    Of a matrix, a field's cells are (outputs, inputs), row after row, and ``words`` has one list, the inputs. Of texts,
    cells are the words of all texts, one after another. ``numbers``: what else was measured, by name, (steps,) each.
    """

    name: str
    kind: Kind
    steps: tuple[int, ...]
    words: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]
    fields: tuple[Shown, ...]
    caption: str = ""
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Values of a field at one step."""
        inputs = sum(map(len, self.words))
        return inputs * len(self.outputs) if self.kind == "matrix" else inputs


@dataclass(frozen=True, eq=False)
class Replay:
    """Films side by side, moved by one slider."""

    title: str
    films: tuple[Film, ...]
    caption: str = ""

    @property
    def steps(self) -> tuple[int, ...]:
        """Of all films, in order."""
        return tuple(sorted({step for film in self.films for step in film.steps}))

    def values(self) -> bytes:
        """Film after film, field after field: its values, then its tops."""
        parts = [
            part.tobytes()
            for film in self.films
            for one in film.fields
            for part in (one.values, one.tops)
            if part is not None
        ]
        return b"".join(parts)

    def about(self) -> dict[str, Any]:
        """All but the values."""
        return {
            "title": self.title,
            "caption": self.caption,
            "films": [
                {
                    "name": film.name,
                    "caption": film.caption,
                    "kind": film.kind,
                    "steps": list(film.steps),
                    "words": [list(text) for text in film.words],
                    "outputs": list(film.outputs),
                    "fields": [{"name": one.name, "signed": one.signed} for one in film.fields],
                    "numbers": {name: list(values) for name, values in film.numbers.items()},
                }
                for film in self.films
            ],
        }

    def save(self, path: str | Path) -> Path:
        """Write it as a page of its own."""
        from attnlab.pages.page import Section, write_page
        from attnlab.pages.replay_component import replay_component

        place = as_path(path, "A file to write")
        check_outputs([place])
        write_page(place, self.title, "", [Section("", component=replay_component(self))])
        return place

    def to_bytes(self) -> bytes:
        """As a result's folder keeps it; the same replay gives the same bytes."""
        values = b64encode(zlib.compress(self.values(), 9)).decode()
        return json.dumps({**self.about(), "values": values}, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def shares(values: NDArray[np.floating]) -> Bytes:
    """Shares between 0 and 1 in 8 bits.

    >>> shares(np.array([0.0, 0.25, 1.0])).tolist()
    [0, 128, 255]
    """
    coded: Bytes = np.rint(255 * np.sqrt(np.clip(np.nan_to_num(values), 0, 1))).astype(np.uint8)
    return coded


def signed(values: NDArray[np.floating]) -> Bytes:
    """Values between -1 and 1 in 8 bits.

    >>> signed(np.array([-1.0, 0.0, 0.5])).tolist()
    [1, 128, 192]
    """
    coded: Bytes = np.rint(128 + 127 * np.clip(np.nan_to_num(values), -1, 1)).astype(np.uint8)
    return coded


def matrix_field(name: str, values: NDArray[np.floating]) -> Shown:
    """Of rows of shares (steps, outputs, inputs)."""
    if values.ndim != 3 or values.shape[2] > MOST_INPUTS:
        raise UsageError(f"A matrix to show has at most {MOST_INPUTS} input words at each step, not {values.shape}.")
    tops = values.argmax(2).astype(np.uint8)
    return Shown(name, shares(values).reshape(len(values), -1), tops)


# --- as a result's folder keeps it


class _Field(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    signed: bool


class _Film(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    caption: str
    kind: Kind
    steps: list[int] = Field(min_length=1)
    words: list[list[str]] = Field(min_length=1)
    outputs: list[str]
    fields: list[_Field] = Field(min_length=1)
    numbers: dict[str, list[float]]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    caption: str
    films: list[_Film] = Field(min_length=1)
    values: str


def read_replay(data: bytes, name: str) -> Replay:
    """What `Replay.to_bytes` wrote; anything else is refused in a sentence that begins with ``name``."""
    try:
        document = _Document.model_validate_json(data, strict=True)
        unpacking = zlib.decompressobj()
        values = unpacking.decompress(b64decode(document.values, validate=True), MOST_BYTES)
        if not unpacking.eof:
            raise ValueError("its values are cut short, or more than a page can hold")
        films, left = [], memoryview(values)
        for one in document.films:
            film, left = _film(one, left)
            films.append(film)
        if left:
            raise ValueError(f"it has {len(left)} values too many")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{name} is no replay ({place}: {first['msg']}); make it again.") from None
    except (ValueError, RecursionError, zlib.error, NoBase64) as error:
        raise UsageError(f"{name} is no replay ({str(error)[:100]}); make it again.") from None
    return Replay(document.title, tuple(films), document.caption)


def _film(read: _Film, values: memoryview) -> tuple[Film, memoryview]:
    if read.steps != sorted(set(read.steps)) or read.steps[0] < 0:
        raise ValueError("its steps are not in rising order")
    if any(len(numbers) != len(read.steps) for numbers in read.numbers.values()):
        raise ValueError("a number is not there at every step")
    if read.kind == "matrix" and (len(read.words) != 1 or not 0 < len(read.words[0]) <= MOST_INPUTS):
        raise ValueError(f"a matrix has one list of 1 to {MOST_INPUTS} input words")
    words = tuple(map(tuple, read.words))
    film = Film(
        read.name,
        read.kind,
        tuple(read.steps),
        words,
        tuple(read.outputs),
        (),
        read.caption,
        {name: tuple(numbers) for name, numbers in read.numbers.items()},
    )
    shown = []
    for one in read.fields:
        cells, values = _taken(values, len(read.steps), film.cells)
        tops = None
        if read.kind == "matrix":
            tops, values = _taken(values, len(read.steps), len(read.outputs))
            if tops.size and tops.max() >= len(words[0]):
                raise ValueError("a row is largest outside its input")
        shown.append(Shown(one.name, cells, tops, one.signed))
    return Film(**{**vars(film), "fields": tuple(shown)}), values


def _taken(values: memoryview, steps: int, cells: int) -> tuple[Bytes, memoryview]:
    if len(values) < steps * cells:
        raise ValueError("it has too few values")
    return np.frombuffer(values[: steps * cells], np.uint8).reshape(steps, cells), values[steps * cells :]


def thinned(steps: Sequence[int], most: int = 24) -> list[int]:
    """At most so many of the steps, the first and the last among them, dense where training begins.

    >>> thinned(range(0, 1010, 10), most=6)
    [0, 40, 160, 360, 640, 1000]
    """
    if len(steps) <= most:
        return list(steps)
    places = np.rint((len(steps) - 1) * np.linspace(0, 1, most) ** 2).astype(int)
    return [steps[place] for place in dict.fromkeys(places.tolist())]
