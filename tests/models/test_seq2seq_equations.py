"""The sequence-to-sequence network against P3's equations, written out with loops over words, states and heads.

Nothing here comes from the code under test but its weights: embeddings, cells gate by gate, scores, softmax, contexts,
read-out and lexical probe are computed anew, one number after another, in 64 bits.
"""

from itertools import product

import pytest
import torch
from torch import Tensor

from attnlab.models.seq2seq import Seq2Seq

WORDS, HIDDEN = 7, 5
SOURCE_LENGTHS, TARGET_LENGTHS = [4, 2, 3], [3, 3, 2]

OPTIONS = [
    {"score": score, "combine": combine, "readout": readout, "heads": heads, "projected_context": projected}
    for score, combine, readout, heads, projected in product(
        ("bilinear", "dot"), ("sum", "mean"), ("tanh", "relu", "linear", "context"), (1, 2), (False, True)
    )
    if not (score == "dot" and heads > 1)  # plain dot attention has one head
]
OTHERS = [
    {"cell": "gru"},
    {"cell": "gru", "heads": 2, "readout": "relu"},
    {"attention": "uniform"},
    {"attention": "uniform", "heads": 2, "combine": "mean"},
    {"bidirectional": True},
    {"bidirectional": True, "cell": "gru"},
    {"bidirectional": True, "projected_context": True, "readout": "linear", "heads": 2},
    {"layers": 2},
    {"layers": 2, "bidirectional": True},
    {"embedding_size": 3},
    {"shared_embedding": False},
]


# --- the equations, for one pair of sequences


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def softmax(scores):
    """Of a list of numbers."""
    powers = [(score - max(scores)).exp() for score in scores]
    return [power / sum(powers) for power in powers]


def lstm_cell(weights, x, state):
    """i, f, o = sigmoid(.), g = tanh(.);  c = f c' + i g,  h = o tanh(c)."""
    h, c = state
    w_ih, w_hh, b_ih, b_hh = weights
    i, f, g, o = (w_ih @ x + b_ih + w_hh @ h + b_hh).chunk(4)
    c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
    return sigmoid(o) * torch.tanh(c), c


def gru_cell(weights, x, state):
    """r, z = sigmoid(.), n = tanh(W x + b + r (U h' + d));  h = (1 - z) n + z h'."""
    (h,) = state
    w_ih, w_hh, b_ih, b_hh = weights
    from_x, from_h = (w_ih @ x + b_ih).chunk(3), (w_hh @ h + b_hh).chunk(3)
    r, z = (sigmoid(a + b) for a, b in zip(from_x[:2], from_h[:2], strict=True))
    return ((1 - z) * torch.tanh(from_x[2] + r * from_h[2]) + z * h,)


