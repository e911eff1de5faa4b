"""The documentation as it is built: its pages and tables are made of what is committed, fit a phone, and ask nobody for
anything.
"""

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace

import pytest
from filelock import FileLock
from tests.browser.opening import keep_picture
from tests.test_docs import DOCS, ROOT, WRITTEN, name_of, text_of

from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.verbs import claims

pytestmark = pytest.mark.more
pytest.importorskip("mkdocs", reason="install the extra docs: make docs")
markdown = pytest.importorskip("markdown", reason="install the extra docs: make docs")


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_the_equations_can_be_drawn(page):
    converter = pytest.importorskip("latex2mathml.converter")
    text = text_of(page)
    for equation in re.findall(r"^```math\n(.*?)\n```$|\$`([^`]+)`\$", text, re.MULTILINE | re.DOTALL):
        mathml = converter.convert("".join(equation))
        assert "\\" not in mathml, equation  # a command that was not understood stays as it is
        assert ">&<" not in mathml, equation  # so does a column of an unknown environment


def loaded(name):
    spec = spec_from_file_location(name, DOCS / "_hooks" / f"{name}.py")
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "_hooks")  # as mkdocs does
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hook():
    return loaded("experiment_pages")


def built(hook, page, markdown):
    return hook.on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))


def test_every_claim_is_one_line_of_the_page_on_claims(hook):
    lines = built(hook, "claims.md", text_of(DOCS / "claims.md")).splitlines()
    for decision in claims(ROOT / "results"):
        (line,) = [line for line in lines if line.startswith(f"| **{decision.id}**: ")]
        assert decision.claim.statement.replace("|", r"\|") in line
        assert f"| {decision.words} |" in line
        for name in decision.claim.experiments:
            assert (f"[{name}](experiments/{name}.md)" in line) == (name in list(EXPERIMENTS)), name


def test_what_differs_is_told_with_its_rule_number_and_reason(hook):
    lines = built(hook, "differs.md", text_of(DOCS / "differs.md")).splitlines()
    told = {line.split("**")[1]: line for line in lines if line.startswith("| **")}
    known = {one.id: one for one in claims(ROOT / "results") if one.claim.by != "ours"}
    assert set(told) == {id for id, one in known.items() if one.weakly or one.outcome in ("differs", "open")}
    for id, line in told.items():
        one = known[id]
        for words in (one.words, one.claim.statement, one.claim.direction, one.claim.authors, one.claim.reason):
            assert " ".join(words.split()).replace("|", r"\|") in line, id
        assert one.claim.reason, f"{id} does not say why"
        assert one.effect is not None


def test_a_page_of_an_experiment_has_its_own_claims_alone(hook):
    lines = built(hook, "experiments/copying.md", "<!-- claims -->").splitlines()
    assert [line.split("**")[1] for line in lines[2:] if line.startswith("|")] == [
        decision.id for decision in claims(ROOT / "results") if "copying" in decision.claim.experiments
    ]


@pytest.mark.parametrize(
    ("page", "written", "made"),
    [
        ("index.md", "../src/attnlab/experiments/even_steps/README.md", "experiments/even-steps.md"),
        ("experiments/sms.md", "../even_steps/README.md#answer", "../experiments/even-steps.md#answer"),
        ("experiments/sms.md", "../../../../docs/measures.md#chance", "../measures.md#chance"),
        ("index.md", "measures.md#chance", "measures.md#chance"),
    ],
)
def test_links_between_files_become_links_between_pages(hook, page, written, made):
    assert built(hook, page, f"[here]({written})").splitlines()[0] == f"[here]({made})"


@pytest.mark.parametrize(("page", "up"), [("index.md", ""), ("experiments/sms.md", "../")])
def test_a_figure_is_there_for_a_wide_screen_and_for_a_phone(hook, page, up):
    shown = built(hook, page, f"![What it *shows*]({up and '../../../'}../results/a/paper/figures/b.svg)").splitlines()[
        0
    ]
    place = f"{up}figures/a-paper-figures-b"
    assert f'srcset="{place}-narrow.svg"' in shown
    assert f'src="{place}.svg" alt="What it *shows*"' in shown


def test_equations_within_a_line_stay_in_their_paragraph():
    page = markdown.markdown(
        loaded("equations").on_page_markdown("Here\n$`x_l`$ is a word,\n\n```math\ny = x\n```\n\nand more.")
    )
    assert re.sub(r"<math.*?</math>", "*", page).split("\n") == [
        "<p>Here",
        "<span>*</span> is a word,</p>",
        "<div>*</div>",
        "",
        "<p>and more.</p>",
    ]


def test_cells_know_their_column_and_are_one_piece():
    head = "<thead><tr><th>a</th><th>b <em>&quot;c&quot;</em></th></tr></thead>"
    made = loaded("tables").on_page_content(
        f"<table>{head}<tbody><tr><td>1 <em>x</em></td><td></td></tr></tbody></table>"
    )
    assert made == (
        f'<table>{head}<tbody><tr><td data-label="a"><span>1 <em>x</em></span></td>'
        '<td data-label="b &quot;c&quot;"></td></tr></tbody></table>'
    )


# --- what is built, in a browser

LOOKED_AT = [
    *("index", "claims", "differs", "architecture", "measures", "cluster", "audit", "tutorials/csv"),
    *("experiments/agreement", "experiments/copying", "experiments/topic-words", "experiments/deceptive"),
]
CLIPPED = """() => [...document.querySelectorAll("article :is(table, img, pre, math)")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && box.right > innerWidth + 1 && getComputedStyle(one.parentElement).overflowX === "visible";
}).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="session")
def documentation(tmp_path_factory):
    """All of it, built once for the workers of a session."""
    base = tmp_path_factory.getbasetemp()
    out = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "documentation"
    with FileLock(f"{out}.lock"):
        if not (out / "index.html").exists():
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
            environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stdout + made.stderr
    return out


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_built_page_fits_a_phone_and_asks_nobody(name, documentation, look):
    seen = look(documentation / f"{name}.html", drawn=False)
    for width in (1280, 390):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert seen.page.evaluate(CLIPPED) == [], width
        keep_picture(seen.page, f"docs-{name.replace('/', '-')}-{width}")
    assert seen.complaints == []
    assert seen.strangers(documentation) == []


def test_search_works_from_disk(documentation, look):
    page = look(documentation / "index.html", drawn=False).page
    page.fill(".md-search__input", "leave-one-out")
    page.wait_for_selector(".md-search-result__item a", state="attached")
    assert page.locator(".md-search-result__item").count() > 0
