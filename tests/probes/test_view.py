"""Models that are not ours, read through a view: a transformer and a BiLSTM of PyTorch's own parts."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from attnlab.data.batch import Bags, PairBatch, padded
from attnlab.errors import UsageError
from attnlab.models.classifier import log_odds
from attnlab.models.seq2seq import Seq2Seq
from attnlab.probes.influence import influence, text_influence
from attnlab.probes.integrated_gradients import integrated_gradients
from attnlab.probes.leave_one_out import leave_one_out
from attnlab.probes.texts import attention, lexical, text_fields
from attnlab.probes.view import Seen, classifier_view

WORDS, LENGTHS = 20, [3, 2, 7, 5, 7]


class Transformer(nn.Module):
    """A text classifier as many have written it: PyTorch's encoder, and the first position's state read out."""

    def __init__(self, classes=3, size=8, heads=2, layers=2):
        super().__init__()
        self.embedding, self.position = nn.Embedding(WORDS, size), nn.Embedding(50, size)
        layer = nn.TransformerEncoderLayer(size, heads, dim_feedforward=16, dropout=0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(size, classes)

    def forward(self, tokens, outside):
        x = self.embedding(tokens) + self.position(torch.arange(tokens.shape[1]))
        return self.head(self.encoder(x, src_key_padding_mask=outside)[:, 0])


def transformer_view(model, batch, gates=None):
    """alpha (batch, layers, heads, source): what the first position attends to."""
    x = model.embedding(batch.tokens)  # (batch, source, size)
    if gates is not None:
        x = x * gates[:, :, None]
    x, outside, alpha = x + model.position(torch.arange(x.shape[1])), ~batch.inside, []
    for layer in model.encoder.layers:
        seen = layer.self_attn(x, x, x, key_padding_mask=outside, need_weights=True, average_attn_weights=False)
        alpha.append(seen[1][:, :, 0])  # (batch, heads, source)
        x = layer(x, src_key_padding_mask=outside)
    return Seen(model.head(x[:, 0]).log_softmax(-1), torch.stack(alpha, 1))


class BiLSTM(nn.Module):
    """Somebody's attention classifier with two logits."""

    def __init__(self, size=5, hidden=4):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, size)
        self.lstm = nn.LSTM(size, hidden, bidirectional=True, batch_first=True)
        self.score, self.output = nn.Linear(2 * hidden, 1), nn.Linear(2 * hidden, 2)


def bilstm_view(model, batch, gates=None):
    x = model.embedding(batch.tokens)
    x = x if gates is None else x * gates[:, :, None]
    packed = nn.utils.rnn.pack_padded_sequence(x, batch.lengths, batch_first=True, enforce_sorted=False)
    h, _ = nn.utils.rnn.pad_packed_sequence(model.lstm(packed)[0], batch_first=True)
    alpha = model.score(h)[..., 0].masked_fill(~batch.inside, -torch.inf).softmax(1)
    gamma = log_odds(model.output(h), batch.labels[:, None].expand(alpha.shape))
    return Seen(model.output((alpha[..., None] * h).sum(1)).log_softmax(-1), alpha, gamma)


def make(kind):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = kind().double()
    return model, {Transformer: transformer_view, BiLSTM: bilstm_view}[kind]


def alone(texts, k, without=None):
    """Text k by itself, or without one of its positions: (tokens (1, length), label)."""
    words = texts.words[texts.offsets[k] : texts.offsets[k + 1]]
    kept = [p for p in range(len(words)) if p != without]
    return words[kept][None], texts.labels[k : k + 1]


def one(tokens, label):
    return padded(Bags(tokens[0], torch.tensor([0, tokens.shape[1]]), label), torch.tensor([0]))


def right_log_probability(model, view, texts, k, gates):
    """log p(y) of text k by itself with these gates (length,)."""
    tokens, label = alone(texts, k)
    return view(model, one(tokens, label), gates[None]).log_probabilities[0, label[0]]


MODELS = pytest.mark.parametrize("kind", [Transformer, BiLSTM])


