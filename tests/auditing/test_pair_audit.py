"""An audit of a parallel corpus, from two files to the page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.lab.in_this_process import InThisProcess
from tests.number_pairs import write_numbers
from typer.testing import CliRunner

import attnlab as al
from attnlab.auditing import budget as budgets
from attnlab.auditing.budget import PairBudget
from attnlab.auditing.card import PAIRS, make_card
from attnlab.auditing.pairs.findings import find_in_pairs
from attnlab.auditing.pairs.reading import read_translator, sample_words, taken_out
from attnlab.cli.main import app
from attnlab.data.piece_batches import pair_batch
from attnlab.errors import UsageError
from attnlab.families.registry import build_problem
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.fields import ScoreField
from attnlab.models.translator import Translator
from attnlab.probes.translation import translation_fields
from attnlab.specs import RunSpec, TranslatorSpec

TINY = PairBudget("small", 32, 1, 40, 250, 30, (0.1,), 20, 50, 0.01)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder whose runs all tests share, so that each is trained once."""
    folder = tmp_path_factory.mktemp("audited pairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(budgets.PAIR_BUDGETS, "small", TINY)
        patch.setenv("ATTNLAB_CACHE", str(folder / "cache"))
        write_numbers(folder, pairs=400)
        yield folder


@pytest.fixture
def files(home):
    return str(home / "numbers.en"), str(home / "numbers.de")


@pytest.fixture(scope="module")
def made(home):
    return run(home, home / "out")


def run(home, out, **settings):
    files = {"source": home / "numbers.en", "target": home / "numbers.de"}
    return al.audit(**files, **{"store": home / "runs", "out": out, "engine": InThisProcess(), "seeds": 2, **settings})


def test_numbers_of_another_language_are_translated_and_attention_points_at_them(made):
    numbers, card = made.numbers, made.card
    assert made.kind == "pairs" and made.name == "numbers.en and numbers.de"
    assert numbers.accuracy.value > 0.8 > numbers.majority  # order and words come from the input alone
    assert numbers.gained.low > 0
    aligned = numbers.compared["attention, alignment"].top
    assert aligned.value > aligned.chance and aligned.texts == numbers.accuracy.texts
    assert "attention, leave-one-out" not in numbers.compared
    assert [answer.question for answer in card.answers][2] == "Does it follow influence and alignment?"
    assert card.answers[0].grade in ("good", "mixed")
    assert {"uniform twin", "deceptive twin, lambda 0.1", "attention, seed 1"} <= set(numbers.accuracies)
    (twin,) = numbers.twins
    assert twin.against == "influence" and 0 <= twin.tvd.value <= 1 and 0 < twin.jsd.value <= 1
    lost = numbers.erased["comprehensiveness"].value, numbers.erased["random_comprehensiveness"].value
    assert lost[0] > lost[1]  # what attention values is needed more than other words


def test_the_same_files_give_the_same_bytes_and_nothing_is_read_twice(made, home, tmp_path):
    stamp = re.compile(rb"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")
    written = {path.name: stamp.sub(b"", path.read_bytes()) for path in made.write(home / "out")}
    said = []
    again = run(home, home / "out", say=said.append)
    assert said == ["reading the sentence pairs"]
    assert {path.name: stamp.sub(b"", path.read_bytes()) for path in again.write(tmp_path / "again")} == written
    for path in (home / "out" / "fields").iterdir():
        path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)
    hidden = run(home, home / "out", examples=False)
    assert hidden.numbers == made.numbers  # damaged fields are read again
    page = written["audit.html"].decode()
    assert "IBM Model 1" in page and "a trigram of the output language" in page and "commonest class" not in page
    assert page.count("attention is.") >= 1  # the pair is drawn
    assert hidden.examples == ()
    hidden.save(tmp_path / "hidden.html")
    assert "where the first network looks" not in (tmp_path / "hidden.html").read_text()


