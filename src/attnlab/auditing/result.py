"""What an audit found, and its files: a page, all numbers as JSON, tables as CSV and Parquet."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from attnlab.auditing.card import Card
from attnlab.auditing.findings import DataFindings
from attnlab.auditing.numbers import Number, Numbers
from attnlab.auditing.pairs.findings import PairFindings
from attnlab.errors import UsageError
from attnlab.files import as_path, write_atomically
from attnlab.runs import tables
from attnlab.theory.forecast import Forecast

FILES = ("audit.html", "audit.json", "card.csv", "numbers.csv", "numbers.parquet")
"""What is written into an audit's folder beside ``fields/``."""


@dataclass(frozen=True)
class Example:
    """A text with the attention of the first network and of its farthest twin, for the page."""

    label: str
    words: tuple[str, ...]
    alpha: tuple[float, ...]
    twin: tuple[float, ...] | None


@dataclass(frozen=True)
class PairExample:
    """A sentence pair in pieces, marks included, with the attention (target, source) of the first network and of its
    farthest twin, for the page.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alpha: tuple[tuple[float, ...], ...]
    twin: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class Audit:
    """An audit: its ``card``, the ``numbers`` behind it, and what was found in the data (None for a model that was
    brought along). ``settings``: what it was made with. ``made``: when, the only thing that two audits of the same data
    on the same machine differ in. ``kind``: of labelled texts or of sentence pairs.
    """

    name: str
    card: Card
    numbers: Numbers
    findings: DataFindings | PairFindings | None = None
    forecast: Forecast | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Example | PairExample, ...] = ()
    made: str = ""
    kind: Literal["texts", "pairs"] = "texts"

    def to_json(self) -> dict[str, Any]:
        """All of it but the examples, as plain values."""
        return {
            "data": self.name,
            "kind": self.kind,
            "card": self.card.to_json(),
            "numbers": self.numbers.to_json(),
            "findings": None if self.findings is None else asdict(self.findings),
            "forecast": None if self.forecast is None else self.forecast.to_json(),
            "settings": dict(self.settings),
            "made": self.made,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Every number as a row: what it is, its value, interval, chance level and texts."""
        numbers = self.numbers
        named: dict[str, Number] = {
            "accuracy": numbers.accuracy,
            "concentration of attention": numbers.concentration,
            **{f"A({name})": one.top for name, one in numbers.compared.items()},
            **{f"tau({name})": one.tau for name, one in numbers.compared.items()},
            **numbers.erased,
        }
        if numbers.seeds_jsd is not None and numbers.seeds_tvd is not None:
            named |= {
                "attention of two seeds, JSD": numbers.seeds_jsd,
                "predictions of two seeds, TVD": numbers.seeds_tvd,
            }
        for twin in numbers.twins:
            name = f"twin, lambda {twin.weight:g}"
            named |= {f"{name}, JSD": twin.jsd, f"{name}, TVD": twin.tvd}
            named |= {
                f"{name}, A(attention, {twin.against})": twin.top,
                f"{name}, tau(attention, {twin.against})": twin.tau,
            }
        return [{"what": name, **vars(number)} for name, number in named.items()]

    def save(self, path: str | Path) -> Path:
        """Write one file: a page (.html), all numbers (.json, .csv or .parquet)."""
        path = as_path(path, "A file to write")
        ending = path.suffix.lower()
        if ending == ".html":
            from attnlab.auditing.page import write_audit_page

            write_audit_page(path, self)
        elif ending == ".json":
            text = json.dumps(self.to_json(), indent=2, ensure_ascii=True)
            write_atomically(path, text.encode())
        elif ending == ".csv":
            write_atomically(path, to_csv(self.rows()))
        elif ending == ".parquet":
            write_atomically(path, tables.to_parquet(pa.Table.from_pylist(self.rows())))
        else:
            raise UsageError(f"An audit is saved as .html, .json, .csv or .parquet, not as {path.name!r}.")
        return path

    def write(self, folder: str | Path) -> list[Path]:
        """Write all files into a folder."""
        home = as_path(folder, "A folder to write into")
        home.mkdir(parents=True, exist_ok=True)
        card = [
            {
                "question": one.question,
                "grade": one.grade,
                "measure": one.measure,
                **vars(one.number),
                "says": one.says,
                "advice": one.advice,
            }
            for one in self.card.answers
        ]
        write_atomically(home / "card.csv", to_csv(card))
        written = [self.save(home / name) for name in FILES if name != "card.csv"]
        return [*written[:2], home / "card.csv", *written[2:]]


def to_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A table as CSV in which no cell is a formula to a spreadsheet.

    >>> to_csv([{"word": "=1+1", "value": -0.5}])
    b"word,value\\r\\n'=1+1,-0.5\\r\\n"
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows[0])
    writer.writerows([["" if value is None else neutral(value) for value in row.values()] for row in rows])
    return text.getvalue().encode("utf-8", "backslashreplace")


def neutral(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a text that could be one gets an apostrophe in front."""
    if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value
