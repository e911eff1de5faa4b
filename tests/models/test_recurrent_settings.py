"""Settings of LSTM and GRU: the weights' layout and start, dropout, and what is refused."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlab.errors import UsageError
from attnlab.models.recurrent import Recurrent, RecurrentState

CELLS = ["lstm", "gru"]
LIBRARY = {"lstm": nn.LSTM, "gru": nn.GRU}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, False), (2, True)])
def test_weights_have_pytorchs_layout_and_start(cell: str, layers: int, bidirectional: bool) -> None:
    ours = Recurrent(cell, 3, 4, layers=layers, bidirectional=bidirectional, generator=torch.Generator().manual_seed(5))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        theirs = LIBRARY[cell](3, 4, layers, bidirectional=bidirectional)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other)
    again = Recurrent(cell, 3, 4, layers=layers, bidirectional=bidirectional)
    again.load_state_dict(theirs.state_dict(), strict=True)
    theirs.load_state_dict(again.state_dict(), strict=True)


@pytest.mark.parametrize("cell", CELLS)
def test_dropout_stands_between_layers_and_is_drawn_from_the_generator(cell: str) -> None:
    whole = Recurrent(cell, 3, 5, layers=2, dropout=0.5, generator=torch.Generator().manual_seed(0))
    layers = [Recurrent(cell, 3, 5), Recurrent(cell, 5, 5)]
    for number, layer in enumerate(layers):
        prefix = f"_l{number}"
        layer.load_state_dict(
            {name.replace(prefix, "_l0"): value for name, value in whole.state_dict().items() if prefix in name}
        )
    vectors = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(1))
    before = torch.get_rng_state()
    dropped = whole(vectors, generator=torch.Generator().manual_seed(2)).states
    again = whole(vectors, generator=torch.Generator().manual_seed(2)).states
    other = whole(vectors, generator=torch.Generator().manual_seed(3)).states
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(dropped, again)
    assert not torch.equal(dropped, other)
    first = layers[0](vectors).states
    kept = torch.empty(6, 4, 5).bernoulli_(0.5, generator=torch.Generator().manual_seed(2)).transpose(0, 1)
    torch.testing.assert_close(dropped, layers[1](2 * kept * first).states)
    whole.eval()
    torch.testing.assert_close(whole(vectors).states, layers[1](first).states)


def test_dropout_from_numpys_generator_keeps_its_share_and_scales_what_it_keeps() -> None:
    network = Recurrent("lstm", 3, 200, layers=2, dropout=0.3)
    ones = torch.ones(300, 200)
    kept = network._dropped(ones, np.random.default_rng(1))
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert abs(float((kept > 0).float().mean()) - 0.7) < 5 * (0.21 / ones.numel()) ** 0.5
    assert torch.equal(kept, network._dropped(ones, np.random.default_rng(1)))
    assert not torch.equal(kept, network._dropped(ones, np.random.default_rng(2)))
    assert network._dropped(ones.double(), np.random.default_rng(1)).dtype == torch.float64
    network.eval()
    assert torch.equal(network._dropped(ones, np.random.default_rng(1)), ones)


def test_dropout_does_not_depend_on_padding() -> None:
    network = Recurrent("lstm", 3, 5, layers=2, dropout=0.5, generator=torch.Generator().manual_seed(0))
    vectors = torch.randn(3, 6, 3, generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([2, 6, 4])
    short = network(vectors, lengths, generator=torch.Generator().manual_seed(2)).states
    padded = torch.cat([vectors, torch.ones(3, 4, 3)], 1)
    long = network(padded, lengths, generator=torch.Generator().manual_seed(2)).states
    assert torch.equal(short, long[:, :6])


LSTM = {"cell": "lstm", "input_size": 3, "hidden_size": 5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cell": "rnn"}, "no recurrent cell 'rnn'; there are lstm and gru"),
        ({"input_size": 0}, "input_size of at least 1, not 0"),
        ({"hidden_size": -1}, "hidden_size of at least 1, not -1"),
        ({"layers": 0}, "layers of at least 1, not 0"),
        ({"dropout": 1.0}, "at least 0 and below 1, not 1.0"),
        ({"dropout": float("nan")}, "not nan"),
        ({"cell": "gru", "narrow": True}, "Only an LSTM has a recurrence for narrow batches, not a gru"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Recurrent(**(LSTM | change))


VECTORS = torch.zeros(2, 4, 3)
TOKENS = torch.zeros(2, 4, dtype=torch.int64)
TABLE = torch.zeros(7, 3)
STATE = torch.zeros(1, 2, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": torch.zeros(2, 4, 2)}, r"\(2, 4, 2\) of torch.float32.*\(batch, length, 3\)"),
        ({"inputs": torch.zeros(4, 3)}, r"\(4, 3\)"),
        ({"inputs": VECTORS.double()}, "torch.float64.*torch.float32"),
        ({"inputs": TOKENS}, "without an embedding"),
        ({"inputs": torch.zeros(0, 4, 3)}, r"empty.*\(0, 4, 3\)"),
        ({"inputs": torch.zeros(2, 0, 3)}, r"empty.*\(2, 0, 3\)"),
        ({"inputs": TOKENS[:, :0], "embedding": TABLE}, "empty"),
        ({"inputs": VECTORS, "embedding": TABLE}, "token ids"),
        ({"inputs": TOKENS.float(), "embedding": TABLE}, "integer type"),
        ({"inputs": TOKENS, "embedding": torch.zeros(7, 4)}, r"embedding is \(7, 4\).*\(words, 3\)"),
        ({"inputs": TOKENS, "embedding": TABLE.double()}, "embedding is .*torch.float64"),
        ({"inputs": TOKENS + 7, "embedding": TABLE}, "from 7 to 7; from 0 to 6"),
        ({"inputs": TOKENS - 1, "embedding": TABLE}, "from -1 to -1; from 0 to 6"),
        ({"inputs": VECTORS, "lengths": torch.tensor([0, 4])}, "from 0 to 4; from 1 to 4"),
        ({"inputs": VECTORS, "lengths": torch.tensor([1, 5])}, "from 1 to 5; from 1 to 4"),
        ({"inputs": VECTORS, "lengths": torch.tensor([1, 2, 3])}, r"lengths are \(3,\).*\(2,\)"),
        ({"inputs": VECTORS, "lengths": torch.tensor([1.0, 2.0])}, "lengths.*integer type"),
        ({"inputs": VECTORS, "lengths": torch.tensor([True, True])}, "lengths.*integer type"),
        ({"inputs": VECTORS, "initial": RecurrentState(STATE, None)}, "initial cell state is None"),
        (
            {"inputs": VECTORS, "initial": RecurrentState(STATE[:, :1], STATE)},
            r"state is \(1, 1, 5\).*\(1, 2, 5\)",
        ),
        ({"inputs": VECTORS, "initial": RecurrentState(STATE, STATE[..., :4])}, r"cell state is \(1, 2, 4\)"),
        ({"inputs": VECTORS, "initial": RecurrentState(STATE, STATE.double())}, "cell state is .*torch.float64"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        Recurrent(**LSTM)(**arguments)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_a_gru_has_no_cell_state() -> None:
    with pytest.raises(UsageError, match="no cell state"):
        Recurrent("gru", 3, 5)(VECTORS, initial=RecurrentState(STATE, STATE))
    assert Recurrent("gru", 3, 5)(VECTORS).final.cell is None
