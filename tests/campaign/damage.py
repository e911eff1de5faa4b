"""Damage to a folder of files: bytes altered, files gone, strange or of another place, and files that are sealed
rightly and are not what they should be. Each kind draws its place itself; `corruptions.KINDS` says what is done where.
"""

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load, save
from tests.campaign.contents import CONTENTS, KINDS, mutated

from attnlab.files import to_json, to_sealed_json
from attnlab.runs.tables import owner, to_parquet


@dataclass(frozen=True)
class Harm:
    """What was done in words, and the paths of which one has to be named.

    ``quiet``: it may also go unnoticed: nothing is lost by it, or all of a result is, which then was not run.
    ``forged``: a checkpoint with weights of another form. A finished run is not trained on, so nobody looks at them
    then; `verify` names them, training on refuses them, and so does a network that is to have these weights.
    """

    what: str
    paths: tuple[Path, ...]
    quiet: bool = False
    forged: bool = False


Damage = Callable[[Path, Random], Harm | None]
"""Does something to a folder; None if what was drawn changes nothing."""


def files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and ".locks" not in path.parts]


def altered(folder: Path, random: Random) -> Harm | None:
    path = random.choice(files_in(folder))
    before = path.read_bytes()
    after = mutated(before, random)
    path.write_bytes(after)
    return None if after == before else Harm(f"bytes of {path}", (path,))


def flipped(folder: Path, random: Random) -> Harm:
    path = random.choice(files_in(folder))
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    return Harm(f"a bit of {path}", (path,))


def replaced(folder: Path, random: Random) -> Harm | None:
    path, (name, content) = random.choice(files_in(folder)), random.choice(list(CONTENTS.items()))
    path.write_bytes(content(random))
    return Harm(f"{name} as {path}", (path,))


def strange(folder: Path, random: Random) -> Harm:
    path, (name, make) = random.choice(files_in(folder)), random.choice(list(KINDS.items()))
    path.unlink()
    make(path, random)
    return Harm(f"{name} as {path}", (path,))


def gone(folder: Path, random: Random) -> Harm:
    """A file, or a folder below."""
    path = random.choice(files_in(folder))
    while path.parent != folder and path.parent.parent != folder and random.random() < 0.3:
        path = path.parent
    newest = max((int(one.name) for one in path.parent.iterdir() if one.name.isdecimal()), default=0)
    whole = path.is_relative_to("results") and any(path.rglob("result.json"))
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    # Only the newest weights of a finished run have to be there, since any other goes on from the ones before; when
    # updates took how long is nobody's result; a result that is gone with all its files was not run.
    older = path.parent.name == "checkpoints" and (int(path.name) != newest or _goes_on(path.parent.parent))
    # Where no weights are left, nobody knows of which step they were.
    paths = (path, path.parent) if path.parent.name == "checkpoints" else (path,)
    return Harm(f"{path} gone", paths, quiet=older or whole or path.name == "timing.json")


def _goes_on(run: Path) -> bool:
    return bool(json.loads((run / "status.json").read_bytes())["status"] == "running")


def linked(folder: Path, random: Random) -> Harm:
    """A file or a folder that is elsewhere, and a link in its place."""
    path = random.choice(files_in(folder))
    if path.parent != folder and random.random() < 0.4:
        path = path.parent
    outside = folder.parent / f"outside-{random.randrange(10**9)}"
    path.rename(outside)
    path.symlink_to(outside.resolve())
    return Harm(f"{path} linked to {outside}", (path,))


def exchanged(folder: Path, random: Random) -> Harm | None:
    """Two whole files or folders of the same kind, each in the other's place: of another run, step or result."""
    one = random.choice(files_in(folder))
    if one.parent != folder and random.random() < 0.3:
        one = one.parent
    alike = [path for path in sorted(folder.rglob("*")) if _alike(path, one)]
    if not alike:
        return None
    other = random.choice(alike)
    if one.is_file() and one.read_bytes() == other.read_bytes():
        return None
    aside = folder.parent / "aside"
    one.rename(aside)
    if random.random() < 0.5:
        other.rename(one)
        aside.rename(other)
        return Harm(f"{one} and {other} exchanged", (one, other))
    (shutil.copytree if other.is_dir() else shutil.copy)(other, one)
    return Harm(f"{other} copied to {one}", (one,))


def _alike(path: Path, one: Path) -> bool:
    related = path in one.parents or one in path.parents or path == one
    return not related and path.is_dir() == one.is_dir() and path.suffix == one.suffix and ".locks" not in path.parts


def misplaced(folder: Path, random: Random) -> Harm | None:
    """Any file in any other's place."""
    one, other = random.choice(files_in(folder)), random.choice(files_in(folder))
    if one.read_bytes() == other.read_bytes():
        return None
    shutil.copy(other, one)
    return Harm(f"{other} copied to {one}", (one,))


# --- sealed rightly

ODD = [None, True, -1, 0.5, 10**30, "", "x", [], {}, [1], {"a": 1}, {"$float": "x"}, "\x1b[31m", [[[[]]]]]


def odd_value(value: Any, random: Random) -> Any:
    """A value of another type."""
    return random.choice([odd for odd in ODD if type(odd) is not type(value) or odd is None])


def crafted_document(folder: Path, random: Random) -> Harm:
    """A sealed document with a value of another type, without a key, or with another document's content."""
    path = random.choice([path for path in files_in(folder) if path.suffix == ".json" and path.name != "record.json"])
    document = json.loads(path.read_bytes())
    document.pop("seal")
    key = random.choice(_needed(path.name, document))
    value = None
    if random.random() < 0.3:
        del document[key]
    else:
        document[key] = value = odd_value(document[key], random)
    path.write_bytes(to_sealed_json(document))
    # A version or a time that is another, or not there, is as good as any; a setting that is not there has its default.
    plausible = {"environment.json": (str, int), "timing.json": (int, float), "spec.json": ()}.get(path.name)
    quiet = plausible is not None and (key not in document or isinstance(value, plausible))
    listed = path.name == "manifest.json"
    how = f"as {value!r}" if key in document else "away"
    # A manifest that lies on the other files makes them the ones that do not agree with it.
    return Harm(f"{key} of {path} crafted {how}", tuple(path.parent.iterdir()) if listed else (path,), quiet)


