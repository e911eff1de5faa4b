"""What experiments on copying share: P3's network on a task, trained until it has learned or to the end."""

from collections.abc import Callable, Collection, Mapping

from attnlab.families.copying.spec import CopyingSpec, DistributionSpec, Seq2SeqSpec
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Setting, by_preset
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

Seeds = tuple[int, int, int]
"""How many seeds quick, reduced and paper train."""
IN_200 = by_preset(WITHIN, WITHIN, WITHIN)
TO_THE_END: tuple[Preset, ...] = ("reduced", "paper")


def network_on(
    name: str,
    task: CopyingSpec | DistributionSpec | Callable[[int], CopyingSpec],
    seeds: Seeds,
    steps: Mapping[Preset, int] = IN_200,
    whole: Collection[Preset] = (),
    model: Seq2SeqSpec | None = None,
) -> Setting:
    """P3's network (batch 128, hidden 256, Adam 1e-3) on a task, or on that of each seed; one seed for start and data.

    Runs end once they have learned, or after so many ``steps``; at the presets ``whole`` not before that. ``model``:
    another network than the text's.
    """

    def spec(seed: int) -> RunSpec:
        own = task(seed) if callable(task) else task
        own = own if isinstance(own, CopyingSpec) else CopyingSpec(distribution=own)
        return RunSpec(task=own, model=model or Seq2SeqSpec(), init_seed=seed, data_seed=seed)

    schedules = {
        preset: Schedule.every(EVERY, steps=most, stop_at=None if preset in whole else LEARNED)
        for preset, most in steps.items()
    }
    return Setting(name, spec, by_preset(*seeds), schedules)


def task_of(spec: RunSpec | None) -> CopyingSpec:
    """What a run on copying is trained on."""
    assert spec is not None
    assert isinstance(spec.task, CopyingSpec)
    return spec.task
