"""The translator of P3 A.8 against the same written out on PyTorch's own LSTM, its variants and their sizes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from attnlab.errors import UsageError
from attnlab.models.translator import Translator
from attnlab.seeds import numpy_generator

WORDS, HIDDEN = 11, 3
VARIANTS = {
    "released": {},
    "text": {"projected": False, "score_bias": False, "start": "last"},
    "linear": {"readout": "linear"},
    "context": {"readout": "context"},
    "context, not projected": {"readout": "context", "projected": False},
    "uniform": {"attention": "uniform"},
    "one layer": {"layers": 1},
}


def make(name: str, **others: object) -> Translator:
    settings = {"hidden": HIDDEN, "dropout": 0.0, "seed": 4, **VARIANTS[name], **others}
    return Translator(WORDS, **settings).double()


def library(part: nn.Module, size: int, *, both: bool) -> nn.LSTM:
    """PyTorch's LSTM with copies of our weights."""
    lstm = nn.LSTM(size, size, part.layers, bidirectional=both, batch_first=True).double()
    lstm.load_state_dict(part.state_dict(), strict=True)
    return lstm


class WrittenOut(nn.Module):
    """One pair at a time, equation by equation, with loops over output and input words."""

    def __init__(self, ours: Translator, name: str) -> None:
        super().__init__()
        self.settings = {**VARIANTS["released"], **VARIANTS[name]}
        self.encoder = library(ours.encoder, HIDDEN, both=True)
        self.decoder = library(ours.decoder, HIDDEN, both=False)
        self.others = nn.ParameterDict(
            {
                key.replace(".", "_"): nn.Parameter(value.clone())
                for key, value in ours.state_dict().items()
                if not key.startswith(("encoder", "decoder"))
            }
        )

    def pair(self, source: list[int], previous: list[int]) -> tuple[Tensor, Tensor, list[list[Tensor]]]:
        """log p_t (T, words), alpha (T, L) and log p if attending to l alone, [t][l] (words,)."""
        p = self.others
        h, (final_h, final_c) = self.encoder(p["embedding"][source].unsqueeze(0))
        layers = len(final_h) // 2
        forward, reverse = (state.view(layers, 2, 1, HIDDEN) for state in (final_h, final_c))
        if self.settings.get("start") == "last":
            start = tuple(state[:, 0].contiguous() for state in (forward, reverse))
        else:
            start = tuple(((state[:, 0] + state[:, 1]) / 2).contiguous() for state in (forward, reverse))
        d, _ = self.decoder(p["embedding"][previous].unsqueeze(0), start)
        h, d = h[0], d[0]
        logs, alphas, alone = [], [], []
        for state in d:
            query = p["query_weight"] @ state
            if "query_bias" in p:
                query = query + p["query_bias"]
            if self.settings.get("attention") == "uniform":
                alpha = torch.ones(len(h), dtype=h.dtype) / len(h)
            else:
                scores = torch.stack([query @ one for one in h])
                alpha = scores.exp() / scores.exp().sum()
            logs.append(self.log_p(sum(weight * one for weight, one in zip(alpha, h, strict=True)), state))
            alone.append([self.log_p(one, state) for one in h])
            alphas.append(alpha)
        return torch.stack(logs), torch.stack(alphas), alone

    def log_p(self, context: Tensor, state: Tensor) -> Tensor:
        p = self.others
        if "projection_weight" in p:
            context = p["projection_weight"] @ context + p["projection_bias"]
        kind = self.settings.get("readout", "relu")
        if kind == "relu":
            hidden = p["readout_hidden_weight"] @ torch.cat([context, state]) + p["readout_hidden_bias"]
            logits = p["readout_output_weight"] @ hidden.clamp(min=0) + p["readout_output_bias"]
        else:
            logits = p["readout_output_weight"] @ (context + state if kind == "linear" else context)
        return logits - logits.exp().sum().log()


def sentences(draw_lengths: list[tuple[int, int]], seed: int) -> list[tuple[list[int], list[int], list[int]]]:
    """Pairs of these lengths: source, previous, target."""
    generator = torch.Generator().manual_seed(seed)

    def words(count: int) -> list[int]:
        return torch.randint(WORDS, (count,), generator=generator).tolist()

    pairs = []
    for source, target in draw_lengths:
        right = words(target)
        pairs.append((words(source), [2, *right[:-1]], right))
    return pairs


def padded(pairs: list[tuple[list[int], list[int], list[int]]], more: int = 0) -> dict[str, Tensor]:
    def side(rows: list[list[int]]) -> Tensor:
        longest = max(map(len, rows)) + more
        return torch.tensor([row + [0] * (longest - len(row)) for row in rows])

    source, previous, targets = (side([pair[k] for pair in pairs]) for k in range(3))
    lengths = [torch.tensor([len(pair[k]) for pair in pairs]) for k in (0, 2)]
    return {
        "source": source,
        "previous": previous,
        "targets": targets,
        "source_lengths": lengths[0],
        "target_lengths": lengths[1],
    }


