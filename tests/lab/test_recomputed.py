"""Committed results, worked out again: findings, tables and figures follow from the measurements kept beside them.

A result of training is recomputed from the curves in its own tables, one without training from nothing. What takes too
long at its preset, or was made from runs measured anew since, is held against ``golden/recomputed.json`` instead, which
``python tests/lab/test_recomputed.py`` writes anew for a change that is meant.
"""

import csv
import json
import math
import re
import tempfile
from pathlib import Path

import pytest
from altair.utils.schemapi import debug_mode

from attnlab.lab.experiment import Order
from attnlab.lab.recall import recall
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.result import read_result, write_table
from attnlab.pages.charts import describe
from attnlab.runs.loop import Trained, measured

RESULTS = Path(__file__).parents[2] / "results"
GOLDEN = Path(__file__).parents[1] / "golden" / "recomputed.json"

FROM_CURVES = {
    "copying/paper": ("setting",),
    "deceptive-copying/reduced": ("setting",),
    "even-steps/paper": ("setting",),
    "forecast-copying/paper": ("setting",),
    "locality/paper": ("encoder",),
    "mean-state/paper": ("setting",),
    "mirror/paper": ("setting",),
    "rescue/reduced": ("remedy",),
    "symmetry/reduced": ("setting",),
    "two-keywords/paper": ("setting",),
}
"""Results recomputed from their own curves, and the column that names a run there beside its seed."""
WITHOUT_TRAINING = ("count-tables/paper", "gated-toy/paper")
"""Results that need no run and take seconds."""
AGAINST_GOLDEN = {
    "early-verdict/paper": "it has no curves of its own, and some of the runs it recalled were measured anew since",
    "alignment/paper": "it takes half a minute at its preset; quick is recomputed",
    "init-derivative/paper": "it takes two minutes at its preset; quick is recomputed",
    "optimal-attention/paper": "it takes most of a minute at its preset; quick is recomputed",
}
"""Results that are held against the golden file, and why."""
GOLDEN_PRESETS = {
    "early-verdict": "paper",
    "alignment": "quick",
    "init-derivative": "quick",
    "optimal-attention": "quick",
}

_FIELDS = "it reads fields (scores of every text), which results do not keep"
_TOPICS = "its runs' arithmetic has changed since, and it reads scores of every word, which results do not keep"
_PROBLEMS = (
    "it keeps every problem's error, not the curve of every network; its claims are decided again from its tables"
)
_POINTS = "it keeps every start's last point, not the way there; its claims are decided again from its tables"
UNRECOMPUTABLE = {
    "agreement": _FIELDS,
    "attention-alignment": _FIELDS,
    "design": _PROBLEMS,
    "embeddings": _FIELDS,
    "flatness": _POINTS,
    "forecast-text": _FIELDS,
    "forecast-translation": _FIELDS,
    "frozen-lexicon": _FIELDS,
    "knowledge-first": "it reads fields of its runs on text, and its curves leave out runs of attention alone",
    "landscape": _POINTS,
    "logistic-proxy": _FIELDS,
    "mixture": "it reads the fields of its proxies' runs, which results do not keep",
    "multihead": "it prunes trained networks, whose weights results do not keep",
    "permuting": "it reads attention at single positions from weights, which results do not keep",
    "saliency": "it reads fields and weights, which results do not keep",
    "sample-complexity": _PROBLEMS,
    "sample-complexity-real": _PROBLEMS,
    "samples-ahead": "its points are, from its trainings, in tests/experiments/test_samples_ahead.py",
    "deceptive": _FIELDS,
    "slow-stages": "its curves hold the shares that it draws, under other names than its runs' measurements",
    "sms": _FIELDS,
    "stages": _FIELDS,
    "topic-ablation": _TOPICS,
    "topic-capacity": _TOPICS,
    "topic-limits": "it reads scores of every word, which results do not keep",
    "topic-query": _TOPICS,
    "topic-sst": _TOPICS,
    "topic-words": _TOPICS,
    "uniform-accuracy": _FIELDS,
    "uniform-overtraining": _FIELDS,
}
"""Experiments whose committed results cannot be worked out from what is committed."""

OLDER_PANELS = ("copying/paper", "count-tables/paper", "gated-toy/paper")
"""Results made when all panels stood in one row: their figures' descriptions have ``column`` where today's have
``facet`` and how many stand in a row. What is drawn in each panel is compared all the same."""

