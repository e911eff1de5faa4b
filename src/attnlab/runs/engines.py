"""Engines by name: ``local`` and ``ray``."""

from attnlab.cluster.connection import check_engine
from attnlab.runs.engine import Engine, LocalEngine
from attnlab.runs.environment import cores


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
