"""Checkpoints: every tensor and every JSON value comes back as it was, and every altered bit is noticed."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlab.errors import DamagedCheckpoint, UsageError
from attnlab.files import fault_in_seal, from_json, to_json, to_sealed_json
from attnlab.runs.checkpoint import (
    Checkpoint,
    faults_in_checkpoint,
    load_checkpoint,
    looks_whole,
    recover_checkpoints,
    save_checkpoint,
)

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint64, torch.uint32, torch.uint16, torch.uint8,
    torch.bool, torch.complex64,
]  # fmt: skip
FILES = ["tensors.safetensors", "record.json", "manifest.json"]

anywhere = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def round_trip(folder: Path, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    save_checkpoint(folder, Checkpoint(3, tensors, {}))
    return load_checkpoint(folder / "3").tensors


def bits(tensor: torch.Tensor) -> bytes:
    """The elements' bytes in order: NaNs and negative zeros are told apart."""
    flat = tensor.detach().resolve_conj().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""


def assert_same(loaded: torch.Tensor, saved: torch.Tensor) -> None:
    assert (loaded.dtype, loaded.shape) == (saved.dtype, saved.shape)
    assert bits(loaded) == bits(saved)


def exactly(value: object) -> object:
    """A form in which equality means the same value, type and bits, with lists for tuples."""
    if isinstance(value, dict):
        return {key: exactly(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exactly(item) for item in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(shape=st.lists(st.integers(0, 5), max_size=3), data=st.data())
@settings(anywhere, max_examples=8)
def test_tensors_of_every_type_and_shape_come_back_bit_for_bit(
    tmp_path: Path, dtype: torch.dtype, shape: list[int], data: st.DataObject
) -> None:
    count = math.prod(shape) * torch.empty(0, dtype=dtype).element_size()
    raw = data.draw(st.lists(st.integers(0, 1 if dtype is torch.bool else 255), min_size=count, max_size=count))
    tensor = torch.tensor(raw, dtype=torch.uint8).view(dtype).reshape(shape)
    assert_same(round_trip(tmp_path, {"model.weight": tensor})["model.weight"], tensor)


def test_tensors_that_share_memory_or_are_not_contiguous_come_back_as_their_own(tmp_path: Path) -> None:
    base = torch.arange(24.0).reshape(4, 6)
    parameter = torch.nn.Parameter(base.clone())
    tensors = {
        "base": base,
        "same": base,
        "transposed": base.T,
        "strided": base[::2, 1::2],
        "expanded": base[0].expand(5, 6),
        "row": base[2],
        "conjugate": torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64).conj(),
        "parameter": parameter,
        "scalar": torch.tensor(5),
    }
    loaded = round_trip(tmp_path, tensors)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert_same(loaded[name], tensor)
    loaded["base"].zero_()
    assert_same(loaded["same"], base)  # no memory is shared after loading, so none is changed through another name
    assert not any(tensor.requires_grad for tensor in loaded.values())


def test_saving_leaves_the_tensors_and_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    weight = torch.linspace(0, 1, 7, requires_grad=True)
    for folder, names in (("a", ("x", "y")), ("b", ("y", "x"))):
        tensors = dict.fromkeys(names, weight)
        save_checkpoint(tmp_path / folder, Checkpoint(1, tensors, dict.fromkeys(names, 0.1)))
        assert weight.requires_grad
    for file in FILES:
        assert (tmp_path / "a" / "1" / file).read_bytes() == (tmp_path / "b" / "1" / file).read_bytes()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(record=st.dictionaries(st.text(), json_values, max_size=5))
@settings(anywhere)
def test_records_come_back_exactly_with_numbers_that_are_not_finite(record: dict[str, object]) -> None:
    data = to_json(record)
    assert exactly(from_json(data)) == exactly(record)
    assert to_json(from_json(data)) == data
    assert data.isascii()


def test_json_is_canonical_and_valid_where_numbers_are_not_finite() -> None:
    assert to_json({"b": math.nan, "a": [math.inf, -math.inf, 0.1]}) == (
        b'{"a":[{"$float":"inf"},{"$float":"-inf"},0.1],"b":{"$float":"nan"}}\n'
    )


@pytest.mark.parametrize("document", [{"seal": 1}, {"note": "attnlab-sha256:"}])
def test_a_document_that_would_confuse_the_seal_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="must not"):
        to_sealed_json(document)