def test_the_transformer_s_attention_is_what_its_own_layers_return(draw_texts):
    (model, view), texts = make(Transformer), draw_texts(LENGTHS, 3)
    alpha = attention(model, texts, view, positions=20)
    assert len(alpha) == 2 * 2 * len(LENGTHS)  # layers, heads
    inputs = []
    for layer in model.encoder.layers:
        layer.self_attn.register_forward_pre_hook(lambda _, given: inputs.append(given))
    model.eval()
    for k, length in enumerate(LENGTHS):
        model(alone(texts, k)[0], torch.zeros(1, length, dtype=torch.bool))
        for number, layer in enumerate(model.encoder.layers):
            weights = layer.self_attn(*inputs[number], need_weights=True, average_attn_weights=False)[1]
            for head in range(2):
                row = alpha.row(4 * k + 2 * number + head)
                np.testing.assert_allclose(row, weights[0, head, 0].detach(), rtol=1e-10)
                assert row.sum() == pytest.approx(1)
        inputs.clear()


def test_the_view_reads_what_the_transformer_says_itself(draw_texts):
    (model, view), texts = make(Transformer), draw_texts(LENGTHS, 3)
    model.eval()
    for k, length in enumerate(LENGTHS):
        tokens, label = alone(texts, k)
        own = model(tokens, torch.zeros(1, length, dtype=torch.bool)).log_softmax(-1)
        torch.testing.assert_close(view(model, one(tokens, label)).log_probabilities, own, rtol=1e-10, atol=1e-12)


@MODELS
@pytest.mark.parametrize("positions", [1, 20, 8192])
def test_influence_is_a_difference_of_the_log_probability(draw_texts, kind, positions):
    (model, view), texts, step = make(kind), draw_texts(LENGTHS, 2), 1e-5
    delta = influence(model, texts, view, positions=positions)
    model.eval()
    for k, length in enumerate(LENGTHS):
        for position in range(length):
            up, down = torch.ones(2, length, dtype=torch.float64)
            up[position] += step
            down[position] -= step
            with torch.no_grad():
                high, low = (right_log_probability(model, view, texts, k, gates) for gates in (up, down))
            assert delta.row(k)[position] == pytest.approx(float(high - low) / (2 * step), rel=1e-5, abs=1e-8)
    assert delta.values.std() > 1e-4


@MODELS
def test_influence_is_captum_s_gradient_to_the_embeddings_times_the_embeddings(draw_texts, kind):
    """The gates' gradient is, by the chain rule, sum_d e_d df/de_d: captum's InputXGradient at the embedding layer."""
    captum = pytest.importorskip("captum.attr")
    (model, view), texts = make(kind), draw_texts(LENGTHS, 2)
    delta = influence(model, texts, view)
    model.eval()
    for k in range(len(LENGTHS)):
        tokens, label = alone(texts, k)

        def said(tokens, label=label):
            return view(model, one(tokens, label)).log_probabilities

        method = captum.LayerGradientXActivation(said, model.embedding)
        expected = method.attribute(tokens, target=label)[0].sum(-1)
        np.testing.assert_allclose(delta.row(k), expected.detach(), rtol=1e-8, atol=1e-12)


@MODELS
@pytest.mark.parametrize("positions", [1, 20, 8192])
def test_leave_one_out_reads_really_shortened_texts(draw_texts, kind, positions):
    (model, view), texts = make(kind), draw_texts(LENGTHS, 2)
    loo = leave_one_out(model, texts, view, positions=positions)
    model.eval()

    def odds(tokens, label):
        with torch.no_grad():
            p = view(model, one(tokens, label)).log_probabilities[0].exp()[label[0]]
        return float((p / (1 - p)).log())

    for k, length in enumerate(LENGTHS):
        expected = [odds(*alone(texts, k)) - odds(*alone(texts, k, without)) for without in range(length)]
        np.testing.assert_allclose(loo.row(k), expected, rtol=1e-9, atol=1e-11)


