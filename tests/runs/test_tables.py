"""Tables as bytes: nothing of what reads them is left behind."""

import subprocess
import sys
from pathlib import Path

import pytest

READ = """
import os
from pathlib import Path
from attnlab.theory.lexicon import read_lexicon
from attnlab.runs.tables import from_parquet, rows_to_table, to_parquet

data = to_parquet(rows_to_table([{"step": step, "loss": 0.5} for step in range(1000)]))
before = set(os.listdir("/proc/self/task"))
table = from_parquet(data)
try:
    Path("other.parquet").write_bytes(data)
    read_lexicon(Path("other.parquet"))
except Exception as error:
    assert "is no lexical table" in str(error), error
print(table.num_rows, len(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted as Linux tells them")
def test_reading_a_table_starts_no_thread(tmp_path):
    """One that still held a piece of Python's memory when the interpreter ends would abort the process."""
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1000", "0"]
