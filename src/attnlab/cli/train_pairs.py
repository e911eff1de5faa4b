"""``attnlab train`` on sentence pairs: the papers' translator."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from attnlab.cli import options
from attnlab.cli.data_pairs import is_bitext, named_columns
from attnlab.cli.train_seeds import Seeds, print_seeds, train_seeds


def train_pairs(
    source: str,
    target: Path | None,
    columns: str | None,
    *,
    attention: Literal["learned", "uniform"],
    steps: int,
    patience: int,
    seeds: Seeds,
    store: Path,
    as_json: bool,
    **sizes: Any,
) -> None:
    """Train on a parallel corpus, then say how well it translates; the run is kept in the store."""
    from attnlab.auditing.network import best_kept_step
    from attnlab.auditing.training_pairs import bitext_task, pairs_schedule, translator_spec, validation_bleu
    from attnlab.runs.loop import train
    from attnlab.runs.progress import run_progress
    from attnlab.runs.store import RunStore

    known = target is None and columns is None and is_bitext(source)
    task, bitext = bitext_task(source, target, known=known, columns=named_columns(columns), **sizes)
    screen = options.console()
    for note in bitext.notes:
        screen.print(Text(note, "yellow"))
    spec = translator_spec(task, attention=attention, seed=seeds.first)
    schedule = pairs_schedule(len(bitext.train), steps, patience)
    options.settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    home = RunStore(store)
    if seeds.several:
        make_spec = partial(translator_spec, task, attention=attention)
        made = train_seeds(lambda number: make_spec(seed=number), schedule, seeds, store)
        print_seeds(made, as_json, content=task.content, notes=bitext.notes)
        return
    with run_progress(schedule, screen) as observe:
        done = train(spec, schedule, home, observe=observe, device=options.settings.device)
    run = home.run(done.id)
    step = best_kept_step(run)
    row = next(row for row in done.rows if row["step"] == step)
    score = validation_bleu(run)
    if as_json:
        result = {"run": done.id, "content": task.content, "steps": done.step, "best_step": step, **row}
        options.print_json({**result, "bleu": score.score, "signature": score.signature, "notes": bitext.notes})
        return
    words = f"{row['accuracy']:.1%} of the validation pairs' next pieces right"
    options.say(f"Run {done.id}: {words} after {step} updates, {score}.")
    if not options.settings.quiet:
        where = "" if str(store) == "runs" else f" --store {store}"
        options.say(f"Try it: attnlab translate {done.id} --attention{where}")
