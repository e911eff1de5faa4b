"""A checkpoint with other tensors than the run's, whose manifest says that they are right."""

import json
from hashlib import sha256

import torch
from safetensors.torch import load, save

from attnlab.files import to_sealed_json
from attnlab.runs.store import Run


def forge(run: Run, step: int, how: str) -> None:
    """Alter the network's first tensor: ``missing``, ``renamed``, of another ``shape``, of whole ``numbers``."""
    place = run.path / "checkpoints" / str(step)
    tensors = load((place / "tensors.safetensors").read_bytes())
    name = min(name for name in tensors if name.startswith("model."))
    value = tensors.pop(name)
    forged = {
        "missing": {},
        "renamed": {"model.other": value},
        "shape": {name: value.unsqueeze(0)},
        "numbers": {name: value.to(torch.int8)},
    }
    data = save(tensors | forged[how])
    (place / "tensors.safetensors").write_bytes(data)
    manifest = json.loads((place / "manifest.json").read_bytes())
    del manifest["seal"]
    manifest["files"]["tensors.safetensors"] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    (place / "manifest.json").write_bytes(to_sealed_json(manifest))


WAYS = ("missing", "renamed", "shape", "numbers")
