"""How many runs forecast-text asks for on the real corpora."""

import pytest

from attnlab.experiments.forecast_text.experiment import notes
from attnlab.experiments.texts import classification
from attnlab.lab.experiment import Order
from attnlab.lab.registry import find_experiment


@pytest.mark.needs_data("sst", "sms_spam", "ag_news")
@pytest.mark.parametrize(("preset", "count", "shared"), [("quick", 10, 0), ("reduced", 40, 4), ("paper", 60, 12)])
def test_presets(data_root, preset, count, shared):
    experiment = find_experiment("forecast-text")
    jobs = experiment.at_most(Order(preset), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == count
    corpora = {job.spec.task.corpus for job in jobs}
    theirs = {
        job.spec.id
        for name in corpora
        for job in classification.jobs_on(name, ("reference", "comparison"), Order(preset))
    }
    assert len(theirs & {job.spec.id for job in jobs}) == shared
    assert {job.spec.init_seed for job in experiment.plan(Order(preset, seeds=1), {})} == {20, 13}
    assert any(note.startswith(preset) for note in notes(Order(preset))) == (preset != "paper")
