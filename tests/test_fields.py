"""Score fields: ragged rows, and what is no score field."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.fields import ScoreField

ROWS = st.lists(st.lists(st.floats(-10, 10), max_size=4), max_size=6)


@given(ROWS)
def test_rows_come_back(rows):
    field = ScoreField.from_rows(rows)
    assert len(field) == len(rows)
    assert field.lengths.tolist() == [len(row) for row in rows]
    assert [field.row(k).tolist() for k in range(len(field))] == rows


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=1, max_size=6), st.randoms())
def test_some_rows_of_a_field(rows, random):
    chosen = random.choices(range(len(rows)), k=3)
    picked = ScoreField.from_rows(rows).select(np.array(chosen))
    assert [picked.row(k).tolist() for k in range(3)] == [[float(v) for v in rows[k]] for k in chosen]


@pytest.mark.parametrize(
    ("values", "offsets", "told"),
    [
        ([[1.0]], [0, 1], "flat"),
        ([1.0], [], "offsets"),
        ([1.0], [0.0, 1.0], "whole numbers"),
        ([1.0], [1, 1], "from 0"),
        ([1.0, 2.0], [0, 1], "number of its values, 2"),
        ([1.0, 2.0], [0, 2, 1, 2], "fall in between"),
    ],
)
def test_what_is_no_field_is_told(values, offsets, told):
    with pytest.raises(UsageError, match=told):
        ScoreField(np.array(values), np.array(offsets))


@pytest.mark.parametrize("k", [-1, 2])
def test_a_row_that_is_not_there(k):
    with pytest.raises(UsageError, match="rows are 0 to 1"):
        ScoreField.from_rows([[1.0], [2.0]]).row(k)