CALLED_SEEDS = ("copying/paper", "locality/paper")
"""Results made when the table of their runs was called ``seeds``."""
ADDED_COLUMNS = {
    "copying/paper": {"last_attention", "last_probe"},
    "forecast-copying/paper": {"last_attention", "last_probe"},
}
"""Columns that the table of runs has gained since; all others are compared."""

KEPT_ROWS = 60
"""About as many rows of a table are in the golden file."""

NEAR = 1e-9
"""Relative: other processors add in another order, which costs a few of the sixteen digits of 64-bit numbers."""
NEAR_FITS = 1e-6
"""The same, behind fits and descents that go on until they change little."""


# --- working out


def rows_of(place):
    """The rows of a result's runs by id and step, from its curves and the tables that name its runs."""
    names = (*FROM_CURVES[place], "seed")
    ids = {}
    for path in sorted((RESULTS / place / "tables").glob("*.csv")):
        for cells in table_of(path):
            if {*names, "run"} <= set(cells):
                ids[tuple(cells[name] for name in names)] = cells["run"]
    found = {}
    for cells in table_of(RESULTS / place / "tables" / "curves.csv"):
        if (id := ids.get(tuple(cells.pop(name) for name in names))) is not None:
            row = {name: float(value) for name, value in cells.items() if value != ""}
            found.setdefault(id, {})[int(cells["step"])] = row | {"step": int(cells["step"])}
    return found


def table_of(path):
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def settled(experiment, order, find):
    """All runs of an experiment, its plan followed until it changes no more."""
    done = {}
    while True:
        jobs = experiment.plan(order, done)
        done = {job.spec.id: find(job) for job in jobs}
        missing = [job.label for job in jobs if done[job.spec.id] is None]
        assert not missing, f"{len(missing)} runs are not in the tables, such as {missing[0]}"
        if experiment.plan(order, done) == jobs:
            return done


def finder(place):
    """How a result's runs are found."""
    if place in FROM_CURVES:
        own, failing = rows_of(place), read_result(RESULTS / place)["seeds"].get("failing starts")

        def find(job):
            run = measured(job.spec, job.schedule, own)
            if run is None and failing is not None and job.spec.init_seed not in failing:
                # Of starts that do not fail rescue asks no more than whether they learn, and keeps nothing.
                return Trained(job.spec.id, [{"step": 0, "accuracy": 0.0}, {"step": 100, "accuracy": 1.0}], 100)
            return run

        return find
    return recall(RESULTS).find if place.startswith("early-verdict") else lambda job: None


def recomputed(place):
    name, preset = place.split("/")
    experiment, order = EXPERIMENTS[name], Order(preset)
    done = settled(experiment, order, finder(place))
    with debug_mode(False):
        return experiment.analyse(order, done)


# --- comparing


def as_json(value):
    return json.loads(json.dumps(value))


def written(table, tmp_path):
    """A table's cells as they are written and read."""
    write_table(table, tmp_path / "table.csv")
    return table_of(tmp_path / "table.csv")


def differences(ours, theirs, near, place=""):
    """Where two documents differ by more than ``near``; numbers may stand in cells of a table."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs) and set(ours) != set(theirs):
            return [f"{place}: {set(ours) ^ set(theirs)}"]
        return [told for key in ours for told in differences(ours[key], theirs[key], near, f"{place}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return [f"{place}: {len(ours)} and {len(theirs)} entries"]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [told for n, (a, b) in pairs for told in differences(a, b, near, f"{place}[{n}]")]
    same = ours == theirs or close(ours, theirs, near) or without_rounding(ours) == without_rounding(theirs)
    return [] if same else [f"{place}: {ours!r} and {theirs!r}"]


def without_rounding(value):
    """A sentence whose numbers below 1e-12 are 0: how far two ways to the same number differ depends on the machine."""
    return re.sub(r"\b\d(\.\d+)?e-(1[3-9]|[2-9]\d)\b", "0e+00", value) if isinstance(value, str) else object()


def close(ours, theirs, near):
    if isinstance(ours, bool) or isinstance(theirs, bool) or ours is None or theirs is None:
        return False
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=near, abs_tol=near * 1e-3)
    except (ValueError, TypeError):
        return False


def drawn(description, older=False):
    """A figure's description without the names of its data, which are hashes of these."""
    names = {name: f"data {n}" for n, name in enumerate(description.get("datasets", {}))}
    text = json.dumps(description)
    for name, number in names.items():
        text = text.replace(name, number)
    figure = json.loads(text)
    if older and "facet" in figure:
        figure["facet"] = figure["facet"].get("column", figure["facet"])
        figure.pop("columns", None)
    return figure


