"""``attnlab align``: word alignments of a parallel corpus, by IBM Model 1."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from attnlab.cli import options
from attnlab.cli.options import File, JsonOption, console, listing, settings
from attnlab.errors import UsageError

if TYPE_CHECKING:
    from attnlab.data.conventions import Conventions
    from attnlab.data.sentence_pairs import SentencePairs
    from attnlab.theory.aligner import Watch
    from attnlab.theory.lexicon import Lexicon

_CLUSTER = "Beyond one machine"
_PANELS = "The text", "Scoring", "Spelling (for a text and a gold that differ in it)"
_text, _gold, _spelling = (partial(Option, rich_help_panel=panel) for panel in _PANELS)


def align(
    file: Annotated[
        list[str] | None,
        Argument(help="Lines `source ||| target`: one file, several, or a pattern in quotes.", show_default=False),
    ] = None,
    source: Annotated[
        list[str] | None,
        _text(help="Source sentences, one a line; plain, .gz or .xz; may be given several times, or as a pattern."),
    ] = None,
    target: Annotated[list[str] | None, _text(help="Target sentences, line by line their translations.")] = None,
    out: Annotated[
        File, Option(help="File for the links, `i-j` from 0, a line a pair.", show_default="standard output")
    ] = None,
    direction: Annotated[
        str, Option(help="forward, reverse, intersection, union or grow-diag-final-and.")
    ] = "grow-diag-final-and",
    iterations: Annotated[int, Option(help="Iterations of expectation maximisation.")] = 5,
    tolerance: Annotated[
        float | None, Option(help="Stop once the log-likelihood gains no more than this share of its size.")
    ] = None,
    null: Annotated[bool, Option("--null/--no-null", help="Whether words may be explained by nothing.")] = True,
    table_out: Annotated[
        list[Path] | None, Option(help="File for the lexical table, .parquet or .tsv; may be given twice.")
    ] = None,
    table: Annotated[File, Option(help="Apply this table (Parquet, from --table-out) instead of training one.")] = None,
    gold: Annotated[File, _gold(help="Hand alignments to score against.")] = None,
    gold_source: Annotated[File, _gold(help="The gold's source sentences.", show_default="the text's own")] = None,
    gold_target: Annotated[File, _gold(help="The gold's target sentences.", show_default="the text's own")] = None,
    lower: Annotated[bool, _spelling("--lower", help="Lower case.")] = False,
    strip_accents: Annotated[bool, _spelling("--strip-accents", help="Letters without accents.")] = False,
    tokenise: Annotated[bool, _spelling("--tokenise", help="Set punctuation apart (in the text only).")] = False,
    split_contractions: Annotated[
        str | None,
        _spelling(help="source or target: the French side, where l', des, du, au, aux are split (in the text only)."),
    ] = None,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    workers: Annotated[
        int | None,
        Option(min=1, help="Workers that share the corpus.", rich_help_panel=_CLUSTER, show_default="as there is room"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Align the words of a parallel corpus: which word translates which, from what occurs together.

    Links go to standard output, as fast_align prints them, or to --out; all else goes to standard error.
    """
    from attnlab.data.conventions import Conventions
    from attnlab.files import check_outputs, write_atomically
    from attnlab.theory.aligner import align, apply, pharaoh
    from attnlab.theory.alignment import read_gold
    from attnlab.theory.ibm1 import check_training
    from attnlab.theory.lexicon import check_form, read_lexicon
    from attnlab.theory.symmetrise import check_direction

    check_direction(direction)
    check_training(iterations, tolerance)
    file, source, target = file or None, source or None, target or None
    if (file is None) == (source is None and target is None) or (source is None) != (target is None):
        raise UsageError("Name the text either as one FILE of lines `source ||| target`, or by --source and --target.")
    if (gold_source is None) != (gold_target is None) or (gold is None and gold_source is not None):
        raise UsageError("A gold text of its own needs all three of --gold, --gold-source and --gold-target.")
    if split_contractions not in (None, "source", "target"):
        raise UsageError(f"--split-contractions names the French side, source or target, not {split_contractions!r}.")
    forms = [check_form(path) for path in table_out or []]
    texts = _files(file, source, target)
    named = [path for one in texts for path in (one if isinstance(one, tuple) else (one,))]
    check_outputs([out, *(table_out or [])], [*named, table, gold, gold_source, gold_target])
    options.check_engine(engine, address)
    rules = [Conventions(lower, strip_accents, tokenise, split_contractions == side) for side in ("source", "target")]
    links = None if gold is None else read_gold(gold)
    lexicon = None if table is None else read_lexicon(table)
    if engine == "ray":
        if lexicon is not None or (gold is not None and gold_source is None):
            raise UsageError("--engine ray takes no --table, and a --gold only with --gold-source and --gold-target.")
        gold_text = (
            None if gold is None else _read([rule.keeping_positions() for rule in rules], gold_source, gold_target)
        )
        how = {"direction": direction, "iterations": iterations, "null": null, "tolerance": tolerance}
        tables = list(zip(table_out or [], forms, strict=True))
        changing = [rule if any(vars(rule).values()) else None for rule in rules]
        report, lines = _align_beyond((texts, changing, address, workers), how, tables, gold_text, links)
        _write(lines, out, report, as_json)
        return
    pairs = _read_many(rules, texts)
    gold_pairs = pairs
    if gold_source is not None:
        gold_pairs = _read([rule.keeping_positions() for rule in rules], gold_source, gold_target)

    models: dict[str, Any] = {}
    if lexicon is None:
        with _progress(iterations * (1 if direction in ("forward", "reverse") else 2)) as watch:
            made = align(pairs, direction=direction, iterations=iterations, null=null, tolerance=tolerance, watch=watch)
        lexicon, alignment = made.lexicon, made.alignment
        models = {
            name: {"log_likelihoods": model.log_likelihoods, "converged": model.converged}
            for name, model in (("forward", made.forward), ("reverse", made.reverse))
            if model is not None
        }
    else:
        alignment = apply(lexicon, pairs, direction=direction)
    report = {
        "pairs": len(pairs),
        "empty_pairs": (pairs.empty + 1).tolist(),
        "source_words": len(pairs.source_words),
        "target_words": len(pairs.target_words),
        "direction": direction,
        "links": len(alignment),
        "models": models,
        "gold": None if links is None else _scored(lexicon, gold_pairs, links),
    }
    for path, form in zip(table_out or [], forms, strict=True):
        write_atomically(path, lexicon.to_bytes(form))
    _write([pharaoh(alignment)], out, report, as_json)


