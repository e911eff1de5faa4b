"""LSTM and GRU against PyTorch's own on packed sequences, and that they neither see padding nor change global state."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.errors import UsageError
from attnlab.models import recurrent
from attnlab.models.recurrent import Recurrent, RecurrentOutput, RecurrentState

CELLS = ["lstm", "gru", "narrow lstm"]
LIBRARY = {"lstm": nn.LSTM, "gru": nn.GRU}


@dataclass
class Case:
    """A network and its input; `run` gives our outputs and gradients (of all there is), `expected` those of PyTorch."""

    network: Recurrent
    inputs: Tensor
    lengths: Tensor | None
    embedding: Tensor | None
    initial: RecurrentState | None

    def run(self) -> list[Tensor]:
        output = self.network(self.inputs, self.lengths, embedding=self.embedding, initial=self.initial)
        return self.with_gradients(listed(output), self.network)

    def expected(self) -> list[Tensor]:
        network, (batch, length) = self.network, self.inputs.shape[:2]
        library = LIBRARY[network.cell](
            network.input_size,
            network.hidden_size,
            network.layers,
            bidirectional=network.directions == 2,
            batch_first=True,
        ).to(network.weight_ih_l0.dtype)
        library.load_state_dict(network.state_dict(), strict=True)
        lengths = torch.full((batch,), length) if self.lengths is None else self.lengths
        vectors = self.inputs if self.embedding is None else self.embedding[self.inputs]
        start = None
        if self.initial is not None:
            start = self.initial.hidden if network.cell == "gru" else (self.initial.hidden, self.initial.cell)
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        packed_states, final = library(packed, start)
        states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=length)
        return self.with_gradients([states, *(final if network.cell == "lstm" else [final])], library)

    def with_gradients(self, outputs: list[Tensor], module: nn.Module) -> list[Tensor]:
        total = sum((factor * output).sin().sum() for factor, output in enumerate(outputs, 2))
        leaves = [leaf for leaf in (self.inputs, self.embedding) if leaf is not None and leaf.is_floating_point()]
        if self.initial is not None:
            leaves += [leaf for leaf in (self.initial.hidden, self.initial.cell) if leaf is not None]
        return [output.detach() for output in outputs] + list(
            torch.autograd.grad(total, leaves + list(module.parameters()))
        )


def listed(output: RecurrentOutput) -> list[Tensor]:
    return [x for x in (output.states, output.final.hidden, output.final.cell) if x is not None]


def make_case(
    cell: str,
    *,
    batch: int = 4,
    length: int = 6,
    lengths: list[int] | None = None,
    sizes: tuple[int, int] = (3, 5),
    layers: int = 1,
    bidirectional: bool = False,
    words: int = 0,
    starts: bool = False,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Case:
    """``words``: the vocabulary, 0 for vectors as input. ``starts``: whether initial states are given."""
    generator = torch.Generator().manual_seed(seed)
    kind = {"narrow lstm": {"cell": "lstm", "narrow": True}}.get(cell, {"cell": cell})
    sized = {"input_size": sizes[0], "hidden_size": sizes[1], "layers": layers, "bidirectional": bidirectional}
    network = Recurrent(**kind, **sized, generator=generator).to(dtype)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    embedding = normal(words, sizes[0]) if words else None
    inputs = torch.randint(words, (batch, length), generator=generator) if words else normal(batch, length, sizes[0])
    states = network.layers * network.directions, batch, sizes[1]
    initial = RecurrentState(normal(*states), normal(*states) if cell != "gru" else None) if starts else None
    return Case(network, inputs, None if lengths is None else torch.tensor(lengths), embedding, initial)


@st.composite
def cases(draw: st.DrawFn, *, dtype: torch.dtype = torch.float64, smallest: int = 1) -> Case:
    batch, length = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    each = st.lists(st.integers(1, length), min_size=batch, max_size=batch)
    return make_case(
        draw(st.sampled_from(CELLS)),
        batch=batch,
        length=length,
        lengths=draw(st.none() | each | st.integers(1, length).map(lambda equal: [equal] * batch)),
        sizes=(draw(st.integers(smallest, 6 * smallest)), draw(st.integers(smallest, 6 * smallest))),
        layers=draw(st.integers(1, 3)),
        bidirectional=draw(st.booleans()),
        words=draw(st.sampled_from([0, 1, 2, 7, 100])),
        starts=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32)),
        dtype=dtype,
    )


def assert_close(ours: list[Tensor], theirs: list[Tensor], share: float) -> None:
    """Each within ``share`` of the other's largest entry."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        assert (mine - other).abs().max() <= share * max(float(other.abs().max()), 1e-300)


