"""The site of all results: every claim, a page for each experiment, links that lead somewhere, hostile folders."""

import html
import json
import re
import shutil
from pathlib import Path

import pytest

from attnlab.errors import UsageError
from attnlab.lab.claims import OUTCOMES, load_claims
from attnlab.lab.site import build_site
from attnlab.lab.verbs import claims
from attnlab.pages.claims import dot_plot

RESULTS = Path(__file__).parents[2] / "results"
FEW = ("gated-toy", "embeddings", "saliency")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few") / "results"
    for name in FEW:
        shutil.copytree(RESULTS / name, folder / name, ignore=shutil.ignore_patterns("*.svg"))
    (folder / "mine").mkdir()
    return folder


@pytest.fixture(scope="module")
def built(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    return build_site(results, out, docs="../docs"), out


def text_of(path):
    return path.read_text(encoding="utf-8")


def test_every_claim_is_there_once_with_its_outcome(built, results):
    page = text_of(built[0].index)
    rows = re.findall(
        r'<li data-paper="([^"]*)" data-outcome="([^"]*)" data-experiment="([^"]*)">(.*?)</li>', page, re.DOTALL
    )
    decided = claims(results)
    assert len(rows) == len(load_claims())
    for (paper, outcome, names, body), decision in zip(rows, decided, strict=True):
        assert (paper, outcome) == (decision.claim.paper, decision.outcome)
        assert names == ", ".join(decision.claim.experiments)
        assert decision.id in body
        assert ("<svg" in body) == (decision.effect is not None)
    assert {outcome for _, outcome, _, _ in rows} <= set(OUTCOMES)


def test_the_tally_counts_what_the_rows_say(built):
    page = text_of(built[0].index)
    rows = re.findall(r'<li data-paper="([^"]*)" data-outcome="([^"]*)"', page)
    tally = re.search(r'<table class="tally">(.*?)</table>', page, re.DOTALL)[1]
    for paper, count in re.findall(r'<th scope="row">(\S+) .*?</th><td>(\d+)</td>', tally):
        assert sum(one == paper for one, _ in rows) == int(count)
    assert len(set(re.findall(r'<th scope="row">(.*?)</th>', tally))) == len({paper for paper, _ in rows})


def test_every_link_leads_to_a_file_of_the_site(built):
    _, out = built
    pages = sorted(out.rglob("*.html"))
    assert len(pages) == built[0].pages == 2 + 2 * len(FEW)
    for page in pages:
        for link in re.findall(
            r'(?:href|src)="([^"]+)"', re.sub(r"<script.*?</script>", "", text_of(page), flags=re.DOTALL)
        ):
            if not link.startswith("../docs/"):
                assert (page.parent / link).is_file(), (page.name, link)


def test_pages_share_style_and_scripts(built):
    _, out = built
    for name in FEW:
        page = text_of(out / f"{name}.html")
        assert '<script src="assets/vega.js"></script>' in page
        assert "<style>" not in page
        assert len(page) < 1_000_000
        assert "; script-src 'self' file:\">" in html.unescape(page)
        assert "unsafe-eval" not in page
    assert "const WORDS = {}" not in text_of(out / "assets" / "page.js")


def test_a_page_leads_to_its_neighbours_code_and_documentation(built):
    _, out = built
    links = re.findall(r'href="([^"]+)"', text_of(out / "embeddings.html"))
    for link in ("index.html", "saliency.html", "gated-toy.html", "source/embeddings.html", "glossary.html"):
        assert link in links
    assert "../docs/experiments/embeddings.html" in links
    assert "class Embeddings" in html.unescape(text_of(out / "source" / "embeddings.html"))


def test_folders_that_are_no_experiment_are_named(built):
    assert built[0].left_out == ("mine",)


def test_a_site_replaces_itself_and_nothing_else(results, built, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="holds something else than a site"):
        build_site(results, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    with pytest.raises(UsageError, match=r"index\.html is a file, and a folder is needed there"):
        build_site(results, tmp_path / "index.html")
    (tmp_path / "nowhere").symlink_to(tmp_path / "away")
    with pytest.raises(UsageError, match=r"nowhere is a link that leads nowhere"):
        build_site(results, tmp_path / "nowhere")
    (tmp_path / "results").mkdir()
    assert build_site(tmp_path / "results", tmp_path / "empty").pages == 2
    assert build_site(tmp_path / "results", tmp_path / "empty").pages == 2, "once more"


def test_no_results_are_said(tmp_path):
    with pytest.raises(UsageError, match="is no folder of results"):
        build_site(tmp_path / "none", tmp_path / "out")
    (tmp_path / "results").mkdir()
    every = len(load_claims())
    page = text_of(build_site(tmp_path / "results", tmp_path / "out").index)
    assert f"{every} of {every} claims" in page
    assert page.count('data-outcome="not run"') == every


@pytest.mark.parametrize("damage", ["{", '{"experiment": "gated-toy"}', "\u202e"])
def test_a_damaged_result_is_named_in_a_sentence(results, tmp_path, damage):
    shutil.copytree(results / "gated-toy", tmp_path / "results" / "gated-toy")
    place = tmp_path / "results" / "gated-toy" / "paper" / "result.json"
    place.write_text(damage, encoding="utf-8")
    with pytest.raises(UsageError, match=r"gated-toy/paper/result\.json"):
        build_site(tmp_path / "results", tmp_path / "out")


def test_a_chart_with_an_address_makes_no_site(results, tmp_path):
    shutil.copytree(results / "gated-toy", tmp_path / "results" / "gated-toy")
    place = tmp_path / "results" / "gated-toy" / "paper" / "figures" / "uniform.vl.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "data": {"url": "https://example.invalid/a.json"}}))
    with pytest.raises(UsageError, match=r"uniform\.vl\.json names an address at data\.url"):
        build_site(tmp_path / "results", tmp_path / "out")


@pytest.mark.parametrize(
    ("effect", "interval", "at", "zero"),
    [
        (0.5, (0.25, 0.75), 90.0, 8.0),  # a share: from 0 to 1
        (-0.5, (-1.0, 0.0), 49.0, 90.0),  # a difference: from -1 to 1
        (20.0, (10.0, 30.0), 8 + 164 * 20 / 32.4, 8.0),  # updates: from 0 on
        (0.0, None, 8.0, 8.0),
    ],
)
def test_an_effect_is_where_its_number_says(effect, interval, at, zero):
    drawn = dot_plot(effect, interval)
    assert float(re.search(r'cx="([\d.]+)"', drawn)[1]) == pytest.approx(at, abs=0.1)
    assert float(re.search(r'<line x1="([\d.]+)" x2="\1" y1="3"', drawn)[1]) == pytest.approx(zero, abs=0.1)
