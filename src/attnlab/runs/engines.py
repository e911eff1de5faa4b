"""Engines by name: ``local`` and ``ray``."""

from attnlab.cluster.connection import Need, import_ray
from attnlab.errors import UsageError
from attnlab.runs.engine import Engine, LocalEngine
from attnlab.runs.environment import cores

ENGINES = ("local", "ray")


def check_engine(name: str, address: str | None = None, cpus: float | None = None, gpus: float | None = None) -> Need:
    """What each run takes, if there is such an engine and these settings are its own; a UsageError otherwise."""
    if name not in ENGINES:
        raise UsageError(f"There is no engine {name!r}; known engines are {', '.join(ENGINES)}.")
    if name == "local":
        given = {"--address": address, "--cpus-per-run": cpus, "--gpus-per-run": gpus}
        if named := [option for option, value in given.items() if value is not None]:
            raise UsageError(f"{named[0]} is for the engine ray; add --engine ray, or leave it out.")
        return Need()
    need = Need(1.0 if cpus is None else cpus, 0.0 if gpus is None else gpus)
    import_ray()
    return need


def make_engine(
    name: str = "local",
    *,
    workers: int | None = None,
    device: str = "cpu",
    address: str | None = None,
    cpus: float | None = None,
    gpus: float | None = None,
) -> Engine:
    """The engine ``name``. ``workers``: runs at once; None: one for each core, or as the cluster has room.

    The others are for the engine ray: where its cluster is (None: one is started here), and the processors and GPUs
    that each run takes.

    >>> make_engine("local", workers=2)
    LocalEngine(workers=2, device='cpu')
    """
    need = check_engine(name, address, cpus, gpus)
    if name == "local":
        return LocalEngine(cores() if workers is None else workers, device)
    from attnlab.runs.ray_engine import RayEngine

    return RayEngine(address, workers, need, "cuda" if need.gpus and device == "cpu" else device)