def test_a_user_s_bilstm_has_all_fields(draw_texts):
    (model, view), texts = make(BiLSTM), draw_texts(LENGTHS)
    fields, delta = text_influence(model, texts, view, positions=10)
    assert delta.values.tolist() == pytest.approx(influence(model, texts, view).values.tolist())
    assert fields.alpha.values.tolist() == pytest.approx(attention(model, texts, view).values.tolist())
    assert fields.gamma.values.tolist() == pytest.approx(lexical(model, texts, view).values.tolist())
    for k, length in enumerate(LENGTHS):
        words, label = alone(texts, k)
        h = model.lstm(model.embedding(words))[0][0].detach()
        np.testing.assert_allclose(fields.alpha.row(k), model.score(h)[:, 0].softmax(0).detach(), rtol=1e-10)
        odds = [(2 * float(label) - 1) * float(said[1] - said[0]) for said in model.output(h).detach()]
        np.testing.assert_allclose(fields.gamma.row(k), odds, rtol=1e-9)
        assert fields.log_probabilities[k] == pytest.approx(
            view(model, one(words, label)).log_probabilities[0].tolist(), rel=1e-9
        )
        assert len(fields.alpha.row(k)) == length


@MODELS
def test_integrated_gradients_sum_to_what_the_words_changed(draw_texts, kind):
    pytest.importorskip("captum")
    (model, view), texts = make(kind), draw_texts(LENGTHS, 2)
    field, gaps = integrated_gradients(model, texts, view, steps=60)
    model.eval()
    for k, length in enumerate(LENGTHS):
        tokens, label = alone(texts, k)
        full, empty = (
            log_odds(view(model, one(tokens, label), gates).log_probabilities, label).item()
            for gates in (torch.ones(1, length).double(), torch.zeros(1, length).double())
        )
        assert field.row(k).sum() == pytest.approx(full - empty, abs=1e-3)
        assert field.row(k).sum() - gaps[k].item() == pytest.approx(full - empty, abs=1e-9)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_our_classifier_through_a_view_of_the_user_s_gives_the_same(draw_model, draw_texts, cell):
    def view(model, batch, gates=None):
        return classifier_view(model, batch, gates)

    model, texts = draw_model(cell=cell), draw_texts(LENGTHS)
    np.testing.assert_allclose(leave_one_out(model, texts, view).values, leave_one_out(model, texts).values, rtol=1e-9)
    for probe in (attention, lexical, influence):
        assert probe(model, texts, view).values.tolist() == probe(model, texts).values.tolist()
    fields = text_fields(model, texts)
    assert attention(model, texts).values.tolist() == fields.alpha.values.tolist()
    assert lexical(model, texts).values.tolist() == fields.gamma.values.tolist()


@pytest.mark.parametrize("heads", [1, 3])
def test_our_sequence_to_sequence_network_has_a_row_for_each_output_word(heads):
    model = Seq2Seq(9, 9, hidden=6, heads=heads, seed=4).double()
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(9, (3, 3, 5), generator=generator)
    pairs = PairBatch(*words, source_lengths=torch.tensor([5, 3, 4]), target_lengths=torch.tensor([2, 5, 1]))
    alpha, beta, delta = (probe(model, pairs) for probe in (attention, lexical, influence))
    assert alpha.lengths.tolist() == beta.lengths.tolist() == delta.lengths.tolist() == [5] * 2 + [3] * 5 + [4]
    row, step = 0, 1e-5
    for k, (source, target) in enumerate(zip([5, 3, 4], [2, 5, 1], strict=True)):
        single = PairBatch(words[0, k : k + 1, :source], words[1, k : k + 1, :target], words[2, k : k + 1, :target])

        def read(gates=None, single=single):
            with torch.no_grad():
                return model(single.source, single.previous, targets=single.target, gates=gates)

        for t in range(target):
            np.testing.assert_allclose(alpha.row(row), read().alpha[0, t], rtol=1e-9)
            np.testing.assert_allclose(beta.row(row), read().lexical[0, t], rtol=1e-9)
            for position in range(source):
                nudge = step * torch.eye(source, dtype=torch.float64)[position : position + 1]
                high, low = (float(read(1 + by).log_probabilities[0, t, single.target[0, t]]) for by in (nudge, -nudge))
                assert delta.row(row)[position] == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-8)
            row += 1


