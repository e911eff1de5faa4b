"""Progress as it is printed, on a clock of our own."""

import io

import pytest
from rich.console import Console

from attnlab.runs import progress
from attnlab.runs.engine import Event, Job
from attnlab.runs.progress import SweepDisplay, clock, run_progress, watching
from attnlab.runs.schedule import Schedule


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


def test_in_a_file_a_sweep_is_a_line_every_half_minute_at_most(make_spec, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    jobs = [Job(f"seed {n}", make_spec(n), Schedule.every(10, steps=100)) for n in range(3)]
    out = io.StringIO()
    with watching(Console(file=out, width=20, force_terminal=False)) as watch:
        report = watch(jobs)
        report(jobs[0], Event(0, "moved", 0))
        now[0] += 29
        report(jobs[0], Event(0, "moved", 40, {"accuracy": 0.625}))
        assert out.getvalue() == ""
        now[0] += 1
        report(jobs[0], Event(0, "finished", 60))
        report(jobs[1], Event(1, "moved", 10))
        now[0] += 40
        report(jobs[1], Event(1, "failed", error="no"))
    assert out.getvalue().splitlines() == [
        "1 of 3 runs, 33% of the updates; 0:30 gone, at most 1:40 left",
        "2 of 3 runs, 1 failed, 67% of the updates; 1:10 gone, at most 1:57 left",
    ]


def test_time_left_follows_the_last_minute_and_not_the_better_past(make_spec, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    (job,) = [Job("seed 0", make_spec(0), Schedule.every(100, steps=1000))]
    display = SweepDisplay([job])
    for step in range(0, 601, 10):  # ten updates a second for a minute
        now[0] = step / 10
        display.report(job, Event(0, "moved", step))
    assert display.left(now[0]) == pytest.approx(40)
    for step in range(601, 701):  # then one
        now[0] += 1
        display.report(job, Event(0, "moved", step))
    assert display.left(now[0]) == pytest.approx(300, rel=0.05)
    now[0] += 600  # then none: the rest takes longer the longer it stands
    assert display.left(now[0]) > 3000


def test_time_left_counts_what_each_worker_has_before_it(make_spec, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    jobs = [Job(f"seed {n}", make_spec(n), Schedule.every(10, steps=100)) for n in range(3)]
    display = SweepDisplay(jobs, workers=2)
    for job in jobs[:2]:
        display.report(job, Event(0, "moved", 0))
    now[0] = 10.0
    display.report(jobs[0], Event(0, "moved", 50))
    display.report(jobs[1], Event(1, "moved", 50))
    # Both need ten seconds more, and the third is trained by one of them alone: twenty seconds at five updates each.
    assert display.left(now[0]) == pytest.approx(30)


def test_in_a_file_a_sweep_says_once_and_at_once_whom_it_waits_for(make_spec):
    jobs = [Job("seed 0", make_spec(0), Schedule.every(10, steps=100))]
    out = io.StringIO()
    with watching(Console(file=out, width=20, force_terminal=False)) as watch:
        report = watch(jobs)
        report(jobs[0], Event(0, "waits", error="Run a1 is in use by process 7 on [host]."))
        report(jobs[0], Event(0, "waits", error="Run a1 is in use by process 7 on [host]."))
    assert out.getvalue() == "Run a1 is in use by process 7 on [host].\n"


def test_on_a_terminal_a_sweep_is_shown_as_it_goes_and_cleared(make_spec):
    jobs = [Job("seed 0", make_spec(0), Schedule.every(10, steps=100))]
    out = io.StringIO()
    with watching(Console(file=out, width=100, force_terminal=True, color_system=None)) as watch:
        watch(jobs)(jobs[0], Event(0, "moved", 40))
    assert "seed 0" in out.getvalue()
    assert "0 of 1 runs" in out.getvalue()


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
