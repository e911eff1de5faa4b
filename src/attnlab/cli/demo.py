"""``attnlab demo``: the papers' most surprising result in a few minutes."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.padding import Padding
from typer import Option

from attnlab.cli.options import JobsOption, Screen, StoreOption, check_device, console, look_at, say, settings, workers

SEEDS = (0, 1, 2)


def demo(
    out: Annotated[Path, Option(help="The page to write.")] = Path("attnlab-demo.html"),
    jobs: JobsOption = None,
    store: StoreOption = Path("runs"),
) -> None:
    """Train six small networks and see why an easier task can be harder to learn (a few minutes on two cores)."""
    from attnlab.experiments.copying.demo import story_of
    from attnlab.experiments.copying.experiment import PERMUTATIONS, SELECTIONS
    from attnlab.files import check_outputs
    from attnlab.lab.conduct import train_all
    from attnlab.lab.outcomes import Outcome, Runs
    from attnlab.lab.replays import watched_schedule
    from attnlab.pages.page import write_page
    from attnlab.runs.engine import LocalEngine
    from attnlab.runs.progress import watching
    from attnlab.runs.store import RunStore

    check_outputs([out], [store])
    settings.kept = f"What was trained is kept in {store}; the same command goes on from there."
    engine = LocalEngine(workers(jobs), check_device(settings.device))
    screen = console()
    screen.print("Two ways to learn copying, three networks each. Which is easier: 40 of 60 words, or all of 40?")
    wanted = [(setting, seed) for setting in (SELECTIONS, PERMUTATIONS) for seed in SEEDS]
    jobs_wanted = [setting.job(seed, "quick") for setting, seed in wanted]
    planned = [replace(job, schedule=watched_schedule(job.schedule, ())) for job in jobs_wanted]
    with watching(screen, engine.workers) as watch:
        done = train_all(planned, RunStore(store), engine, watch)
    story = story_of(Runs(Outcome(setting.name, seed, done[setting.spec(seed).id]) for setting, seed in wanted))
    write_page(out, story.title, story.lead, story.sections)
    if not settings.quiet:
        screen = Screen()
        screen.print(f"\n{story.lead}", style="bold")
        for section in story.sections:
            if section.paragraphs:
                screen.print(f"\n{section.heading}", style="bold")
            for paragraph in section.paragraphs:
                screen.print(Padding(paragraph, (0, 0, 0, 2)), width=min(screen.width, 100))
        screen.print()
    say(str(out))
    console().print(f"Look at it: {look_at(out)}", soft_wrap=True)
