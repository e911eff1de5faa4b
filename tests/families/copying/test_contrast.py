"""Contrast in closed form against every sequence of small distributions, counted one by one."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.families.copying.contrast import contrast, presence
from attnlab.families.copying.task import Independent, Mixture, Permutations, PermutationSets, Selections
from attnlab.theory.counts import count_table


def counted(sequences, words):
    """Table and contrast of equally likely sequences: counts by `count_table`, means by loops over word pairs."""
    array = np.array(sequences)
    table = count_table(SentencePairs.from_ids(array, array, words)).dense() / len(array)
    right, others = [], []
    for sequence in sequences:
        for y in sequence:
            right.append(table[y, y])
            others += [table[x, y] for x in sequence if x != y]
    length = array.shape[1]
    return table * length, length * (np.mean(right) - np.mean(others))


def selections(k, n):
    return list(permutations(range(n), k))


SMALL = {
    "permutations of 4": (Permutations(4), selections(4, 4)),
    "3 of 5": (Selections(3, 5), selections(3, 5)),
    "3 of 4": (Selections(3, 4), selections(3, 4)),
    "two sets of 3": (PermutationSets(3), [*permutations(range(3)), *permutations(range(3, 6))]),
    # Four sixths of the sequences are permutations of 3: 48 of 72, beside all 24 of 3 of 4.
    "a third of 3 of 4": (
        Mixture((Permutations(3), Selections(3, 4)), (2 / 3, 1 / 3)),
        selections(3, 3) * 8 + selections(3, 4),
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_closed_forms_are_what_is_counted(name):
    distribution, sequences = SMALL[name]
    table, expected = counted(sequences, distribution.words)
    assert presence(distribution) == pytest.approx(table)
    assert contrast(distribution) == pytest.approx(expected, abs=1e-12)


@given(k=st.integers(2, 60), more=st.integers(0, 60))
def test_k_of_n_has_its_formula(k, more):
    n = k + more
    assert contrast(Selections(k, n)) == pytest.approx(k / n * (n - k) / (n - 1), abs=1e-12)


def test_permutations_and_sets_of_them_have_none_at_all():
    assert contrast(Permutations(40)) == 0
    assert contrast(PermutationSets(40)) == 0
    assert contrast(Mixture((Permutations(40), Selections(40, 41)), (1.0, 0.0))) == 0


@given(first=st.floats(0, 1), second=st.floats(0, 1))
def test_a_larger_share_has_no_less_contrast(first, second):
    low, high = sorted((first, second))
    small, large = (contrast(Mixture((Permutations(5), Selections(5, 6)), (1 - s, s))) for s in (low, high))
    assert small <= large + 1e-12


@pytest.mark.parametrize(
    ("distribution", "named"),
    [
        (Independent(4, 4), "Independent has no closed form.*Permutations, Selections"),
        (Mixture((Independent(4, 4), Permutations(4)), (0.5, 0.5)), "Independent has no closed form"),
        (Permutations(1), "at least two words"),
    ],
)
def test_what_it_cannot_do_is_said(distribution, named):
    with pytest.raises(UsageError, match=named):
        contrast(distribution)
