"""Progress as it is printed, on a clock of our own."""

import io

import pytest
from rich.console import Console

from attnlab.training import progress
from attnlab.training.engine import Event, Job
from attnlab.training.progress import SweepDisplay, clock, run_progress
from attnlab.training.schedule import Schedule


def printed(display):
    out = io.StringIO()
    Console(file=out, width=140, force_terminal=False).print(display)
    return out.getvalue()


def test_a_sweep_shows_step_rate_time_left_accuracy_and_the_whole(make_spec, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    jobs = [Job(f"seed {n}", make_spec(n), Schedule.every(10, steps=100)) for n in range(3)]
    display = SweepDisplay(jobs)
    display.report(jobs[0], Event(0, "began"))
    display.report(jobs[0], Event(0, "moved", 0))
    now[0] += 10
    display.report(jobs[0], Event(0, "moved", 40, {"accuracy": 0.625}))
    shown = printed(display)
    for part in ("seed 0", "40/100", "4.0", "0:15", "0.625", "0 of 3 runs", "0:10 gone, at most 1:05 left"):
        assert part in shown
    assert "seed 1" not in shown
    display.report(jobs[0], Event(0, "finished", 100))
    display.report(jobs[1], Event(1, "failed", error="no"))
    shown = printed(display)
    assert "2 of 3 runs, 1 failed" in shown
    assert "seed 0" not in shown


def test_a_sweep_says_whom_it_waits_for_as_long_as_it_does(make_spec):
    jobs = [Job("seed 0", make_spec(0), Schedule.every(10, steps=100))]
    display = SweepDisplay(jobs)
    display.report(jobs[0], Event(0, "waits", error="Run a1 is in use by process 7 on [host]."))
    assert "Run a1 is in use by process 7 on [host]." in printed(display)
    display.report(jobs[0], Event(0, "moved", 0))
    assert "in use" not in printed(display)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (61.4, "1:01"), (3723, "1:02:03"), (None, "-")])
def test_clock(seconds, shown):
    assert clock(seconds) == shown


def test_a_single_run_has_a_bar():
    out = io.StringIO()
    screen = Console(file=out, width=100, force_terminal=True, color_system=None)
    with run_progress(Schedule.every(10, steps=20), screen) as observe:
        observe(5, None)
        observe(10, {"accuracy": 0.75})
    assert "step 10/20" in out.getvalue()
    assert "accuracy 0.750" in out.getvalue()
