import subprocess
import sys

import numpy as np
import pytest
import torch

import attnlab
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.compare import Agreement

LENGTHS = [3, 1, 4]
U = [0.1, 0.7, 0.2, 1.0, 0.25, 0.25, 0.25, 0.25]
V = [1.0, 3.0, 2.0, 5.0, 4.0, 1.0, 2.0, 3.0]


def padded(flat: list[float], filling: float) -> np.ndarray:
    rows, start = np.full((len(LENGTHS), 6), filling), 0
    for row, length in zip(rows, LENGTHS, strict=True):
        row[:length] = flat[start : start + length]
        start += length
    return rows


def test_figures_that_can_be_worked_out() -> None:
    measured = attnlab.agreement(U, V, LENGTHS)
    assert isinstance(measured, Agreement)
    # Right; a single position; any of four positions, of which one is the top of v.
    assert measured.expected == pytest.approx((1 + 1 + 1 / 4) / 3)
    assert measured.released == 1  # the first of the four happens to be the top
    assert measured.baseline == measured.released_baseline == pytest.approx((1 / 3 + 1 + 1 / 4) / 3)
    assert (measured.tau, measured.tau_rows, measured.rows) == (pytest.approx(1), 1, 3)
    assert measured.interval.low < measured.expected < measured.interval.high


@pytest.mark.parametrize("filling", [0.0, 99.0, float("nan")])
def test_padding_is_not_looked_at(filling: float) -> None:
    assert attnlab.agreement(padded(U, filling), padded(V, filling), LENGTHS) == attnlab.agreement(U, V, LENGTHS)


def test_padded_and_flat_may_be_mixed_and_come_from_pytorch() -> None:
    flat = attnlab.agreement(np.float32(U), V, LENGTHS)
    assert attnlab.agreement(torch.tensor(U), padded(V, 0), torch.tensor(LENGTHS)) == flat


def test_score_fields_are_taken_as_they_are() -> None:
    fields = (ScoreField(np.array(values), np.cumsum([0, *LENGTHS])) for values in (U, V))
    assert attnlab.agreement(*fields) == attnlab.agreement(U, V, LENGTHS)


def test_full_padded_arrays_need_no_lengths() -> None:
    u, v = np.random.default_rng(0).random((2, 40, 25))
    assert attnlab.agreement(u, v) == attnlab.agreement(u.ravel(), v.ravel(), [25] * 40)


def test_options_reach_what_they_name() -> None:
    u, v = np.random.default_rng(0).random((2, 200, 25))
    plain, wide = attnlab.agreement(u, v), attnlab.agreement(u, v, share=0.5)
    assert (plain.baseline, wide.baseline, wide.share) == pytest.approx((2 / 25, 13 / 25, 0.5))
    assert wide.expected > plain.expected
    narrow = attnlab.agreement(u, v, level=0.5).interval
    assert plain.interval.low < narrow.low < narrow.high < plain.interval.high
    assert attnlab.agreement(u, v, seed=1).interval != plain.interval
    assert attnlab.agreement(u, v, groups=[0] * 200).interval is None
    assert attnlab.agreement(u, v, resamples=1).interval.low == attnlab.agreement(u, v, resamples=1).interval.high


def test_rows_without_positions_are_left_out_and_counted() -> None:
    with_gaps = attnlab.agreement(U, V, [0, 3, 1, 0, 4])
    without = attnlab.agreement(U, V, LENGTHS)
    assert with_gaps == without and with_gaps.rows == 3


def test_no_row_with_a_tau() -> None:
    measured = attnlab.agreement([1, 1], [1, 2], [1, 1])
    assert (measured.tau, measured.tau_rows) == (None, 0)


@pytest.mark.parametrize(
    ("u", "v", "lengths", "message"),
    [
        ([1, 2], [1, 2], None, "u is flat, so lengths"),
        ([1, 2], [1, 2, 3], [2], "add up to 2 positions, but v has 3"),
        ([1, 2], [1, 2], [3], "add up to 3 positions, but u has 2"),
        ([1, 2], [1, 2], [3, -1], "whole numbers"),
        ([1, 2], [1, 2], [2.0], "whole numbers"),
        ([1, 2], [1, 2], [[2]], "whole numbers"),
        ([[1, 2]], [[1, 2]], [3], "Row 0 cannot have 3 positions: u is 2 wide"),
        ([[1, 2]], [[1, 2]], [1, 1], "lengths names 2 rows, but u has 1"),
        ([[1, 2]], [[1, 2], [3, 4]], None, "u has 1 rows and v has 2"),
        ([[[1.0]]], [[1.0]], None, "not an array of shape"),
        (["a", "b"], [1, 2], [2], "u cannot be read"),
        ([[1, 2], [3]], [1, 2], [2], "u cannot be read"),
        ([1, 2], [1, float("nan")], [2], "row 0 of v has nan at position 1"),
        ([], [], [], "nothing to compare"),
        ([], [], [0, 0], "nothing to compare"),
    ],
)
def test_bad_input_is_refused(u: object, v: object, lengths: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attnlab.agreement(u, v, lengths)


def test_a_tensor_with_a_graph_is_refused() -> None:
    with pytest.raises(UsageError, match="u cannot be read"):
        attnlab.agreement(torch.zeros(2, requires_grad=True), [1, 2], [2])


@pytest.mark.parametrize(
    "first",
    [
        "",
        "import attnlab.fields",
        "from attnlab import agreement; agreement([1, 2], [1, 2], [2])",
    ],
)
def test_the_name_is_function_and_package_whatever_is_imported_first(first: str) -> None:
    code = f"""
import attnlab
{first}
import attnlab.fields as f
from attnlab.fields import ScoreField
assert attnlab.agreement([1, 2], [1, 2], [2]).expected == 1
assert attnlab.fields.ScoreField is ScoreField is f.ScoreField
assert "agreement" in dir(attnlab)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