@settings(max_examples=150)
@given(cases())
def test_values_and_gradients_are_those_of_pytorch(case: Case) -> None:
    for mine, other in zip(case.run(), case.expected(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(cases(dtype=torch.float32, smallest=8))
def test_single_precision_is_within_a_hundred_thousandth_of_the_largest_entry(case: Case) -> None:
    assert_close(case.run(), case.expected(), 1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_a_wide_batch_of_long_sequences_agrees_in_single_precision(cell: str) -> None:
    lengths = [1 + 7 * k % 60 for k in range(24)]
    case = make_case(
        cell, batch=24, length=60, lengths=lengths, sizes=(50, 64), bidirectional=True, words=300, dtype=torch.float32
    )
    assert_close(case.run(), case.expected(), 1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("words", [0, 3])
def test_gradients_are_the_limits_of_differences(cell: str, words: int) -> None:
    case = make_case(
        cell, batch=2, length=3, lengths=[1, 3], sizes=(2, 2), layers=2, bidirectional=True, words=words, starts=True
    )
    assert case.initial is not None
    hidden, cells = case.initial.hidden, case.initial.cell
    given = case.inputs if case.embedding is None else case.embedding

    def outputs(given: Tensor, hidden: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        cells, parameters = (rest[0], rest[1:]) if cell != "gru" else (None, rest)
        named = dict(zip(dict(case.network.named_parameters()), parameters, strict=True))
        inputs, embedding = (given, None) if case.embedding is None else (case.inputs, given)
        keywords = {"embedding": embedding, "initial": RecurrentState(hidden, cells)}
        return tuple(listed(torch.func.functional_call(case.network, named, (inputs, case.lengths), keywords)))

    parameters = list(case.network.parameters())
    torch.autograd.gradcheck(outputs, (given, hidden, *([] if cells is None else [cells]), *parameters))


@settings(max_examples=40)
@given(cases(), st.integers(0, 3))
def test_what_stands_in_the_padding_changes_nothing(case: Case, more: int) -> None:
    batch, length = case.inputs.shape[:2]
    if case.lengths is None:
        case.lengths = torch.arange(batch) % length + 1
    clean = case.run()
    outside = torch.arange(length + more) >= case.lengths[:, None]
    tail = case.inputs.new_zeros(batch, more, *case.inputs.shape[2:])
    dirty = torch.cat([case.inputs.detach(), tail], 1)
    dirty[outside] = float("nan") if case.embedding is None else -7
    case.inputs = dirty.requires_grad_() if case.embedding is None else dirty
    found = case.run()
    outputs = 3 if case.network.cell == "lstm" else 2
    for place in [0] if case.embedding is not None else [0, outputs]:  # the states and the gradient of vectors
        assert not found[place][outside].any()
        found[place] = found[place][:, :length]
    # Rows in another place in memory are added up in another order by some processors' libraries: 16 digits, the last
    # of them off. What is in the padding is not a number, or no word, and would be seen in all digits.
    for mine, other in zip(found, clean, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-13)


@settings(max_examples=25)
@given(cases())
def test_a_sequence_does_not_see_its_neighbours(case: Case) -> None:
    batch, length = case.inputs.shape[:2]
    lengths = [length] * batch if case.lengths is None else case.lengths.tolist()
    together = case.network(case.inputs, case.lengths, embedding=case.embedding, initial=case.initial)
    for k, own in enumerate(lengths):
        initial = case.initial
        if initial is not None:
            initial = RecurrentState(initial.hidden[:, [k]], None if initial.cell is None else initial.cell[:, [k]])
        alone = case.network(case.inputs[[k], :own], embedding=case.embedding, initial=initial)
        torch.testing.assert_close(alone.states[0], together.states[k, :own], rtol=0, atol=1e-12)
        torch.testing.assert_close(alone.final.hidden[:, 0], together.final.hidden[:, k], rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(cases())
def test_the_librarys_kernels_serve_a_gpu_with_the_same_numbers(case: Case) -> None:
    """On a CPU they give the same; whether they do on a GPU is not tested here."""
    ours = case.run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "_on_gpu", lambda _: True)
        theirs = case.run()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("words", [0, 5])
def test_gradients_are_the_same_in_evaluation_mode_and_when_the_graph_is_kept(cell: str, words: int) -> None:
    case = make_case(cell, lengths=[6, 2, 4, 6], bidirectional=True, words=words, starts=True)
    expected = case.run()
    case.network.eval()
    assert all(torch.equal(mine, other) for mine, other in zip(case.run(), expected, strict=True))
    output = case.network(case.inputs, case.lengths, embedding=case.embedding, initial=case.initial)
    parameters = list(case.network.parameters())
    loss = output.states.square().sum()
    first, second = (torch.autograd.grad(loss, parameters, retain_graph=True) for _ in range(2))
    last = torch.autograd.grad(loss, parameters)
    assert all(torch.equal(a, b) and torch.equal(b, c) for a, b, c in zip(first, second, last, strict=True))


@pytest.mark.parametrize("cell", CELLS)
def test_without_gradients_nothing_is_kept(cell: str) -> None:
    case = make_case(cell, lengths=[6, 2, 4, 6], words=5, layers=2)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        with torch.no_grad():
            silent = case.network(case.inputs, case.lengths, embedding=case.embedding)
        assert not kept
        loud = case.network(case.inputs, case.lengths, embedding=case.embedding)
        assert kept
    assert not silent.states.requires_grad
    assert torch.equal(silent.states, loud.states)


@pytest.mark.parametrize("cell", CELLS)
def test_second_derivatives_are_refused(cell: str) -> None:
    case = make_case(cell)
    with pytest.raises(UsageError, match="second derivative"):
        torch.autograd.grad(case.network(case.inputs).states.sum(), case.inputs, create_graph=True)


@settings(max_examples=25)
@given(cases(), st.data())
def test_frozen_parts_get_no_gradient_and_leave_the_others_alone(case: Case, data: st.DataObject) -> None:
    leaves = [*case.network.parameters(), case.inputs if case.embedding is None else case.embedding]
    if case.initial is not None:
        leaves += [state for state in (case.initial.hidden, case.initial.cell) if state is not None]

    def gradients() -> list[Tensor | None]:
        output = case.network(case.inputs, case.lengths, embedding=case.embedding, initial=case.initial)
        torch.stack([x.square().sum() for x in listed(output)]).sum().backward()
        found = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return found

    expected = gradients()
    wanted = data.draw(st.lists(st.booleans(), min_size=len(leaves), max_size=len(leaves)).filter(any))
    for leaf, want in zip(leaves, wanted, strict=True):
        leaf.requires_grad_(want)
    for found, other, want in zip(gradients(), expected, wanted, strict=True):
        if want:
            torch.testing.assert_close(found, other, rtol=1e-12, atol=1e-12)
        else:
            assert found is None


class Work(TorchDispatchMode):
    """Counts the numbers that all operations read."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.numbers += sum(x.numel() for x in args if isinstance(x, Tensor) and not func.is_view)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("cell", CELLS)
def test_work_grows_linearly_with_the_length(cell: str) -> None:
    def work(length: int) -> int:
        lengths = [max(1, length * k // 8) for k in range(1, 9)]
        case = make_case(cell, batch=8, length=length, lengths=lengths, sizes=(8, 8), bidirectional=True, words=9)
        with Work() as counted:
            output = case.network(case.inputs, case.lengths, embedding=case.embedding)
            output.states.sum().backward()
        return counted.numbers

    assert work(256) < 4.2 * work(64)


def test_nothing_global_is_changed() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    case = make_case("gru", layers=2, bidirectional=True, lengths=[1, 6, 3, 3], words=4)
    case.run()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_tokens_of_any_integer_type_and_any_layout_are_read() -> None:
    case = make_case("lstm", words=5, lengths=[6, 1, 2, 6])
    expected = case.network(case.inputs, case.lengths, embedding=case.embedding).states
    for kind in (torch.uint8, torch.int16, torch.int32):
        turned = case.inputs.to(kind).t().contiguous().t()
        states = case.network(turned, case.lengths.to(kind), embedding=case.embedding).states
        assert torch.equal(states, expected)
