"""The bench of clusters works, at a size that takes seconds; what it measures then says nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="make test-more installs Ray")
BENCH = Path(__file__).parents[2] / "benchmarks" / "cluster.py"


@pytest.mark.more
@pytest.mark.needs_data("hansards_enfr")
def test_it_measures_what_it_says_and_keeps_other_rows(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for path in BENCH.parent.glob("*.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    (tmp_path / "results").symlink_to(BENCH.parents[1] / "results")
    names = ["the same, largest memory", "IBM-1 on 9 pairs over 2 workers", "the same, peak of a worker"]
    (folder / "results.json").write_text(json.dumps([{"name": name} for name in names]))
    sizes = ["--runs", "2", "--steps", "2", "--copies", "2", "--lines", "300", "--iterations", "2", "--save"]
    done = subprocess.run(
        [sys.executable, str(folder / "cluster.py"), *sizes],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode in (0, 1), done.stderr  # 1: a floor is missed, which at this size says nothing
    rows = json.loads((folder / "results.json").read_text())
    assert [row["name"].partition(",")[0] for row in rows] == [
        "the same",
        "2 copying runs of 2 steps on Ray",
        "IBM-1 on 600 pairs over 2 workers",
        "the same",
    ]
    assert [(row["bound"], row["floor"]) for row in rows[1:]] == [("at most", 1.1), ("at least", 1.5), ("at most", 0.6)]
    assert "10,000 runs:" in done.stdout
    assert "A billion pairs:" in done.stdout
