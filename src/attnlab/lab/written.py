"""Results as they lie on disk, read for pages: nothing is trained or decided again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from attnlab.errors import UsageError
from attnlab.files import read_inside
from attnlab.lab.claims import LARGEST, PRESETS, Finding, holds_result
from attnlab.lab.result import REPLAYS, read_result, read_table
from attnlab.lab.wording import corpus_called
from attnlab.pages.charts import Description
from attnlab.pages.fit import address
from attnlab.pages.replay import Replay, read_replay


@dataclass(frozen=True)
class WrittenResult:
    """A result folder. ``row``: which one, of an experiment with rows; else empty."""

    preset: str
    row: str
    folder: Path
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The row, if there is one, and the preset it was run at."""
        return f"{corpus_called(self.row)} ({self.preset})" if self.row else f"at {self.preset}"

    def lines(self, name: str) -> list[dict[str, str]]:
        """One of its tables as written; none if this result has no such table."""
        if not (self.folder / "tables" / f"{name}.csv").exists():
            return []
        return [cells for _, cells in read_table(self.folder, name)]

    def table(self, name: str) -> list[dict[str, str]]:
        """The same with numbers as a reader wants them."""
        return [{column: shown(value) for column, value in line.items()} for line in self.lines(name)]

    def charts(self) -> list[tuple[str, Description]]:
        """Its figures by name."""
        return [(name, _read_chart(self.folder, name)) for name in self.document["figures"]]

    def replays(self) -> list[Replay]:
        """What its watched runs looked at through training."""
        names = [f"{REPLAYS}/{name}.json" for name in self.document.get(REPLAYS, ())]
        return [read_replay(read_inside(self.folder, name, LARGEST), str(self.folder / name)) for name in names]

    def findings(self) -> list[Finding]:
        """What it says about claims."""
        return [Finding.from_json(entry) for entry in self.document["claims"]]


def strongest(folder: Path, rows: Sequence[str] = ("",)) -> list[WrittenResult]:
    """Each row at its strongest preset; ``folder`` is the experiment's, and one without rows has the row ""."""
    results = []
    for row in rows:
        for preset in reversed(PRESETS):
            place = folder / preset / row
            if holds_result(place):
                document = read_result(place)
                named = document["experiment"], document["preset"], document.get("row", "")
                if named != (folder.name, preset, row):
                    of = " ".join(filter(None, (named[0], "at", named[1], named[2])))
                    raise UsageError(f"{place} holds a result of {of}; it stands in the wrong place.")
                results.append(WrittenResult(preset, row, place, document))
                break
    return results


def shown(value: str) -> str:
    """A table's cell for a reader: numbers to three places, others as they are.

    >>> shown("0.12345"), shown("2000"), shown("0.00012"), shown("never")
    ('0.123', '2000', '0.00012', 'never')
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if not isfinite(number) or number.is_integer():
        return value.removesuffix(".0")
    return f"{number:.3f}" if abs(number) >= 0.001 else f"{number:.2g}"


def in_words(name: str) -> str:
    """A file's name as a heading has it."""
    return name.replace("_", " ").replace("-", " ")


def chart_title(chart: Description, name: str) -> str:
    """What the chart says it shows, else its file's ``name``."""
    title = chart.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    return " ".join(str(line) for line in (text if isinstance(text, list) else [text]) if line) or in_words(name)


def _read_chart(folder: Path, name: str) -> Description:
    path = folder / "figures" / f"{name}.vl.json"
    try:
        description = json.loads(read_inside(folder, f"figures/{name}.vl.json", LARGEST), parse_constant=_refuse)
        place = address(description)
    except UsageError:
        raise
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no chart ({str(error)[:100]}); run the experiment again.") from None
    if not isinstance(description, dict) or "vega-lite" not in str(description.get("$schema")):
        raise UsageError(f"{path} is no chart (it does not name Vega-Lite's schema); run the experiment again.")
    if place is not None:
        raise UsageError(f"{path} names an address at {place}; a chart of ours holds its data and fetches nothing.")
    return description


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no number of JSON")
