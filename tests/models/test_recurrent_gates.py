"""Gates of the recurrent networks: against PyTorch's own networks on vectors that were multiplied beforehand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.errors import UsageError
from attnlab.models import recurrent
from attnlab.models.recurrent import Recurrent, RecurrentState

CELLS = ["lstm", "gru"]


@st.composite
def cases(draw):
    """A network, its input (vectors, or tokens and an embedding), lengths, initial state and gates, all in float64."""
    cell, words = draw(st.sampled_from(CELLS)), draw(st.sampled_from([0, 2, 7, 100]))
    batch, length = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    sizes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    lengths = draw(st.none() | st.lists(st.integers(1, length), min_size=batch, max_size=batch))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    network = Recurrent(
        cell, *sizes, layers=draw(st.integers(1, 2)), bidirectional=draw(st.booleans()), generator=generator
    ).double()

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    embedding = normal(words, sizes[0]) if words else None
    inputs = torch.randint(words, (batch, length), generator=generator) if words else normal(batch, length, sizes[0])
    initial = None
    if draw(st.booleans()):
        shape = (network.layers * network.directions, batch, sizes[1])
        initial = RecurrentState(normal(*shape), normal(*shape) if cell == "lstm" else None)
    return (
        network,
        inputs,
        embedding,
        None if lengths is None else torch.tensor(lengths),
        initial,
        normal(batch, length),
    )


def ours(network, inputs, embedding, lengths, initial, gates):
    output = network(inputs, lengths, embedding=embedding, initial=initial, gates=gates)
    outputs = [x for x in (output.states, output.final.hidden, output.final.cell) if x is not None]
    return with_gradients(outputs, network, inputs, embedding, initial, gates)


def by_library(network, inputs, embedding, lengths, initial, gates):
    """The same by `torch.nn` on vectors that were multiplied by their gates."""
    kind = nn.LSTM if network.cell == "lstm" else nn.GRU
    sizes = network.input_size, network.hidden_size, network.layers
    library = kind(*sizes, bidirectional=network.directions == 2, batch_first=True, dtype=torch.float64)
    library.load_state_dict(network.state_dict())
    vectors = (inputs if embedding is None else embedding[inputs]) * gates[:, :, None]
    lengths = torch.full((len(inputs),), inputs.shape[1]) if lengths is None else lengths
    start = initial
    if initial is not None:
        start = initial.hidden if network.cell == "gru" else (initial.hidden, initial.cell)
    packed, final = library(pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False), start)
    states, _ = pad_packed_sequence(packed, batch_first=True, total_length=inputs.shape[1])
    outputs = [states, *(final if network.cell == "lstm" else [final])]
    return with_gradients(outputs, library, inputs, embedding, initial, gates)


def with_gradients(outputs, network, inputs, embedding, initial, gates):
    """The outputs, then the gradients of some function of them all to everything that has one."""
    total = sum((factor * output).sin().sum() for factor, output in enumerate(outputs, 2))
    leaves = [gates, inputs if embedding is None else embedding, *network.parameters()]
    if initial is not None:
        leaves += [state for state in (initial.hidden, initial.cell) if state is not None]
    return [output.detach() for output in outputs] + list(torch.autograd.grad(total, leaves))


@settings(max_examples=50)
@given(cases())
def test_values_and_gradients_are_those_of_vectors_multiplied_beforehand(case):
    for mine, other in zip(ours(*case), by_library(*case), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@settings(max_examples=20)
@given(cases())
def test_the_librarys_kernels_serve_a_gpu_with_the_same_numbers(case):
    expected = ours(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "_on_gpu", lambda _: True)
        found = ours(*case)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@settings(max_examples=20)
@given(cases())
def test_open_gates_change_nothing(case):
    network, inputs, embedding, lengths, initial, gates = case
    opened = network(inputs, lengths, embedding=embedding, initial=initial, gates=torch.ones_like(gates)).states
    torch.testing.assert_close(opened, network(inputs, lengths, embedding=embedding, initial=initial).states)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("words", [0, 5])
def test_gradients_are_the_limits_of_differences(cell, words):
    generator = torch.Generator().manual_seed(1)
    network = Recurrent(cell, 2, 3, layers=2, bidirectional=True, generator=generator).double()
    inputs = (
        torch.randint(words, (2, 3), generator=generator)
        if words
        else torch.randn(2, 3, 2, generator=generator).double()
    )
    embedding = torch.randn(words, 2, generator=generator).double() if words else None

    def states(gates):
        return network(inputs, torch.tensor([1, 3]), embedding=embedding, gates=gates).states

    torch.autograd.gradcheck(states, torch.rand(2, 3, generator=generator).double().requires_grad_())


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_gates_behind_the_end_have_no_part(cell, bidirectional):
    network = Recurrent(cell, 3, 4, bidirectional=bidirectional, generator=torch.Generator().manual_seed(0))
    gates = torch.tensor([[0.5, 2.0, float("nan")], [1.0, 3.0, -1.0]], requires_grad=True)
    embedding = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    states = network(
        torch.tensor([[1, 2, 3], [4, 0, 1]]), torch.tensor([2, 3]), embedding=embedding, gates=gates
    ).states
    (gradient,) = torch.autograd.grad(states.square().sum(), gates)
    assert torch.isfinite(states).all()
    assert gradient[0, 2] == 0 and (gradient[0, :2] != 0).all() and (gradient[1] != 0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_gates_have_gradients_where_the_weights_need_none(cell):
    network = Recurrent(cell, 3, 4, bidirectional=True, generator=torch.Generator().manual_seed(0))
    embedding, tokens = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([[1, 2, 2]])
    gates = torch.ones(1, 3, requires_grad=True)

    def gradient():
        return torch.autograd.grad(network(tokens, embedding=embedding, gates=gates).states.sum(), gates)[0]

    expected = gradient()
    network.requires_grad_(False)
    torch.testing.assert_close(gradient(), expected)


@pytest.mark.parametrize("gates", [torch.ones(2, 3), torch.ones(2, 4, 1), torch.ones(2, 4).double()])
def test_gates_that_do_not_fit_are_refused(gates):
    with pytest.raises(UsageError, match=r"The gates are .*; \(2, 4\) of torch.float32 is right"):
        Recurrent("lstm", 3, 5)(torch.zeros(2, 4, 3), gates=gates)