LENGTHS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=4)


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=12)
@given(lengths=LENGTHS, seed=st.integers(0, 2**32), more=st.integers(0, 2))
def test_it_is_the_network_written_out(name: str, lengths: list[tuple[int, int]], seed: int, more: int) -> None:
    ours, pairs = make(name), sentences(lengths, seed)
    theirs = WrittenOut(ours, name)
    seen = ours(**padded(pairs, more))
    losses = []
    for k, (source, previous, right) in enumerate(pairs):
        logs, alpha, alone = theirs.pair(source, previous)
        target, length = len(right), len(source)
        torch.testing.assert_close(seen.log_probabilities[k, :target], logs)
        torch.testing.assert_close(seen.alpha[k, :target, :length], alpha)
        assert not seen.alpha[k, :, length:].any()
        probe = torch.stack([torch.stack([one[y] for one in row]) for row, y in zip(alone, right, strict=True)])
        torch.testing.assert_close(seen.lexical[k, :target, :length], probe)
        losses += [-logs[t, y] for t, y in enumerate(right)]
    loss = ours.loss(**padded(pairs, more))
    expected = torch.stack(losses).mean()
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    copies = {f"encoder.{key}": value for key, value in theirs.encoder.named_parameters()}
    copies |= {f"decoder.{key}": value for key, value in theirs.decoder.named_parameters()}
    for key, parameter in ours.named_parameters():
        other = copies[key] if key in copies else theirs.others[key.replace(".", "_")]
        zeros = torch.zeros_like(parameter)
        mine, its = (zeros if one.grad is None else one.grad for one in (parameter, other))
        torch.testing.assert_close(mine, its, rtol=1e-8, atol=1e-10, msg=lambda text, key=key: f"{key}: {text}")


def test_the_two_directions_of_starting_differ() -> None:
    pairs = padded(sentences([(4, 3)], 0))
    mean, last = (make("released", start=start)(**pairs).log_probabilities for start in ("mean", "last"))
    assert not torch.allclose(mean, last)


def count(network: nn.Module) -> tuple[int, int]:
    """Parameters with and without embeddings."""
    every = sum(parameter.numel() for parameter in network.parameters())
    return every, every - network.embedding.numel()


@pytest.mark.parametrize(
    ("settings", "without"),
    [
        ({}, 6_132_544),  # P3 A.8; fits the released shape
        (VARIANTS["text"], 6_066_240),  # the text's own equations
        # the linear read-outs: no hidden layer of 512 x 256 + 256, no bias of 8000
        ({"readout": "linear"}, 6_132_544 - 131_328 - 8000),
        ({"readout": "context"}, 6_132_544 - 131_328 - 8000),
    ],
)
def test_it_has_as_many_parameters_as_the_paper_says(settings: dict[str, object], without: int) -> None:
    assert count(Translator(8000, **settings)) == (without + 2_048_000, without)


def test_given_attention_is_used_as_it_is() -> None:
    pairs = sentences([(3, 2), (2, 2)], 1)
    batch = padded(pairs)
    network = make("released", attention="given")
    alpha = torch.zeros(2, 2, 3, dtype=torch.float64)
    alpha[:, :, 1] = 1.0
    seen = network(**batch, given=alpha)
    right = seen.log_probabilities.gather(2, batch["targets"][..., None]).squeeze(2)
    torch.testing.assert_close(right, seen.lexical[:, :, 1])  # all attention on one position is the probe there
    with pytest.raises(UsageError, match="handed over exactly when the mode is given; it is given"):
        network(**batch)
    with pytest.raises(UsageError, match=r"shape \(2, 2, 2\), not \(2, 2, 3\)"):
        network(**batch, given=alpha[..., :2])


def test_what_positions_say_adds_up_if_the_context_alone_is_read() -> None:
    """The slides: y = sum_l alpha_l r_l with r_l = W h_l, so log p is the relevances' weighted sum, normalised."""
    network = make("context")
    batch = padded(sentences([(5, 3)], 2))
    seen = network(**batch)
    relevances = network.readout.output(network.project(network.encode(batch["source"]).states))
    added = torch.einsum("btl,blo->bto", seen.alpha, relevances)
    torch.testing.assert_close(seen.log_probabilities, added.log_softmax(-1))


def test_dropout_is_drawn_from_the_generator_and_off_in_evaluation() -> None:
    network, batch = make("released", dropout=0.5), padded(sentences([(5, 4), (2, 3)], 3))

    def loss(step: int) -> Tensor:
        return network.loss(**batch, generator=numpy_generator(1, "dropout", step))

    before = torch.get_rng_state()
    assert torch.equal(loss(0), loss(0))
    assert not torch.equal(loss(0), loss(1))
    assert torch.equal(torch.get_rng_state(), before)
    network.eval()
    torch.testing.assert_close(loss(0), make("released").loss(**batch))


def test_starting_values_follow_from_the_seed_and_are_pytorchs() -> None:
    one, same, other = (Translator(50, hidden=64, seed=seed) for seed in (1, 1, 2))
    for (name, mine), again, differs in zip(one.named_parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, again), name
        assert not torch.equal(mine, differs), name
    assert abs(float(one.embedding.detach().std()) - 1) < 0.05
    assert float(one.query.weight.detach().abs().max()) <= 1 / 8
    uniform = Translator(50, hidden=64, seed=1, attention="uniform")
    assert torch.equal(uniform.encoder.weight_hh_l1, one.encoder.weight_hh_l1)  # attention has a stream of its own


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"readout": "tanh"}, "no readout 'tanh'; there are relu, linear, context"),
        ({"attention": "hard"}, "no attention 'hard'; there are learned, uniform, given"),
        ({"start": "first"}, "no start 'first'; there are mean, last"),
        ({"readout": "linear", "projected": False}, "project the context"),
        ({"hidden": 0}, "hidden of at least 1, not 0"),
        ({"dropout": 1.0}, "below 1, not 1.0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Translator(9, **settings)
