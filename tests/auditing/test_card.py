"""The card's grades and words, chosen by rules from numbers."""

import json

import numpy as np
import pytest

from attnlab.auditing.card import NOT_FOR, above_chance, agreement_grade, make_card
from attnlab.auditing.numbers import Compared, Number, Numbers, TwinNumbers, counts_as_equal


def number(value, spread=0.02, chance=None):
    return Number(value, value - spread, value + spread, chance, 200)


def compared(name, value, chance=0.1, tau=0.1):
    return Compared(name, number(value, chance=chance), number(tau, chance=0.0))


def twin(jsd=0.9, tvd=0.03, equal=True):
    return TwinNumbers(0.1, 0.9, number(tvd), number(jsd), 0.97, number(0.1, chance=0.1), number(-0.1), equal)


def numbers(**changes):
    settings = {
        "accuracy": 0.9,
        "majority": 0.5,
        "concentration": 0.5,
        "knowledge": 0.6,
        "influence": 0.6,
        "loo": 0.6,
        "seeds": 0.7,
        "twins": (twin(jsd=0.05),),
        "uniform": 0.6,
        **changes,
    }
    pairs = {
        "attention, lexical probe": settings["knowledge"],
        "attention, influence": settings["influence"],
        "attention, leave-one-out": settings["loo"],
        "attention, attention of another seed": settings["seeds"],
    }
    return Numbers(
        majority=settings["majority"],
        accuracy=number(settings["accuracy"]),
        gained=number(settings["accuracy"] - settings["majority"], chance=0.0),
        accuracies={"uniform twin": settings["uniform"]},
        concentration=number(settings["concentration"], chance=0.0),
        compared={name: compared(name, value) for name, value in pairs.items() if value is not None},
        seeds_tvd=number(0.1),
        seeds_jsd=number(0.2),
        erased={},
        twins=settings["twins"],
    )


def grades(**changes):
    return [answer.grade for answer in make_card(numbers(**changes)).answers]


def test_all_good_is_a_yes_and_says_what_it_is_not_for():
    card = make_card(numbers())
    assert [answer.grade for answer in card.answers] == ["good"] * 5
    assert card.headline.startswith("As far as these five measures go, yes")
    assert card.remarks == (NOT_FOR,)
    assert not any(answer.advice for answer in card.answers)
    json.dumps(card.to_json())


@pytest.mark.parametrize(
    ("changes", "place", "grade"),
    [
        ({"concentration": 0.02}, 0, "poor"),
        ({"concentration": 0.1}, 0, "mixed"),
        ({"knowledge": 0.11}, 1, "poor"),
        ({"knowledge": 0.2}, 1, "mixed"),
        ({"influence": 0.11}, 2, "poor"),
        ({"loo": 0.11}, 2, "poor"),
        ({"loo": 0.2}, 2, "mixed"),
        ({"seeds": 0.3}, 3, "mixed"),
        ({"seeds": 0.11}, 3, "poor"),
        ({"seeds": None}, 3, "unknown"),
        ({"twins": ()}, 4, "unknown"),
        ({"twins": (twin(jsd=0.9),)}, 4, "poor"),
        ({"twins": (twin(jsd=0.3),)}, 4, "mixed"),
        ({"twins": (twin(jsd=0.9, equal=False),)}, 4, "good"),
        ({"twins": (twin(jsd=0.9, equal=False), twin(jsd=0.3))}, 4, "mixed"),
    ],
)
def test_each_grade_follows_its_number(changes, place, grade):
    found = grades(**changes)
    assert found[place] == grade
    assert [one for k, one in enumerate(found) if k != place] == ["good"] * 4


POINTS = "With care: attention points at words that matter, but"


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({"influence": 0.11}, "No: attention here does not show"),
        ({"knowledge": 0.2}, "With care: attention follows what matters only in part"),
        ({"twins": (twin(jsd=0.9),)}, f"{POINTS} another attention would predict the same."),
        ({"twins": (twin(jsd=0.9),), "seeds": 0.3}, f"{POINTS} another attention would predict the same."),
        ({"seeds": 0.3}, f"{POINTS} a network from another seed points at others."),
        ({"twins": ()}, f"{POINTS} not every question could be answered."),
        ({"accuracy": 0.51}, "No: the network has not learned these labels"),
    ],
)
def test_the_headline_follows_the_grades(changes, headline):
    assert make_card(numbers(**changes)).headline.startswith(headline)


def test_a_network_that_learned_nothing_has_no_attention_to_grade():
    card = make_card(numbers(accuracy=0.51))
    assert [answer.grade for answer in card.answers] == ["poor", *["unknown"] * 4]
    assert "data that tells words apart" in card.answers[0].advice


def test_too_little_data_has_numbers_and_no_grades():
    card = make_card(numbers(), "There are 30 texts, fewer than 200.")
    assert {answer.grade for answer in card.answers} == {"unknown"}
    assert card.headline == "Too little data for a verdict. There are 30 texts, fewer than 200."
    assert all(answer.number.value is not None for answer in card.answers)


def test_high_accuracy_and_attention_that_looks_away_is_said():
    remarks = " ".join(make_card(numbers(influence=0.11, loo=0.11)).remarks)
    assert "accurate (90.0%" in remarks and "looks away" in remarks
    assert "looks away" not in " ".join(make_card(numbers(influence=0.11, accuracy=0.6)).remarks)


def test_attention_that_is_not_needed_is_said():
    assert "not needed" in " ".join(make_card(numbers(uniform=0.895)).remarks)
    assert "not needed" not in " ".join(make_card(numbers(uniform=0.8)).remarks)


def test_agreement_is_graded_by_what_is_possible_above_chance():
    assert above_chance(Number(0.55, 0.5, 0.6, 0.1)) == pytest.approx((0.5, 4 / 9, 5 / 9))
    assert above_chance(Number(0.5, None, None, 0.1)) is None
    assert above_chance(Number(1.0, 1.0, 1.0, 1.0)) is None  # texts of one word
    assert agreement_grade(number(0.7, chance=0.6)) == "good"  # in short texts chance is high
    assert agreement_grade(number(0.6, chance=0.6)) == "mixed"
    assert agreement_grade(number(0.5, chance=0.6)) == "poor"


def test_predictions_are_equal_if_they_are_close_and_as_accurate():
    close, far = np.full(9, 0.04), np.full(9, 0.2)
    assert counts_as_equal(close, None, 0.0) and not counts_as_equal(far, None, 0.0)
    assert counts_as_equal(far, number(0.25), 0.02)  # two seeds are further apart
    assert not counts_as_equal(far, number(0.25), 0.03) and counts_as_equal(far, number(0.25), -0.1)


def test_what_the_data_says_is_among_the_remarks():
    assert make_card(numbers(), hints=["The sign is in pairs of words."]).remarks[0] == "The sign is in pairs of words."