def _needed(name: str, document: dict[str, Any]) -> list[str]:
    """The keys without which a document says something else; of a manifest not its run, which earlier ones lack."""
    if name == "manifest.json":
        return ["step", "files"]
    if name == "status.json":
        return ["status", "step", "message"]
    return sorted(document.keys() - {"run"}) or ["run"]


def crafted_state(folder: Path, random: Random) -> Harm:
    """A checkpoint whose tensors or record are not the run's, with a manifest that says they are right."""
    place = random.choice(sorted(folder.glob("*/checkpoints/*")))
    name = random.choice(["tensors.safetensors", "record.json"])
    data = (place / name).read_bytes()
    data = _crafted_tensors(data, random) if name.startswith("tensors") else _crafted_record(data, random)
    (place / name).write_bytes(data)
    manifest = json.loads((place / "manifest.json").read_bytes())
    del manifest["seal"]
    manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    (place / "manifest.json").write_bytes(to_sealed_json(manifest))
    paths = place / name, place.parent.parent / "metrics.parquet"  # with which its record does not agree
    return Harm(f"{place / name} crafted", paths, forged=name.startswith("tensors"))


def _crafted_tensors(data: bytes, random: Random) -> bytes:
    tensors = load(data)
    name = random.choice(sorted(tensors))
    value = tensors.pop(name)
    others: list[dict[str, torch.Tensor]] = [
        {},
        {f"x{name}": value},
        {name: value.double()},
        {name: value.reshape(-1)[:0]},
        {name: value.unsqueeze(0)},
        {name: value, "model.extra": value.clone()},
        {name: value.to(torch.int8)},
    ]
    text = json.dumps({name: {"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}}).encode()
    lie = len(text).to_bytes(8, "little") + text
    way = random.randrange(len(others) + 2)
    return (
        save(tensors | others[way])
        if way < len(others)
        else lie
        if way == len(others)
        else random.choice([b"", b"{}", data[:50]])
    )


def _crafted_record(data: bytes, random: Random) -> bytes:
    record = json.loads(data)
    rows = record["metrics"]
    crafted: list[Any] = [
        [],
        None,
        {**record, "metrics": {"a": 1}},
        {**record, "metrics": [{**row, "step": "x"} for row in rows]},
        {**record, "metrics": [{**row, "step": 10**30} for row in rows]},
        {
            **record,
            "metrics": [
                {**row, random.choice(list(row)): odd_value(0.1, random) if random.random() < 0.5 else 77}
                for row in rows
            ],
        },
        {**record, "metrics": [*rows, {"step": 99, "accuracy": 1.0}]},
    ]
    return random.choice([*(to_json(one) for one in crafted), b"[" * 50_000 + b"]" * 50_000])


def crafted_table(folder: Path, random: Random) -> Harm:
    """Metrics or fields of another form, with a right seal and their owner's marks or none."""
    path = random.choice(sorted(folder.rglob("*.parquet")))
    whole = pq.read_table(io.BytesIO(path.read_bytes())).replace_schema_metadata(None)
    tables = [
        pa.table({}),
        pa.table({"step": ["a"]}),
        pa.table({"loss": [0.5]}),
        pa.table({"step": [5, 5]}),
        pa.table({"step": [[1]], "loss": [{"a": 1}]}),
        whole.rename_columns([f"x{name}" for name in whole.column_names]),
    ]
    step, run = None, path.parent.name
    if path.parent.name == "fields":
        step, run = int(path.stem), path.parent.parent.name
    else:
        tables += [whole.slice(0, 0), pa.concat_tables([whole, whole]), _altered(whole, random)]
    path.write_bytes(to_parquet(random.choice(tables), owner(run, step) if random.random() < 0.5 else None))
    return Harm(f"{path} crafted", (path,))


def _altered(table: pa.Table, random: Random) -> pa.Table:
    """One number is another; as likely as any."""
    name = random.choice([name for name in table.column_names if name != "step"])
    place, values = table.column_names.index(name), table[name].to_pylist()
    values[random.randrange(len(values))] = 0.77
    return table.set_column(place, name, pa.array(values, table[name].type))


def crafted_text(folder: Path, random: Random) -> Harm:
    """The bytes of a sealed document replaced by odd JSON that is sealed."""
    path = random.choice([path for path in files_in(folder) if path.suffix == ".json" and path.name != "record.json"])
    deep = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b',"seal":"attnlab-sha256:' + b"0" * 64 + b'"}'
    texts = [
        deep,
        deep[-90:],
        b'["attnlab-sha256:' + b"0" * 64 + b'"]',
        b'{"a":' + b"9" * 5000 + deep[-90:],
        to_json({"a": 1}),
    ]
    data = random.choice(texts)
    path.write_bytes(data.replace(b"0" * 64, sha256(data).hexdigest().encode()))
    return Harm(f"{path} crafted as text", (path,))


def added(folder: Path, random: Random) -> Harm:
    """A file that nobody wrote, beside the others."""
    place = random.choice(files_in(folder)).parent
    path = place / random.choice(
        ["notes.txt", "spec_json", "007", ".new-status.json", ".old-5", "extra.parquet", "x.csv"]
    )
    path.write_bytes(random.randbytes(20))
    return Harm(f"{path} added", (path,))
