"""The trainings of `attnlab.measures.samples` as tasks on a cluster: the same numbers, many at once."""

import json
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from safetensors.numpy import load, save

from attnlab.cluster.connection import (
    ONE_THREAD,
    ClusterError,
    Need,
    check_room,
    connect,
    import_ray,
    look_everywhere,
)
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.measures.samples import Drawn, Trainings, Watch

RETRIES = 3
"""Times that a training is begun again after its worker died; it takes seconds."""


class TrainOnRay:
    """A trainer for `attnlab.measures.samples.samples`."""

    def __init__(self, address: str | None = None, workers: int | None = None, need: Need | None = None) -> None:
        import_ray()
        self.address, self.workers, self.need = address, workers, need or Need()

    def __call__(self, trainings: Trainings, drawn: Sequence[Drawn], watch: Watch) -> Iterable[dict[str, float]]:
        ray = connect(self.address, (self.workers or os.cpu_count() or 1) * self.need.cpus)
        room = check_room(ray, self.need)
        look_everywhere(ray)
        texts = ray.put(pack_texts(trainings.pairs))
        how = {"num_cpus": self.need.cpus, "max_retries": RETRIES, "runtime_env": ONE_THREAD}
        task = ray.remote(train_sample).options(**how)
        most = self.workers or 2 * room
        out: dict[object, int] = {}
        made: dict[int, dict[str, float]] = {}
        waiting = list(range(len(drawn)))[::-1]
        while waiting or out:
            while waiting and len(out) < most:
                place = waiting.pop()
                out[task.remote([texts], *drawn[place])] = place
            ready, _ = ray.wait(list(out), timeout=1.0)
            for one in ready:
                place = out.pop(one)
                try:
                    made[place] = json.loads(ray.get(one))
                except ray.exceptions.RayError as error:
                    reason = str(getattr(error, "cause", None) or error).strip().split("\n")[-1][:300]
                    raise ClusterError(f"Training on {drawn[place][0]} texts failed ({reason}).") from None
                watch(f"{len(made)} of {len(drawn)} trainings are done")
        return [made[place] for place in range(len(drawn))]


def train_sample(texts: list[object], n: int, repeat: int) -> str:
    """Run on a node: the errors on one subsample, in JSON. ``texts``: a reference to what `pack_texts` gives."""
    return json.dumps(_trainings(texts[0]).errors((n, repeat)))


@lru_cache(maxsize=1)
def _trainings(reference: object) -> Trainings:
    return Trainings.of(unpack_texts(import_ray().get(reference)))


def pack_texts(pairs: SentencePairs) -> bytes:
    """Texts as bytes; words and labels by number alone, which is all that trainings need."""
    sizes = np.array([len(pairs.source_words), len(pairs.target_words)])
    arrays = {"source": pairs.source, "starts": pairs.source_offsets, "target": pairs.target, "sizes": sizes}
    return bytes(save({**arrays, "target_starts": pairs.target_offsets}))


def unpack_texts(data: bytes) -> SentencePairs:
    """What `pack_texts` was given, with numbers for names."""
    arrays = load(data)
    words = [[str(number) for number in range(size)] for size in arrays["sizes"].tolist()]
    source, target = arrays["source"], arrays["target"]
    return SentencePairs(source, arrays["starts"], target, arrays["target_starts"], words[0], words[1])