@given(data=st.data())
@settings(anywhere)
def test_a_seal_notices_every_altered_bit_and_every_cut(data: st.DataObject) -> None:
    sealed = to_sealed_json({"seed": 7, "name": "copying", "rates": [0.1, 1e-3]})
    assert fault_in_seal(sealed) is None
    assert fault_in_seal(flipped(sealed, data.draw(st.integers(0, 8 * len(sealed) - 1)))) is not None
    assert fault_in_seal(sealed[: data.draw(st.integers(0, len(sealed) - 1))]) is not None


def flipped(data: bytes, bit: int) -> bytes:
    altered = bytearray(data)
    altered[bit // 8] ^= 1 << bit % 8
    return bytes(altered)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tensors = {"model.weight": torch.arange(12.0), "optimiser.step": torch.tensor(4)}
    save_checkpoint(tmp_path, Checkpoint(4, tensors, {"metrics": [{"step": 4, "loss": 0.25}]}))
    return tmp_path / "4"


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(anywhere, max_examples=60)
def test_a_flipped_bit_anywhere_is_named(place: Path, name: str, data: st.DataObject) -> None:
    whole = (place / name).read_bytes()
    (place / name).write_bytes(flipped(whole, data.draw(st.integers(0, 8 * len(whole) - 1))))
    assert_damaged(place, name)
    (place / name).write_bytes(whole)
    assert load_checkpoint(place).step == 4


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(anywhere, max_examples=20)
def test_a_cut_or_lengthened_file_is_named(place: Path, name: str, data: st.DataObject) -> None:
    whole = (place / name).read_bytes()
    size = data.draw(st.integers(0, len(whole) - 1))
    for altered in (whole[:size], whole + b"\n", b""):
        (place / name).write_bytes(altered)
        assert_damaged(place, name)
        assert not looks_whole(place)
    (place / name).write_bytes(whole)
    assert looks_whole(place)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(place: Path, name: str) -> None:
    (place / name).unlink()
    assert_damaged(place, name)
    assert not looks_whole(place)


def assert_damaged(place: Path, name: str) -> None:
    with pytest.raises(DamagedCheckpoint) as caught:
        load_checkpoint(place)
    message = str(caught.value)
    assert str(place / name) in message
    assert message.endswith(".")
    assert "\n" not in message
    assert faults_in_checkpoint(place) == [(place / name, message)]


def test_all_damaged_files_are_listed(place: Path) -> None:
    for name in FILES[:2]:
        (place / name).write_bytes(b"")
    assert [path.name for path, _ in faults_in_checkpoint(place)] == FILES[:2]


def test_a_checkpoint_under_another_steps_name_is_damaged(place: Path) -> None:
    other = place.rename(place.with_name("5"))
    with pytest.raises(DamagedCheckpoint, match="belongs to step 4"):
        load_checkpoint(other)


def test_a_checkpoint_of_another_format_is_not_misread(place: Path) -> None:
    (place / "manifest.json").write_bytes(to_sealed_json({"format": 2, "step": 4, "files": {}}))
    with pytest.raises(DamagedCheckpoint, match="format 2"):
        load_checkpoint(place)


@pytest.mark.parametrize("name", FILES)
def test_saving_over_a_damaged_checkpoint_makes_it_whole(place: Path, name: str) -> None:
    state = load_checkpoint(place)
    (place / name).write_bytes(b"rubbish")
    save_checkpoint(place.parent, state)
    assert faults_in_checkpoint(place) == []
    assert [path.name for path in place.parent.iterdir()] == ["4"]


def test_saving_another_state_of_the_same_step_replaces_it(place: Path) -> None:
    save_checkpoint(place.parent, Checkpoint(4, {"model.weight": torch.zeros(2)}, {"other": True}))
    assert load_checkpoint(place).record == {"other": True}
    assert [path.name for path in place.parent.iterdir()] == ["4"]


def test_what_a_killed_process_left_goes_into_an_empty_place_only_if_it_is_whole(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, Checkpoint(step, {"w": torch.tensor(step)}, {}))
    (tmp_path / "1").rename(tmp_path / ".old-1")  # killed between the two renames
    (tmp_path / "2").rename(tmp_path / ".new-2")
    (tmp_path / ".new-2" / "record.json").unlink()  # killed before the manifest
    (tmp_path / ".new-3").mkdir()  # killed at the very start
    recover_checkpoints(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "3"]
    assert load_checkpoint(tmp_path / "1").tensors["w"] == 1


def test_negative_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-1"):
        save_checkpoint(tmp_path, Checkpoint(-1, {}, {}))
    assert list(tmp_path.iterdir()) == []