def test_what_is_found_in_the_pairs(files, made, tmp_path):
    lines = [Path(name).read_text(encoding="utf-8").splitlines() for name in files]
    lines = [[*side, *more] for side, more in zip(lines, (["yes"] * 3, ["ja", "ja", "yes"]), strict=True)]
    names = [tmp_path / f"more.{k}" for k in range(2)]
    for name, side in zip(names, lines, strict=True):
        name.write_text("\n".join(side), encoding="utf-8")
    found = find_in_pairs(BitextSpec.of_files(BitextFiles.of(*names), pieces=40).build())
    pairs = list(zip(*lines, strict=True))
    assert found.pairs == len(pairs) and found.copied == 1
    assert found.duplicates == len(pairs) - len(set(pairs))
    assert found.several == 1 and "more than one translation" in " ".join(found.sentences)
    assert found.too_little == ""
    few = find_in_pairs(BitextSpec.of_files(BitextFiles.of(*write_numbers(tmp_path, pairs=60)), pieces=40).build())
    assert few.too_little == "There are 60 sentence pairs, fewer than 200."
    assert make_card(made.numbers, few.too_little, PAIRS).headline.startswith("Too little data for a verdict.")


def test_pieces_taken_out_by_hand(files):
    spec = RunSpec(
        task=BitextSpec.of_files(BitextFiles.of(*files), pieces=40),
        model=TranslatorSpec(hidden=8, layers=1),
        batch=4,
        evaluation_batch=20,
        init_seed=0,
        data_seed=0,
    )
    problem = build_problem(spec)
    pairs, model = problem.evaluated["valid"], problem.model
    assert isinstance(model, Translator)
    sample = sample_words(pairs, 5)
    fields = translation_fields(model, pairs)
    drawn = fields.alpha.select(sample)
    values = np.arange(len(drawn.values), dtype=float)  # the last pieces count most
    least, alone = taken_out(
        model, pairs, ScoreField(values, drawn.offsets), fields.pair[sample], sample, fields.log_p[sample]
    )
    starts = np.append(0, (pairs.target.lengths + 1).cumsum())
    for k, row in enumerate(sample.tolist()):
        pair = int(fields.pair[row])
        t, pieces = row - int(starts[pair]), pairs.source.sentence(pair).tolist()
        top = min(max(round(0.2 * len(pieces)), 1), len(pieces) - 1)
        for lost, kept in ((least, pieces[:-top]), (alone, pieces[-top:])):
            batch = pair_batch(pairs, np.array([pair]))
            source = batch.source.new_tensor([[2, *kept, 3]])
            said = model.eval()(source, batch.previous).log_probabilities[0, t, batch.target[0, t]].exp().item()
            assert lost[k] == pytest.approx(np.exp(fields.log_p[row]) - said, abs=1e-5)
    assert set(read_translator(model, pairs, sample).erased) == {
        "comprehensiveness",
        "sufficiency",
        "random_comprehensiveness",
        "random_sufficiency",
    }


def test_the_command(files, home, tmp_path, monkeypatch):
    monkeypatch.setattr("attnlab.runs.engine.LocalEngine", lambda *_: InThisProcess())
    monkeypatch.setenv("COLUMNS", "160")
    where = ["--out", str(tmp_path / "out"), "--store", str(home / "runs")]
    pairs = ["--source", files[0], "--target", files[1]]
    got = CliRunner().invoke(app, ["audit", *pairs, "--seeds", "2", "--json", *where])
    assert got.exit_code == 0, got.output
    made = json.loads(got.stdout)
    assert made["kind"] == "pairs" and made["findings"]["pairs"] == 400
    for words, sentence in (
        (["audit", *where], "either a FILE of labelled texts, or a parallel corpus"),
        (["audit", *pairs[:2], *where], "by --source and --target"),
        (["audit", files[0], *pairs, *where], "either a FILE"),
        (["audit", *pairs, "--label", "stars", *where], "--label is for labelled texts"),
        (["audit", "--source", files[0], "--target", str(tmp_path / "none"), *where], "none"),
    ):
        assert sentence in str(CliRunner().invoke(app, words).exception)
    short = tmp_path / "short.de"
    short.write_text("eins\n", encoding="utf-8")
    refused = CliRunner().invoke(app, ["audit", "--source", files[0], "--target", str(short), *where])
    assert "400" in str(refused.exception) and "1" in str(refused.exception)
    with pytest.raises(UsageError, match="source and target"):
        al.audit(source=files[0])
