"""A tenth of the campaign with a fixed seed, and what makes sure that nothing is left out of it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.campaign.cases import FIXED

if not hasattr(os, "fork"):
    pytest.skip("needs fork, pipes and signals: run it on Linux or macOS", allow_module_level=True)

from tests.campaign.commands import TRAIN, USES, commands, words
from tests.campaign.inputs import is_process
from tests.campaign.playing import LEAST, SIZES, Ground, ground, played

TENTH = {"inputs": 54, "corruptions": 50, "kills": 13}
"""Cases of `make test`, a tenth of what a campaign promises; those of kills have 1.7 each."""
MORE = {"inputs": 160, "corruptions": 160, "kills": 36}
"""Cases after these in `make test-more`."""


@pytest.fixture(scope="module")
def on() -> Iterator[Ground]:
    with ground() as made:
        yield made


def assert_met(part: str, numbers: range, on: Ground) -> None:
    tally = played(part, FIXED, numbers, on)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert tally.count >= len(numbers)


@pytest.mark.parametrize("part", TENTH)
def test_a_tenth_of_the_campaign(part: str, on: Ground) -> None:
    assert_met(part, range(TENTH[part]), on)


@pytest.mark.more
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("part", MORE)
def test_more_of_the_campaign(part: str, half: int, on: Ground) -> None:
    start = TENTH[part] + half * MORE[part] // 2
    assert_met(part, range(start, start + MORE[part] // 2), on)


def test_a_whole_campaign_is_as_large_as_promised() -> None:
    assert all(SIZES[part] >= LEAST[part] for part in ("inputs", "corruptions"))
    assert sum(is_process(number) for number in range(SIZES["inputs"])) >= 100
    assert 1.4 * SIZES["kills"] >= LEAST["kills"]  # one to three each, of which some come too late; they are counted


# --- nothing is left out


def test_every_command_has_hostile_inputs() -> None:
    """A new command is added to USES in tests/campaign/commands.py, with words that are right."""
    assert commands().keys() == USES.keys()


def test_the_right_words_are_right(tmp_path: Path, on: Ground) -> None:
    """Else what is hostile about the others would never be met."""
    place = shutil.copytree(on.template, tmp_path / "place", symlinks=True)
    ids = json.loads((place / "ids.json").read_bytes())
    for command, uses in USES.items():
        for use in uses:
            typed = words(command, {name: ids.get(word, [word])[0] for name, word in use.items()})
            ended = on.nurseries[0].call(
                "tests.campaign.inputs:typed", typed, cwd=place, environment={"ATTNLAB_CACHE": str(place / "cache")}
            )
            assert ended.code == (130 if command in TRAIN else 0), (typed, ended)
            if "--json" in typed and command not in TRAIN:
                json.loads(ended.out)