@MODELS
def test_the_model_is_left_as_it_was(draw_texts, kind):
    (model, view), texts = make(kind), draw_texts(LENGTHS)
    before = torch.get_rng_state()
    with torch.no_grad():
        for probe in (attention, influence, leave_one_out):
            probe(model, texts, view)
    assert model.training and all(p.requires_grad and p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), before)


def test_what_a_view_does_not_give_is_said_in_one_sentence(draw_texts):
    (model, view), texts = make(Transformer), draw_texts(LENGTHS, 3)
    with pytest.raises(UsageError, match=r"^This view gives no lexical probe.*lexical=None\.$"):
        lexical(model, texts, view)
    with pytest.raises(UsageError, match="This view gives no lexical probe"):
        text_fields(model, texts, view)
    with pytest.raises(UsageError, match="This view gives no attention"):
        attention(model, texts, lambda *given: dataclasses.replace(view(*given), alpha=None))
    for forgetful in (lambda model, batch, gates=None: view(model, batch), torch.no_grad()(view)):
        with pytest.raises(UsageError, match="do not depend on the gates"):
            influence(model, texts, forgetful)
    with pytest.raises(UsageError, match="Text 1 has one word, and without it there is nothing"):
        leave_one_out(model, draw_texts([3, 1]), view)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"log_probabilities": torch.zeros(2, 3, 4)}, r"log_probabilities are \(2, 3, 4\); \(2, 2 classes or more\)"),
        ({"log_probabilities": torch.zeros(2, 1)}, "2 classes or more"),
        ({"alpha": torch.zeros(2, 5)}, r"alpha is \(2, 5\); \(2, 3\) is right"),
        ({"lexical": torch.zeros(3)}, r"lexical is \(3,\)"),
        ({"log_probabilities": torch.zeros(2, 2)}, "labels go from 0 to 2; from 0 to 1 is right"),
    ],
)
def test_what_does_not_fit_the_batch_is_refused(draw_texts, changes, named):
    texts = draw_texts([3, 3])
    texts.labels[:] = torch.tensor([0, 2])
    with pytest.raises(UsageError, match=named):
        attention(nn.Identity(), texts, lambda *_: Seen(**({"log_probabilities": torch.zeros(2, 3)} | changes)))


@pytest.mark.parametrize("probe", [attention, lexical, influence, leave_one_out, integrated_gradients])
def test_wrong_types_are_refused_in_a_sentence(draw_model, draw_texts, probe):
    texts, model, pairs = draw_texts([2]), draw_model(), PairBatch(*torch.zeros(3, 1, 2, dtype=torch.long))
    for given, named in (
        (("model.pt", texts), "A model to read is a torch.nn.Module, not a str"),
        ((nn.Linear(2, 2), texts), "How to read a Linear is for you to say: give a view"),
        ((model, ["good film"]), "labelled texts .* not a list"),
        ((model, texts, "alpha"), "A view is a function of model, batch and gates, not a str"),
        ((model, texts, lambda *_: {"alpha": 1}), "returns attnlab.probes.view.Seen, not a dict"),
        ((model, pairs), "labelled texts .* not (of )?a PairBatch"),
    ):
        with pytest.raises(UsageError, match=named):
            probe(*given)
    if probe in (attention, lexical, influence):
        with pytest.raises(UsageError, match="Our Seq2Seq reads pairs"):
            probe(Seq2Seq(WORDS, WORDS, hidden=4), texts)
    with pytest.raises(UsageError, match="no texts to read"):
        probe(nn.Identity(), draw_texts([]), lambda *_: None)


def test_a_padded_batch_is_read_in_its_own_order(draw_model, draw_texts):
    model, texts = draw_model(), draw_texts(LENGTHS)
    rows = torch.tensor([3, 1])
    alpha = attention(model, padded(texts, rows))
    for place, row in enumerate(rows.tolist()):
        np.testing.assert_allclose(alpha.row(place), attention(model, texts).row(row), rtol=1e-10)
