"""The classifier of P3 2.4 against its equations written out, one text at a time, on PyTorch's own networks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnlab.errors import UsageError
from attnlab.models.classifier import Classifier, log_odds

WORDS = 12
SETTINGS = {"embedding_size": 5, "hidden": 4}


def written_out(model, words, label):
    """p (classes,), alpha (length,) and beta (length,) of one text ``words`` (length,)."""
    encoder = model.encoder
    kind = nn.LSTM if encoder.cell == "lstm" else nn.GRU
    sizes = encoder.input_size, encoder.hidden_size
    library = kind(*sizes, bidirectional=encoder.directions == 2, batch_first=True, dtype=torch.float64)
    library.load_state_dict(encoder.state_dict())
    h = library(model.embedding[words][None])[0][0]  # (length, size)
    weights = dict(model.score.named_parameters())
    if model.mode == "uniform":
        a = torch.zeros(len(words), dtype=torch.float64)
    elif len(weights) == 2:
        a = h @ weights["0.weight"][0] + weights["0.bias"]
    else:
        a = (h @ weights["0.weight"].T + weights["0.bias"]).clamp(min=0) @ weights["2.weight"][0] + weights["2.bias"]
    alpha = a.exp() / a.exp().sum()

    def probabilities(vector):
        logits = model.output.weight @ vector + model.output.bias
        if model.classes == 2:
            p = 1 / (1 + (-logits[0]).exp())
            return torch.stack([1 - p, p])
        return logits.exp() / logits.exp().sum()

    return probabilities(alpha @ h), alpha, torch.stack([probabilities(state)[label] for state in h])


@st.composite
def cases(draw, classes=(2, 3, 5)):
    model = Classifier(
        WORDS,
        draw(st.sampled_from(classes)),
        **SETTINGS,
        cell=draw(st.sampled_from(["lstm", "gru"])),
        score=draw(st.sampled_from(["mlp", "linear"])),
        bidirectional=draw(st.booleans()),
        attention=draw(st.sampled_from(["learned", "uniform"])),
        seed=draw(st.integers(0, 1000)),
    ).double()
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    tokens = torch.randint(WORDS, (len(lengths), max(lengths) + draw(st.integers(0, 2))), generator=generator)
    labels = torch.randint(model.classes, (len(lengths),), generator=generator)
    return model, tokens, torch.tensor(lengths), labels


@settings(max_examples=40)
@given(cases())
def test_it_is_the_equations(case):
    model, tokens, lengths, labels = case
    seen = model(tokens, lengths, labels=labels)
    for k, length in enumerate(lengths.tolist()):
        p, alpha, beta = written_out(model, tokens[k, :length], labels[k])
        torch.testing.assert_close(seen.log_probabilities[k].exp(), p, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(seen.alpha[k, :length], alpha, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(seen.gamma[k, :length], (beta / (1 - beta)).log(), rtol=1e-8, atol=1e-8)
        assert (seen.alpha[k, length:] == 0).all()
        assert (seen.gamma[k, length:] == float("-inf")).all()
    assert model(tokens, lengths).gamma is None


@settings(max_examples=20)
@given(cases(classes=[2]))
def test_with_two_classes_the_log_odds_are_attentions_mean_of_the_probes(case):
    model, tokens, lengths, labels = case
    seen = model(tokens, lengths, labels=labels)
    mean = torch.where(seen.alpha > 0, seen.alpha * seen.gamma, 0.0).sum(1)
    torch.testing.assert_close(log_odds(seen.log_probabilities, labels), mean, rtol=1e-10, atol=1e-10)


@settings(max_examples=15)
@given(cases())
def test_what_stands_behind_a_texts_end_changes_nothing(case):
    model, tokens, lengths, labels = case
    other = torch.where(torch.arange(tokens.shape[1]) < lengths[:, None], tokens, WORDS - 1 - tokens)
    first, second = (model(given, lengths, labels=labels) for given in (tokens, other))
    assert torch.equal(first.log_probabilities, second.log_probabilities)
    assert torch.equal(first.alpha, second.alpha) and torch.equal(first.gamma, second.gamma)


def test_states_made_elsewhere_are_attended_to_alike():
    model = Classifier(WORDS, **SETTINGS)
    tokens, lengths, labels = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), torch.tensor([0, 1])
    h = model.encoder(tokens, lengths, embedding=model.embedding).states
    seen, expected = model.attend(h, lengths, labels=labels), model(tokens, lengths, labels=labels)
    assert torch.equal(seen.log_probabilities, expected.log_probabilities)
    assert torch.equal(seen.alpha, expected.alpha) and torch.equal(seen.gamma, expected.gamma)


def test_closed_gates_hide_which_words_there_are():
    model = Classifier(WORDS, **SETTINGS)
    lengths, gates = torch.tensor([3]), torch.tensor([[1.0, 0.0, 1.0]])
    one, other = (torch.tensor([[1, k, 3]]) for k in (2, 7))
    assert torch.equal(model(one, lengths, gates=gates).alpha, model(other, lengths, gates=gates).alpha)
    assert not torch.equal(model(one, lengths).alpha, model(other, lengths).alpha)


def test_the_papers_network_has_the_papers_number_of_parameters():
    count = {name: p.numel() for name, p in Classifier(50, embedding_size=300, hidden=256).named_parameters()}
    assert count.pop("embedding") == 50 * 300
    assert sum(count.values()) == 1_274_882


@pytest.mark.parametrize(("settings", "names"), [({}, 4), ({"score": "linear"}, 2)])
def test_without_its_score_parameters_attention_is_uniform(settings, names):
    model = Classifier(WORDS, **SETTINGS, **settings)
    tokens, lengths = torch.tensor([[1, 2, 3]]), torch.tensor([3])
    before = model(tokens, lengths).alpha
    parameters = model.score_parameters()
    assert len(parameters) == names
    with torch.no_grad():
        for parameter in parameters:
            parameter.zero_()
    assert not torch.allclose(before, torch.full((1, 3), 1 / 3), atol=1e-6)
    torch.testing.assert_close(model(tokens, lengths).alpha, torch.full((1, 3), 1 / 3))


def test_starting_values_follow_from_the_seed_and_nothing_global_is_touched():
    before = torch.get_rng_state()
    one, again, other = (Classifier(WORDS, **SETTINGS, seed=seed).state_dict() for seed in (1, 1, 2))
    linear = Classifier(WORDS, **SETTINGS, score="linear", attention="uniform", seed=1).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one)
    assert all(torch.equal(one[name], linear[name]) for name in one if not name.startswith("score")), (
        "attention draws from a stream of its own"
    )


def test_embeddings_start_from_word_vectors_where_there_are_some():
    vectors = torch.arange(10.0).view(2, 5)
    plain = Classifier(WORDS, **SETTINGS, seed=3)
    model = Classifier(WORDS, **SETTINGS, seed=3, vectors=(torch.tensor([7, 2]), vectors))
    assert torch.equal(model.embedding[[7, 2]], vectors)
    others = [k for k in range(WORDS) if k not in (2, 7)]
    assert torch.equal(model.embedding[others], plain.embedding[others])
    assert model.embedding.requires_grad and model.embedding.is_leaf


@settings(max_examples=60)
@given(st.lists(st.floats(-15, 15), min_size=2, max_size=6), st.data())
def test_log_odds_are_those_of_the_probability(logits, data):
    label = data.draw(st.integers(0, len(logits) - 1))
    z = torch.tensor([logits], dtype=torch.float64)
    p = z.softmax(1)[0]
    expected = p[label].log() - p[torch.arange(len(logits)) != label].sum().log()
    torch.testing.assert_close(log_odds(z, torch.tensor([label]))[0], expected, rtol=1e-9, atol=1e-9)
    if len(logits) == 2:
        single = log_odds(z[:, 1:] - z[:, :1], torch.tensor([label]))[0]
        torch.testing.assert_close(single, expected, rtol=1e-9, atol=1e-9)


def test_log_odds_do_not_run_into_a_largest_value():
    found = [log_odds(torch.tensor([[z, 0.0, 1.0]]), torch.tensor([0])).item() for z in (100.0, 200.0, 300.0)]
    assert found[0] < found[1] < found[2] < float("inf")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 1}, "at least 2 classes, not 1"),
        ({"words": 0}, "at least 1 word, not 0"),
        ({"score": "dot"}, "no score 'dot'; there are mlp and linear"),
        ({"attention": "given"}, "no attention 'given'; there are learned and uniform"),
        ({"cell": "rnn"}, "no recurrent cell 'rnn'"),
        ({"hidden": 0}, "hidden_size of at least 1, not 0"),
        ({"vectors": (torch.tensor([1]), torch.zeros(1, 4))}, r"\(1, 4\); \(1, 5\) is right"),
        ({"vectors": (torch.tensor([12]), torch.zeros(1, 5))}, "for words 0 to 11; there is one for word 12"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(change, message):
    with pytest.raises(UsageError, match=message):
        Classifier(**({"words": WORDS} | SETTINGS | change))