def read(cell, parameters, prefix, vectors, starts, *, layers, directions):
    """The last layer's states and each layer's and direction's final state."""
    step, finals = {"lstm": lstm_cell, "gru": gru_cell}[cell], []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            names = (f"{kind}_l{layer}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            weights = [parameters[f"{prefix}.{name}" + "_reverse" * direction] for name in names]
            state, states = starts[layer * directions + direction], []
            for x in reversed(vectors) if direction else vectors:
                state = step(weights, x, state)
                states.append(state[0])
            outputs.append(states[::-1] if direction else states)
            finals.append(state)
        vectors = [torch.cat(parts) for parts in zip(*outputs, strict=True)]
    return vectors, finals


def expected(network: Seq2Seq, options, source, previous, targets):
    """Log-probabilities (target, words), attention (heads, target, source) and lexical probe (target, source)."""
    p = {name: value.detach().double() for name, value in network.state_dict().items()}
    cell, layers = options.get("cell", "lstm"), options.get("layers", 1)
    directions, heads = 2 if options.get("bidirectional") else 1, options.get("heads", 1)
    zeros = tuple(torch.zeros(HIDDEN, dtype=torch.float64) for _ in range(2 if cell == "lstm" else 1))
    kind = {"layers": layers, "directions": directions}
    embedded = [p["source_embedding"][word] for word in source]
    h, finals = read(cell, p, "encoder", embedded, [zeros] * (layers * directions), **kind)
    starts = [
        tuple(sum(parts) / directions for parts in zip(*finals[n : n + directions], strict=True))
        for n in range(0, layers * directions, directions)
    ]
    embedded = [p["target_embedding"][word] for word in previous]
    s, _ = read(cell, p, "decoder", embedded, starts, layers=layers, directions=1)

    def value(k, state):
        """What head k averages."""
        return p[f"attention.projection.{k}"] @ state if options.get("projected_context") else state

    def weight(k, t, l):  # noqa: E741 (the papers' own index)
        return s[t] @ p[f"attention.weight.{k}"] @ h[l] if options.get("score") != "dot" else s[t] @ h[l]

    def together(contexts):
        return sum(contexts) / (heads if options.get("combine") == "mean" else 1)

    def log_probabilities(context, state):
        readout = options.get("readout", "tanh")
        if readout in ("tanh", "relu"):
            inner = p["readout.hidden.weight"] @ torch.cat([context, state]) + p["readout.hidden.bias"]
            inner = torch.tanh(inner) if readout == "tanh" else torch.where(inner > 0, inner, 0 * inner)
            logits = p["readout.output.weight"] @ inner + p["readout.output.bias"]
        else:
            logits = p["readout.output.weight"] @ (context + state if readout == "linear" else context)
        return torch.stack(softmax(list(logits))).log()

    attention = [
        [
            softmax([weight(k, t, l) for l in range(len(h))])  # noqa: E741
            if options.get("attention") != "uniform"
            else [torch.tensor(1 / len(h), dtype=torch.float64)] * len(h)
            for t in range(len(s))
        ]
        for k in range(heads)
    ]
    told, lexical = [], []
    for t, state in enumerate(s):
        contexts = [sum(a * value(k, h_l) for a, h_l in zip(attention[k][t], h, strict=True)) for k in range(heads)]
        told.append(log_probabilities(together(contexts), state))
        alone = (together([value(k, h_l) for k in range(heads)]) for h_l in h)
        lexical.append(torch.stack([log_probabilities(context, state)[targets[t]] for context in alone]))
    weights = torch.tensor([[[float(a) for a in row] for row in head] for head in attention])
    return torch.stack(told), weights, torch.stack(lexical)


# --- the comparison


def told(options):
    return " ".join(f"{key}={value}" for key, value in options.items())


def make(options, dtype=torch.float32):
    """A network whose weights are larger than at a usual start, so that no nonlinearity looks linear."""
    network = Seq2Seq(WORDS, WORDS, hidden=HIDDEN, seed=3, **options).to(dtype)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.5)
    return network


def batch():
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(WORDS, (len(SOURCE_LENGTHS), max(SOURCE_LENGTHS)), generator=generator)
    previous, targets = (
        torch.randint(WORDS, (len(TARGET_LENGTHS), max(TARGET_LENGTHS)), generator=generator) for _ in range(2)
    )
    return source, previous, targets


def near(ours: Tensor, theirs: Tensor):
    torch.testing.assert_close(ours.double(), theirs.double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("options", [*OPTIONS, *OTHERS], ids=told)
def test_the_network_computes_the_papers_equations(options):
    source, previous, targets = batch()
    with torch.no_grad():
        network = make(options)
        seen = network(
            source,
            previous,
            source_lengths=torch.tensor(SOURCE_LENGTHS),
            target_lengths=torch.tensor(TARGET_LENGTHS),
            targets=targets,
        )
        for n, (inputs, outputs) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS, strict=True)):
            pair = source[n, :inputs].tolist(), previous[n, :outputs].tolist(), targets[n, :outputs].tolist()
            log_probabilities, attention, lexical = expected(network, options, *pair)
            near(seen.log_probabilities[n, :outputs], log_probabilities)
            near(seen.attention[n, :, :outputs, :inputs], attention)
            near(seen.lexical[n, :outputs, :inputs], lexical)
            near(seen.alpha[n, :outputs, :inputs], attention.mean(0))
            assert seen.attention[n, :, :outputs, inputs:].eq(0).all()
            assert seen.lexical[n, :outputs, inputs:].eq(-torch.inf).all()


def test_given_attention_is_what_is_averaged():
    """With all of it at one input position the network says what the lexical probe says of that position."""
    source, previous, targets = batch()
    source, previous, targets = source[:1], previous[:1], targets[:1]
    for position in range(source.shape[1]):
        given = torch.zeros(1, previous.shape[1], source.shape[1])
        given[..., position] = 1
        options = {"attention": "given", "heads": 2}
        with torch.no_grad():
            network = make(options)
            seen = network(source, previous, targets=targets, given=given)
            *_, lexical = expected(network, {"heads": 2}, source[0].tolist(), previous[0].tolist(), targets[0].tolist())
        chosen = seen.log_probabilities[0].gather(-1, targets[0, :, None]).squeeze(-1)
        near(chosen, lexical[:, position])
        near(seen.lexical[0], lexical)