# --- tests

COMMITTED = sorted(str(path.parent.relative_to(RESULTS)) for path in RESULTS.glob("*/**/result.json"))
EXACT = [*FROM_CURVES, *WITHOUT_TRAINING]


def test_every_committed_result_is_recomputed_or_known_not_to_be():
    elsewhere = {place for place in COMMITTED if place.split("/")[0] in UNRECOMPUTABLE}
    assert {*EXACT, *AGAINST_GOLDEN} | elsewhere == set(COMMITTED)
    assert not {*EXACT, *AGAINST_GOLDEN} & elsewhere
    assert {place.split("/")[0] for place in elsewhere} == {
        name for name in UNRECOMPUTABLE if (RESULTS / name).is_dir()
    }


@pytest.mark.parametrize("place", EXACT)
def test_a_result_follows_from_its_measurements(place, tmp_path):
    result, document = recomputed(place), read_result(RESULTS / place)
    findings = as_json([finding.to_json() for finding in result.findings])
    for now, kept in zip(findings, document["claims"], strict=True):
        for part, before in zip(now["parts"], kept["parts"], strict=True):
            if "direction" not in before:  # a result of before directions were kept beside our margins
                part.pop("direction", None)
    told = {"findings": differences(findings, document["claims"], NEAR)}
    older_names = {"runs": "seeds"} if place in CALLED_SEEDS else {}
    for name, table in result.tables.items():
        theirs = table_of(RESULTS / place / "tables" / f"{older_names.get(name, name)}.csv")
        ours, added = written(table, tmp_path), ADDED_COLUMNS.get(place, set()) if name == "runs" else set()
        assert added <= set(ours[0])
        ours = [{column: cell for column, cell in row.items() if column not in added} for row in ours]
        told[f"table {name}"] = differences(ours, theirs, NEAR)
    for name, chart in result.figures.items():
        theirs = json.loads((RESULTS / place / "figures" / f"{name}.vl.json").read_text(encoding="utf-8"))
        older = place in OLDER_PANELS
        told[f"figure {name}"] = differences(drawn(as_json(describe(chart)), older), drawn(theirs, older), NEAR)
    assert {name: found[:3] for name, found in told.items() if found} == {}
    assert result.summary == document["summary"]
    assert list(result.notes) == document["notes"]
    assert as_json(result.seeds) == document["seeds"]
    assert sorted(older_names.get(name, name) for name in result.tables) == document["tables"]
    assert sorted(result.figures) == sorted(document["figures"])  # older results do not keep their order


@pytest.mark.parametrize(
    "name",
    [
        "early-verdict",
        "optimal-attention",
        pytest.param("alignment", marks=pytest.mark.needs_data("alignment_gold")),
        pytest.param("init-derivative", marks=pytest.mark.slow),
    ],
)
def test_an_experiment_finds_what_it_found(name, tmp_path):
    kept = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    assert differences(told_of(name, tmp_path), kept, NEAR_FITS)[:5] == []


def told_of(name, folder):
    """What is kept of an experiment: of a long table every so many rows."""
    result = recomputed(f"{name}/{GOLDEN_PRESETS[name]}")
    tables = {key: written(table, folder) for key, table in result.tables.items()}
    return as_json(
        {
            "summary": result.summary,
            "findings": [finding.to_json() for finding in result.findings],
            "notes": result.notes,
            "tables": {key: [len(table), table[:: -(-len(table) // KEPT_ROWS) or 1]] for key, table in tables.items()},
            "figures": {key: _outline(drawn(as_json(describe(chart)))) for key, chart in result.figures.items()},
        }
    )


def _outline(figure):
    """A figure without its data, which come from the tables, but with their number."""
    sizes = {name: len(rows) for name, rows in figure.get("datasets", {}).items()}
    return {**figure, "datasets": sizes}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: told_of(name, Path(folder)) for name in GOLDEN_PRESETS}
    GOLDEN.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