def _write(lines: "Sequence[bytes]", out: File, report: dict[str, Any], as_json: bool) -> None:
    from attnlab.files import write_atomically

    if out is not None:
        write_atomically(out, b"".join(lines))
    elif not as_json:
        for part in lines:
            typer.echo(part, nl=False)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report)


def _files(
    file: list[str] | None, source: list[str] | None, target: list[str] | None
) -> "list[tuple[Path, Path]] | list[Path]":
    """The files of the text, each alone or with its other side."""
    from attnlab.data.many_files import expand, paired

    if file is not None:
        return expand(file, "joined")
    return paired(expand(source or [], "source"), expand(target or [], "target"))


def _read_many(rules: "list[Conventions]", texts: "list[tuple[Path, Path]] | list[Path]") -> "SentencePairs":
    from attnlab.data.many_files import read_many

    if len(texts) == 1:
        (one,) = texts
        return _read(rules, *(one if isinstance(one, tuple) else (one,)))
    return read_many(texts, [rule if any(vars(rule).values()) else None for rule in rules])


def _align_beyond(
    where: Any, how: dict[str, Any], tables: "list[tuple[Path, str]]", gold_pairs: "SentencePairs | None", links: Any
) -> "tuple[dict[str, Any], list[bytes]]":
    """The report and the lines of links, made by the workers of a cluster; the tables are written part by part.

    ``where``: what `attnlab.cluster.sharded.on_ray` takes.
    """
    from attnlab.cluster.sharded import align_sharded, on_ray
    from attnlab.theory.lexicon import write_parts

    null, directions = bool(how["null"]), 1 if how["direction"] in ("forward", "reverse") else 2
    with on_ray(*where) as corpus:
        with _progress(how["iterations"] * directions) as watch:
            made = align_sharded(corpus, **how, keep=bool(tables) or gold_pairs is not None, watch=watch)
        names = list(made.models)
        for path, form in tables:
            write_parts(path, form, corpus.parts(names, null))
        scored = None
        if gold_pairs is not None:
            scored = _scored(corpus.known(gold_pairs, names, null), gold_pairs, links)
        workers = corpus.crew.size
    models = {name: {"log_likelihoods": values, "converged": done} for name, (values, done) in made.models.items()}
    report = {
        "pairs": corpus.pairs,
        "empty_pairs": corpus.empty,
        "source_words": len(corpus.source.words),
        "target_words": len(corpus.target.words),
        "direction": how["direction"],
        "links": made.links,
        "models": models,
        "gold": scored,
        "workers": workers,
    }
    return report, made.lines


