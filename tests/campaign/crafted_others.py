"""Results and cached corpora that are sealed rightly and are not what they should be."""

import json
import os
from pathlib import Path
from random import Random

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load
from tests.campaign.damage import Harm, files_in, odd_value

from attnlab.data.cache import write_cached
from attnlab.files import BLANK_SEAL, seal
from attnlab.lab.result import Document


def crafted_result(folder: Path, random: Random) -> Harm:
    """A value that a reader relies on is of another type, or gone."""
    path = random.choice([path for path in files_in(folder) if path.name == "result.json"])
    document = json.loads(path.read_bytes())
    needed = [name for name, field in Document.model_fields.items() if field.is_required()]
    part, key = document, random.choice(needed)
    while random.random() < 0.6 and isinstance(part[key], dict | list) and part[key]:
        part = part[key]
        key = random.choice(list(part) if isinstance(part, dict) else range(len(part)))
    if random.random() < 0.3 and isinstance(part, dict) and part is document:
        del part[key]
    else:
        part[key] = random.choice([{"no": ["such"]}, [[[]]], odd_value(part[key], random)])
    text = json.dumps({**document, "seal": BLANK_SEAL}, indent=2).encode()
    path.write_bytes(seal(text))
    return Harm(f"{key} of {path} crafted", (path,))


def crafted_cache(folder: Path, random: Random) -> Harm:
    """Arrays or facts of another form, with a digest that agrees."""
    path = random.choice(files_in(folder))
    arrays = load(path.read_bytes())
    facts = json.loads(_header(path)["facts"])
    name = random.choice(sorted(arrays))
    others = [
        {name: arrays[name].astype(np.float64)},
        {name: arrays[name][:0]},
        {name: arrays[name].reshape(1, -1)},
        {name: arrays[name][::-1].copy()[: len(arrays[name]) // 2]},
        {},
        {f"x{name}": arrays[name]},
    ]
    if random.random() < 0.3:
        facts = random.choice([[], {}, None, {"name": 1}, {**facts, "name": 3}, {**facts, "notes": [{"a": 1}]}])
    else:
        arrays.pop(name)
        arrays |= random.choice(others)
    os.environ["ATTNLAB_CACHE"] = str(folder)
    write_cached(path.stem, arrays, facts)
    return Harm(f"{path} crafted ({name}, {facts!r:.40})", (path,))


def _header(path: Path) -> dict[str, str]:
    with safe_open(path, "numpy") as stored:
        return stored.metadata()
