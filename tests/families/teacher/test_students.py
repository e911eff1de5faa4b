"""Teachers, students side by side and alone, Newton's steps, killed and resumed runs, bad settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnlab.errors import RunFailed, UsageError
from attnlab.families.registry import build_problem
from attnlab.families.teacher.spec import StudentSpec, TeacherSpec
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.optimisers import AdamSpec, SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

FEATURES: dict[str, Any] = {"form": "features", "inputs": 8, "relevant": 3, "hidden": 4, "tests": 50}
WORDS: dict[str, Any] = {
    "form": "words",
    "inputs": 5,
    "relevant": 2,
    "size": 4,
    "hidden": 3,
    "value_size": 3,
    "tests": 50,
}


def run(task: dict[str, Any], seed: int = 0, batch: int | None = None, **model: Any) -> RunSpec:
    newton = model.get("steps", "gradient") != "gradient"
    return RunSpec(
        task=TeacherSpec(**{"samples": 40, **task}),
        model=StudentSpec(hidden=4, value_size=3, **model),
        optimiser=SgdSpec(learning_rate=1.0) if newton else AdamSpec(learning_rate=0.01),
        batch=batch,
        init_seed=seed,
        data_seed=seed,
    )


NEWTON: dict[str, Any] = {"steps": "newton", "precision": "double", "ridge": 1e-3, "tau0": 5.0}


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("relevance", ["fixed", "input"])
def test_words_teachers_read_the_relevant_words_alone(relevance: str, layers: int) -> None:
    teachers = TeacherSpec(**WORDS, relevance=relevance, layers=layers, samples=10).teachers("double")
    teacher, x = teachers.teacher(3), teachers.draw(20, 0, "test")
    other = x.clone()
    irrelevant = (x[0, :, 0] < 0).unsqueeze(1).expand(-1, x.shape[2] - 2, -1)
    other[0, :, 2:][irrelevant] += 1.0
    assert int((x[0, :, 0] > 0).sum(-1).unique()) == 2
    torch.testing.assert_close(teacher(x), teacher(other), atol=0.01, rtol=0)
    other[0, :, 2:] = x[0, :, 2:] + 1.0
    assert (teacher(x) - teacher(other)).abs().max() > 0.1


def test_outputs_have_a_spread_of_one_and_noise_is_in_the_sample_alone() -> None:
    data = TeacherSpec(**{**FEATURES, "tests": 3000}, samples=3000, noise=0.5, problems=2).data(0, "double")
    assert data.test.y.std(1).tolist() == pytest.approx([1.0, 1.0], abs=0.1)
    sample = torch.cat([data.valid.y, data.train.y], 1)
    assert sample.var(1).tolist() == pytest.approx([1.25, 1.25], abs=0.15)


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    small, large = (TeacherSpec(**WORDS, samples=n).teachers("double")._drawn(n, 5, 3)[0] for n in (10, 30))
    assert torch.equal(small.x, large.x[:, :10])
    assert torch.equal(small.y, large.y[:, :10])


@pytest.mark.parametrize(("task", "model"), [(FEATURES, {"network": "known"}), (WORDS, {"network": "attention"})])
def test_problems_side_by_side_are_learned_as_alone(tmp_path: Path, task: Any, model: Any) -> None:
    schedule = Schedule.every(20, steps=40)
    store = RunStore(tmp_path)
    together = train(run({**task, "problems": 3}, **model), schedule, store).rows[-1]
    for seed in range(3):
        alone = train(run(task, seed=seed, **model), schedule, store).rows[-1]
        for name in ("train", "valid", "test"):
            assert together[f"{name}_{seed}"] == pytest.approx(alone[f"{name}_0"], abs=1e-4)


def test_starts_on_one_sample_are_trained_as_alone(tmp_path: Path) -> None:
    schedule = Schedule.every(20, steps=40)
    together = train(run(FEATURES, starts=3), schedule, RunStore(tmp_path)).rows[-1]
    for start in range(3):
        spec = run(FEATURES).model_copy(update={"init_seed": start})
        assert together[f"test_{start}"] == pytest.approx(
            train(spec, schedule, RunStore(tmp_path)).rows[-1]["test_0"], abs=1e-4
        )


@pytest.mark.parametrize("task", [FEATURES, {**FEATURES, "relevance": "input"}])
@pytest.mark.parametrize("network", ["known", "baseline"])
def test_newton_steps_end_at_stationary_points(tmp_path: Path, task: Any, network: str) -> None:
    spec = run(task, network=network, starts=3, **NEWTON)
    row = train(spec, Schedule(steps=120, evaluations=(120,)), RunStore(tmp_path)).rows[-1]
    assert all(row[f"gradient_{k}"] < 1e-6 for k in range(3))
    assert all(row[f"lowest_{k}"] > 0 for k in range(3))  # descent ended at minima
    # The gradient of the loss itself, by automatic differentiation, vanishes with the ridge's.
    problem = build_problem(spec)
    run_ = RunStore(tmp_path).run(spec.id)
    weights = run_.load(120).tensors
    problem.model.load_state_dict({name[6:]: value for name, value in weights.items() if name.startswith("model.")})
    loss = (problem.model.read(problem.full_x()).squeeze(-1) - problem.y).square().mean(1).sum() / 2  # type: ignore[attr-defined, operator]
    loss.backward()
    used = problem.used  # type: ignore[attr-defined]
    for name in ("w1", "w2"):
        value = problem.trained_parameters()[name]
        total = value.grad + NEWTON["ridge"] * value  # type: ignore[operator]
        total = total[:, used] if name == "w1" else total
        assert float(total.detach().abs().max()) < 1e-6


def test_newton_steps_of_self_attention(tmp_path: Path) -> None:
    spec = run(WORDS, network="attention", starts=2, query_size=2, **NEWTON)
    row = train(spec, Schedule(steps=200, evaluations=(200,)), RunStore(tmp_path)).rows[-1]
    assert all(row[f"gradient_{k}"] < 1e-6 for k in range(2))


def test_the_search_for_saddles_finds_stationary_points_that_descent_leaves(tmp_path: Path) -> None:
    spec = run(FEATURES, network="known", starts=25, **{**NEWTON, "steps": "saddle"})
    row = train(spec, Schedule(steps=400, evaluations=(400,)), RunStore(tmp_path)).rows[-1]
    arrived = [k for k in range(25) if row[f"gradient_{k}"] < 1e-6]
    assert arrived
    assert any(row[f"lowest_{k}"] < -1e-6 for k in arrived)


@pytest.mark.parametrize("model", [{"network": "known"}, {"network": "known", "starts": 2, **NEWTON}])
def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path, model: Any) -> None:
    spec, schedule = run(FEATURES, **model), Schedule(steps=30, evaluations=(30,), checkpoint_every=10)
    whole = train(spec, schedule, RunStore(tmp_path / "a"))
    calls = iter(range(100))
    with pytest.raises(Interrupted):
        train(spec, schedule, RunStore(tmp_path / "b"), interrupted=lambda: next(calls) >= 17)
    assert train(spec, schedule, RunStore(tmp_path / "b")).rows == whole.rows


def test_a_loss_that_is_not_finite_is_a_sentence(tmp_path: Path) -> None:
    spec = run(FEATURES).model_copy(update={"optimiser": SgdSpec(learning_rate=1e30)})
    with pytest.raises(RunFailed, match="the loss at step"):
        train(spec, Schedule.every(10, steps=20), RunStore(tmp_path))


@pytest.mark.parametrize(
    ("task", "model", "words"),
    [
        ({**FEATURES, "relevant": 9}, {}, "s0 = 9 relevant features of p = 8"),
        ({**FEATURES, "samples": 0}, {}, "samples"),
        ({**WORDS, "relevance": "softmax"}, {}, "softmax is for features"),
        ({**WORDS, "size": 2}, {}, "t is at least 3"),
        (WORDS, {"network": "known"}, "needs a teacher of features"),
        (FEATURES, {"network": "attention"}, "needs words"),
        ({**FEATURES, "problems": 2}, {"starts": 2}, "cannot both be more than 1"),
        (FEATURES, {"steps": "newton"}, "precision = double"),
        (WORDS, {"network": "attention", **NEWTON, "steps": "saddle"}, "baseline and known"),
        (WORDS, {"network": "attention", "heads": 2}, "2 heads"),
    ],
)
def test_bad_settings_are_refused(task: Any, model: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(task, **model)


def test_a_sample_of_one_cannot_be_split() -> None:
    with pytest.raises(UsageError, match="n = 2 is the least"):
        build_problem(run({**FEATURES, "samples": 1}))


def test_batches_are_drawn_for_each_problem_by_step() -> None:
    problem = build_problem(run({**FEATURES, "problems": 2}, batch=8))
    first = [float(problem.loss(step).detach()) for step in (0, 1, 0)]
    assert first[0] == first[2] != first[1]
    assert np.isfinite(first).all()
