"""The documentation as it is written: short enough to be read, no link is broken, examples run. What is built of it is
looked at in tests/browser/test_documentation.py.
"""

import re
import zlib
from base64 import b64decode
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.verbs import claims

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FOLDERS = ROOT / "src" / "attnlab" / "experiments"
WRITTEN = sorted({*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *FOLDERS.glob("*/README.md")} - {ROOT / "CHANGELOG.md"})
PAGES = sorted(DOCS.rglob("*.md"))
TESTED_ELSEWHERE = {"align.md", "extend.md", "csv.md", "watch.md", "experiment.md"}
"""In tests/cli/test_align.py, tests/lab/test_own.py and tests/test_tutorials.py."""
TUTORIALS = ["tutorials/csv.md", "tutorials/watch.md", "tutorials/experiment.md"]
NEWER = [
    "security.md",
    "parallel-corpus.md",
    "differs.md",
    "audit.md",
    "samples.md",
    "cluster.md",
    "index.md",
    *TUTORIALS,
]
"""Pages added, or written anew, since the others had their 12,500 words: each has 600 of its own."""
FIRST = 30
"""Experiments that shared 30,000 words with the pages; each newer one adds 400 at most."""
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(path):
    return path.read_text(encoding="utf-8")


def by_hand(path):
    """A page without what ``make readme`` writes."""
    return re.sub(r"<!-- (tally|forecast) -->.*?<!-- end -->", "", text_of(path), flags=re.DOTALL)


def name_of(path):
    return str(path.relative_to(ROOT))


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# --- length


def test_all_of_it_can_be_read_in_an_afternoon():
    most = 30_000 + 600 * len(NEWER) + 400 * (len(EXPERIMENTS) - FIRST)
    assert sum(len(text_of(path).split()) for path in WRITTEN) <= most


def test_pages_beside_the_experiments_leave_room_for_them():
    others = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(page for page in PAGES if page.relative_to(DOCS).as_posix() not in NEWER),
    ]
    newer = 300 + 130  # translation's network in models.md, watching a run in runs.md
    assert sum(len(by_hand(path).split()) for path in others) <= 12_500 + newer


@pytest.mark.parametrize("name", NEWER)
def test_newer_pages_are_short(name):
    assert len(text_of(DOCS / name).split()) <= 600


@pytest.mark.parametrize(("page", "most"), [("README.md", 700), ("docs/architecture.md", 1400)])
def test_pages_that_everybody_reads_are_short(page, most):
    assert len(by_hand(ROOT / page).split()) <= most


# --- experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_short_page_with_its_figure(name):
    page = FOLDERS / name.replace("-", "_") / "README.md"
    text = text_of(page)
    assert len(text.split()) <= 600
    if not (ROOT / "results" / name).is_dir():
        return  # nothing to show yet
    first = re.search(r"!\[[^\]]*\]\(([^)\s]+)\)", text)
    assert first, "it shows no figure"
    figure = (page.parent / first[1]).resolve()
    assert figure.is_file()
    assert figure.is_relative_to(ROOT / "results" / name)


def test_experiments_are_documented_in_their_own_folders():
    assert not list((DOCS / "experiments").glob("*.md"))


# --- links


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_link_leads_to_a_file(page):
    """Not to a folder: opened from disk, that would be a listing."""
    for link in LINK.findall(without_code(text_of(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        if anchor:
            assert anchor in anchors(text_of(target)), link


def test_links_lead_to_files_in_the_built_pages_too():
    settings = text_of(ROOT / "mkdocs.yml")
    assert re.search(r"^  - offline\b", settings, re.MULTILINE)  # it makes a file of every page, not a folder


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"^  - .*: (\S+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_pages_that_the_code_names_are_there():
    named = {
        (name_of(path), page)
        for path in (ROOT / "src").rglob("*.py")
        for page in re.findall(r"\bdocs/[\w/-]+\.md", text_of(path))
    }
    assert named
    assert [name for name in named if not (ROOT / name[1]).is_file()] == []


# --- what pages promise


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_begins_with_its_answer(page):
    """A heading, an empty line, then at least two lines of prose: no list, table, picture or code."""
    heading, empty, *first = text_of(page).splitlines()[:4]
    assert heading.startswith("# ")
    assert not empty
    assert all(re.match(r"[\w`*\[]", line) and not line.startswith("```") for line in first)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in TESTED_ELSEWHERE], ids=name_of)
def test_the_examples_run(page, tmp_path, monkeypatch):
    """As they are, one after the other, but for a few updates instead of hundreds."""
    blocks = re.findall(r"^```python\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(re.sub(r"steps=(\d+)", lambda match: f"steps={int(match[1]) // 200}", block), names)


# --- what the first pages show of committed results


@pytest.fixture(scope="module")
def front():
    spec = spec_from_file_location("front", DOCS / "_hooks" / "front.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=name_of)
def test_tally_and_forecast_are_those_of_today(front, page):
    assert page in front.FILLED
    assert front.filled(text_of(page)) == text_of(page), "make readme writes it again"
    lines = re.search(r"<!-- tally -->\n(.*?)<!-- end -->", text_of(page), re.DOTALL)[1].strip().splitlines()[2:]
    numbers = [[int(cell) for cell in line.split("|")[2:-1]] for line in lines]
    every = claims(ROOT / "results")
    assert sum(row[0] for row in numbers) == sum(one.outcome == "as the paper says" for one in every) > 0
    assert sum(row[1] for row in numbers) == sum(one.weakly for one in every)
    assert sum(row[0] + sum(row[2:]) for row in numbers) == len(every)


def test_pictures_are_drawn_from_the_committed_results(front):
    for path, text in front.pictures().items():
        assert text_of(path) == text, "make readme draws it again"


def test_the_first_figure_counts_what_the_result_counts(front):
    rows = (ROOT / "results/copying/paper/tables/success.csv").read_text(encoding="utf-8").splitlines()
    told = {row.split(",")[0]: row.split(",")[1:3] for row in rows[1:]}
    for setting in ("40 of 60", "permutations of 40"):
        steps, seeds = front.learned_by(setting)
        assert [str(seeds), str(len(steps))] == told[setting]
        assert f"({len(steps)} of {seeds})" in text_of(DOCS / "pictures" / "learned.svg")


def test_the_moving_picture_has_every_frame(front):
    replay = front.read_replay((front.COPYING / "replays" / "attention.json").read_bytes(), "it")
    film = replay.films[2]
    strip = front.strip_of(film, 0, replay.steps)
    n = len(film.outputs)
    assert strip.shape == (len(replay.steps) * n, n, 4)
    for k, step in enumerate(film.steps):
        frame = strip[replay.steps.index(step) * n :][:n, :, 3]
        assert (frame.ravel() == film.fields[0].values[k]).all()
    # Decoded by the standard library alone, the picture's first strip is that of the first film.
    data = b64decode(re.search(r"base64,([^\"]+)", text_of(DOCS / "pictures" / "attention.svg"))[1])
    at, packed = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    lines = zlib.decompress(packed)
    first = replay.films[0]
    assert lines[4 : 4 * n + 1 : 4] == first.fields[0].values[0][:n].tobytes()
