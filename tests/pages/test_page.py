"""Pages: escaped, whole, and alive without a network."""

import base64
import hashlib
import html
import re

import altair as alt
import pytest

from attnlab.experiments.copying.demo import story_of
from attnlab.experiments.copying.experiment import PERMUTATIONS, SELECTIONS
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.pages.page import Section, write_page
from attnlab.runs.loop import Trained

HOSTILE = '</script><script>alert(1)</script> & "quotes" <b>'


def test_every_text_is_escaped(tmp_path):
    chart = alt.Chart(alt.InlineData(values=[{"word": HOSTILE, "y": 1}])).mark_bar().encode(x="word:N", y="y:Q")
    section = Section(HOSTILE, [HOSTILE], chart, HOSTILE, [{HOSTILE: HOSTILE}])
    write_page(tmp_path / "page.html", HOSTILE, HOSTILE, [section])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert len(re.findall(r"<script\b", page)) == page.count("</script>") == 3  # the chart's data, the library, drawing


def test_a_word_that_turns_the_direction_of_writing_turns_no_other(tmp_path):
    turned = "before \u202egnorw\u2067<b> after"
    section = Section(turned, [turned], caption=turned, table=[{turned: turned}] * 2, folded=turned)
    write_page(tmp_path / "page.html", turned, turned, [section])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("before <bdi>\u202egnorw\u2067&lt;b&gt;</bdi> after") == 9
    assert not re.search("[\u202e\u2067]", re.sub("<bdi>.*?</bdi>", "", page))


def test_a_page_lets_its_own_scripts_run_and_nothing_else(tmp_path):
    chart = alt.Chart(alt.InlineData(values=[{"y": 1}])).mark_bar().encode(y="y:Q")
    write_page(tmp_path / "page.html", "title", "lead", [Section("heading", chart=chart)])
    page = (tmp_path / "page.html").read_bytes().decode("utf-8")
    (allowed,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(allowed).split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    write_page(tmp_path / "plain.html", "title", "lead", [Section("heading")])
    assert "script-src &#39;none&#39;" in (tmp_path / "plain.html").read_text(encoding="utf-8")


def test_nothing_is_fetched(tmp_path):
    chart = alt.Chart(alt.InlineData(values=[{"y": 1}])).mark_bar().encode(y="y:Q")
    write_page(tmp_path / "page.html", "title", "lead", [Section("heading", chart=chart)])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    without_scripts = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=|url\(|@import", without_scripts)


def outcome(setting, seed, learned_at):
    rows = [
        {
            "step": step,
            "accuracy": 1.0 if learned_at and step >= learned_at else 0.42,
            "probe_accuracy": 0.9 if setting is SELECTIONS else 0.1,
            "attention_accuracy": 0.3,
        }
        for step in range(0, (learned_at or 200) + 1, 10)
    ]
    return Outcome(setting.name, seed, Trained("0" * 16, rows, rows[-1]["step"]))


@pytest.mark.parametrize(
    ("easy", "hard", "said"),
    [
        ([40, 40, 40], [100, None, None], "easier to express, was the harder one"),
        ([40, 40, 40], [80, 80, 120], "took 2.0 times as many updates"),
        ([40, None, None], [80, 80, 120], "do not show the paradox"),
        ([80, 80, 80], [80, 80, 80], "no difference"),
        ([None, None, None], [None, None, None], "no difference"),
    ],
)
def test_the_demo_tells_what_happened(easy, hard, said, tmp_path):
    outcomes = [outcome(SELECTIONS, n, step) for n, step in enumerate(easy)]
    outcomes += [outcome(PERMUTATIONS, n, step) for n, step in enumerate(hard)]
    story = story_of(Runs(outcomes))
    words = " ".join(paragraph for section in story.sections for paragraph in section.paragraphs)
    assert said in words
    if easy == [40, 40, 40]:
        assert "the lexical probe pointed to the right word in 90% of the cases" in words
        assert "all 3 runs learned it" in story.lead
    if hard == [100, None, None]:
        assert "1 of 3 did" in story.lead
        assert "The others were at 42%, 42% accuracy by then" in words
    write_page(tmp_path / "demo.html", story.title, story.lead, story.sections)
    assert "not within 200" in (tmp_path / "demo.html").read_text(encoding="utf-8") or None not in [*easy, *hard]
