"""The answers and captions of page.toml: filled in from committed results, and left out where they cannot be."""

from pathlib import Path

import pytest

from attnlab.lab.claims import Finding, Part, load_claims
from attnlab.lab.page_words import PageWords, filled, page_words
from attnlab.lab.paper_figure import PaperFigure, Value
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.written import WrittenResult, strongest

RESULTS = Path(__file__).parents[2] / "results"
WHOLE = [name for name, experiment in EXPERIMENTS.items() if not experiment.rows and strongest(RESULTS / name)]


def result(preset="paper", *parts):
    entry = Finding("a-claim", parts or (Part("all", "holds", 0.75, (0.5, 1.0), "seeds", ""),)).to_json()
    return WrittenResult(preset, "", Path(), {"claims": [entry]})


WORDS = PageWords(answer="It is {a_claim.effect:.0%} ({a_claim.low:.0%} to {a_claim.high:.0%}).")


def test_an_answer_has_the_numbers_of_the_result():
    assert WORDS.answer_for(result()) == "It is 75% (50% to 100%)."
    parts = [Part(name, "holds", effect, None, "seeds", "") for name, effect in (("a", 0.25), ("b", 0.5))]
    assert PageWords(answer="{a_claim[1].effect:.1f}").answer_for(result("paper", *parts)) == "0.5"


def test_a_few_runs_and_results_without_a_number_get_no_answer():
    assert WORDS.answer_for(result("quick")) == ""
    assert WORDS.answer_for(result("paper", Part("all", "undecided", None, None, "seeds", ""))) == ""
    assert PageWords(answer="{other_claim.effect:.0%}").answer_for(result()) == ""
    assert PageWords(answer="{a_claim[1].effect:.0%}").answer_for(result()) == ""


@pytest.mark.parametrize("name", WHOLE)
def test_committed_results_fill_in_their_answer_and_have_the_figures_that_captions_are_of(name):
    words, (written,) = page_words(name), strongest(RESULTS / name)
    assert bool(words.answer_for(written)) == bool(words.answer)
    assert "{" not in words.answer_for(written)
    assert set(words.captions) <= set(written.document["figures"])


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if page_words(name).answer])
def test_every_answer_names_numbers_that_a_result_has(name):
    """Before its first result is there: an answer that cannot be filled in would end `attnlab run` after hours."""
    parts = tuple(Part(f"part {k}", "holds", 0.5, (0.25, 0.75), "seeds", f"Detail {k}.") for k in range(8))
    claims = [claim.id for claim in load_claims() if name in claim.experiments]
    written = WrittenResult("paper", "", Path(), {"claims": [Finding(id, parts).to_json() for id in claims]})
    answer = page_words(name).answer_for(written)
    assert answer
    assert "{" not in answer


def test_answers_over_rows_say_a_sentence_for_each_that_was_run():
    words = PageWords(answer="On the whole yes.", row_answer="On {corpus} {a_claim.effect:.0p} points.")
    rows = [
        WrittenResult(preset, row, Path(), result().document) for preset, row in (("paper", "sst"), ("quick", "sms"))
    ]
    assert words.answer_over(rows, whole=False) == "On SST 75 points."
    assert words.answer_over(rows, whole=True) == "On the whole yes. On SST 75 points."


def test_a_paper_s_numbers_stand_beside_ours():
    values = (
        Value(what="how often", theirs="always", ours="{a_claim.effect:.0%}"),
        Value(what="b", theirs="1", ours="{no.effect}"),
    )
    figure = PaperFigure(name="Section 1", shows="Text.", values=values)
    section = figure.section(result(), lambda pattern: filled(pattern, result()))
    assert section.heading == "In the text: Section 1"
    assert [tuple(row.values()) for row in section.table] == [
        ("how often", "always", "75%"),
        ("b", "1", "not measured"),
    ]
    assert figure.section(result()).table == []


@pytest.mark.parametrize("preset", ["paper", "reduced"])
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if page_words(name).row_answer])
def test_every_sentence_of_a_row_names_numbers_that_a_result_has(name, preset):
    parts = tuple(Part(f"part {k}", "holds", 0.5, (0.25, 0.75), "seeds", f"Detail {k}.") for k in range(4))
    claims = [claim.id for claim in load_claims() if name in claim.experiments]
    document = {"claims": [Finding(id, parts).to_json() for id in claims]}
    assert "SST" in page_words(name).answer_over([WrittenResult(preset, "sst", Path(), document)], whole=True)