def _read(rules: "list[Conventions]", *files: Path | None) -> "SentencePairs":
    from attnlab.data.sentence_pairs import read_joined_pairs, read_pairs

    given = [file for file in files if file is not None]
    read: Any = read_pairs if len(given) == 2 else read_joined_pairs
    # No rules at all where they change nothing: the text then need not be copied.
    source, target = (rule if any(vars(rule).values()) else None for rule in rules)
    pairs: SentencePairs = read(*given, source_conventions=source, target_conventions=target)
    return pairs


@contextmanager
def _progress(total: int) -> "Iterator[Watch]":
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn()
    screen = console()
    with Progress(*columns, console=screen, disable=settings.quiet or not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("aligning", total=total, state="counting")

        def watch(direction: str, iteration: int, value: float) -> None:
            bar.update(task, advance=1, state=f"{direction}, iteration {iteration}, log-likelihood {value:.0f}")

        yield watch


def _scored(lexicon: "Lexicon", pairs: "SentencePairs", gold: Any) -> dict[str, Any]:
    """Coverage, and the scores of all directions that the tables allow; no error rate where coverage is low."""
    from attnlab.theory.aligner import apply
    from attnlab.theory.alignment import ENOUGH, coverage, score
    from attnlab.theory.symmetrise import DIRECTIONS

    known = coverage(lexicon, pairs)
    report: dict[str, Any] = {"coverage": {"source": known.source, "target": known.target}, "scores": []}
    if not known.enough:
        report["refused"] = (
            f"The table knows {known.source:.1%} of the gold's source words and {known.target:.1%} of its target "
            f"words; below {ENOUGH:.0%} an error rate would measure spelling. Bring both texts to the same conventions."
        )
        return report
    directions = DIRECTIONS if lexicon.forward and lexicon.reverse else ["forward" if lexicon.forward else "reverse"]
    for direction in directions:
        result = score(apply(lexicon, pairs, direction=direction), gold)
        measures = {"precision": result.precision, "recall": result.recall, "aer": result.aer}
        report["scores"].append({"direction": direction, "links": result.links, **measures})
    return report


def _print(report: dict[str, Any]) -> None:
    say = partial(console().print, highlight=False)
    say(
        f"{report['pairs']} pairs, {report['source_words']} source words, {report['target_words']} target words; "
        f"{report['links']} links by {report['direction']}."
    )
    for name, model in report["models"].items():
        values, converged = model["log_likelihoods"], ", converged" if model["converged"] else ""
        say(f"{name}: log-likelihood {values[0]:.0f} to {values[-1]:.0f} in {len(values) - 1} iterations{converged}.")
    if report["gold"] is None:
        return
    known = report["gold"]["coverage"]
    say(f"Of the gold's words the table knows {known['source']:.1%} (source) and {known['target']:.1%} (target).")
    if "refused" in report["gold"]:
        say(report["gold"]["refused"], style="yellow")
        return
    table = listing("direction", "links", "precision", "recall", "AER")
    for row in report["gold"]["scores"]:
        shares = ("" if row[name] is None else f"{row[name]:.3f}" for name in ("precision", "recall", "aer"))
        table.add_row(row["direction"], str(row["links"]), *shares)
    console().print(table)
