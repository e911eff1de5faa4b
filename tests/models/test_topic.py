"""The topic model against a plain dense implementation of P1's equations."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from attnlab.errors import UsageError
from attnlab.families.topics.spec import TopicModelSpec
from attnlab.models.bag_attention import NARROW, BagAttention, LossWithGradients, bag_sum, bag_sums, index_bags
from attnlab.models.topic import Narrow, TopicModel, make_classifier, mean_loss, one_hot

WORDS = 11


def ragged(sentences):
    lengths = [len(sentence) for sentence in sentences]
    words = torch.tensor([word for sentence in sentences for word in sentence])
    return index_bags(words, torch.tensor([0, *lengths]).cumsum(0), WORDS)


def dense(values_of, scores, sentences):
    """Context vectors, one sentence and one word at a time."""
    contexts = []
    for number, sentence in enumerate(sentences):
        weights = torch.softmax(torch.stack([scores[word] for word in sentence]), 0)
        contexts.append(sum(w * values_of(number, place) for place, w in enumerate(weights)))
    return torch.stack(contexts)


def random_model(kind="linear", seed=0, below="nothing", topics=3, size=4):
    model = TopicModel(
        WORDS, make_classifier(kind, size, topics, seed=seed), size=size, embedding_std=1.0, below=below, seed=seed
    ).double()
    with torch.no_grad():
        model.key.normal_(generator=torch.Generator().manual_seed(seed))
    return model


def gradients(model, loss):
    named = {name: value for name, value in model.named_parameters() if value.requires_grad}
    return dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))


sentences_of = st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=6), min_size=1, max_size=6)


@given(sentences=sentences_of, seed=st.integers(0, 50), kind=st.sampled_from(["fixed", "linear", "layers"]))
def test_sparse_gradients_are_those_of_the_dense_equations(sentences, seed, kind):
    model = random_model(kind, seed, below=["nothing", "linear"][seed % 2])
    labels = torch.arange(len(sentences)) % 3
    ours = model(ragged(sentences)).log_probabilities
    context = dense(lambda i, at: model.values()[sentences[i][at]], model.key @ model.query, sentences)
    plain = torch.log_softmax(model.classifier(context), 1)
    assert torch.allclose(ours, plain, atol=1e-12)
    got, wanted = (gradients(model, nn.functional.nll_loss(value, labels)) for value in (ours, plain))
    for name, value in wanted.items():
        assert torch.allclose(got[name], value, atol=1e-12), name


@given(sentences=sentences_of, seed=st.integers(0, 50))
def test_attention_has_the_gradient_of_its_differences(sentences, seed):
    generator = torch.Generator().manual_seed(seed)
    values, scores = (torch.randn(*shape, dtype=torch.double, generator=generator) for shape in ((WORDS, 3), (WORDS,)))
    inputs = values.requires_grad_(), scores.requires_grad_(), ragged(sentences)
    assert torch.autograd.gradcheck(BagAttention.apply, inputs)


@given(
    sentences=sentences_of,
    seed=st.integers(0, 9),
    kind=st.sampled_from(["fixed", "linear", "layers"]),
    size=st.sampled_from([4, NARROW + 1]),
    hidden=st.lists(st.sampled_from([1, 2, 3, 5, NARROW + 2]), min_size=1, max_size=3),
    frozen=st.sets(st.sampled_from(["embedding", "key", "query", "classifier.0.weight", "classifier.0.bias"])),
)
def test_the_loss_of_layers_in_one_pass_is_that_of_their_parts(sentences, seed, kind, size, hidden, frozen):
    """Value and every gradient, also where there are some already, in double precision; embeddings narrow and wide,
    first layers narrower and wider than they are."""
    bags = ragged(sentences)
    labels = torch.randint(3, (len(sentences),), generator=torch.Generator().manual_seed(seed))
    found = []
    for whole in (True, False):
        classifier = make_classifier(kind, size, 3, hidden=hidden, seed=seed)
        model = TopicModel(WORDS, classifier, size=size, embedding_std=1.0, seed=seed).double()
        model.key.data.normal_(generator=torch.Generator().manual_seed(seed))
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(parameter.requires_grad and name not in frozen)
        assume(any(p.requires_grad for p in model.parameters()))
        right = one_hot(labels, 3).double()
        for _ in range(2):
            loss = model.mean_loss(bags, labels, right) if whole else mean_loss(model(bags).log_probabilities, labels)
            assert isinstance(loss, LossWithGradients) == whole
            loss.backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        assert gradients.keys() == {name for name, p in model.named_parameters() if p.requires_grad}
        found.append({"loss": loss.detach(), **gradients})
    torch.testing.assert_close(*found, atol=1e-12, rtol=1e-10)


def test_a_classifier_of_other_parts_is_trained_part_by_part():
    bags, labels = ragged([[1, 2, 2], [10]]), torch.tensor([0, 2])
    for classifier in (
        nn.Linear(4, 3),
        nn.Sequential(Narrow(4, 3), nn.Tanh(), Narrow(3, 3)),
        nn.Sequential(Narrow(4, 3), nn.ReLU()),
    ):
        model = TopicModel(WORDS, classifier, size=4, embedding_std=1.0)
        loss = model.mean_loss(bags, labels, one_hot(labels, 3))
        assert not isinstance(loss, LossWithGradients)
        torch.testing.assert_close(loss, mean_loss(model(bags).log_probabilities, labels))


@pytest.mark.parametrize("size", [1, NARROW, NARROW + 1])
def test_one_call_for_both_sums_gives_the_bits_of_two(size):
    table, factor, column = torch.randn(WORDS, size), torch.randn(WORDS, 1), torch.randn(WORDS, 1)
    bags = ragged([[1, 2, 2], [10], [0, 5, 6, 7]])
    sums, beside = bag_sums(table, factor, column, bags.words, bags.offsets)
    assert torch.equal(sums, bag_sum(table * factor, bags.words, bags.offsets))
    assert torch.equal(beside, bag_sum(column, bags.words, bags.offsets))


@given(
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)), bias=st.booleans(), seed=st.integers(0, 9)
)
def test_a_narrow_layer_is_a_linear_one(sizes, bias, seed):
    count, inputs, outputs = sizes
    ours, library = Narrow(inputs, outputs, bias=bias).double(), nn.Linear(inputs, outputs, bias=bias).double()
    ours.load_state_dict(library.state_dict())
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, inputs, dtype=torch.double, generator=generator, requires_grad=True)
    pull = torch.randn(count, outputs, dtype=torch.double, generator=generator)
    assert ours(rows[0]).shape == (outputs,)
    got, wanted = (
        (layer(rows), *torch.autograd.grad((layer(rows) * pull).sum(), [rows, *layer.parameters()]))
        for layer in (ours, library)
    )
    for value, expected in zip(got, wanted, strict=True):
        assert torch.allclose(value, expected, atol=1e-12)


@given(
    logits=st.lists(st.tuples(*[st.floats(-(2.0**100), 2.0**100, width=32)] * 3), min_size=1, max_size=6),
    labels=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_the_loss_is_the_librarys_however_large_the_logits(logits, labels):
    model = TopicModel(len(logits), nn.Identity(), size=3)  # each word a sentence: its embedding is its logits
    model.embedding.data = torch.tensor(logits)
    bags = index_bags(torch.arange(len(logits)), torch.arange(len(logits) + 1), len(logits))
    wanted_labels = torch.tensor(labels[: len(logits)])
    ours = mean_loss(model(bags).log_probabilities, wanted_labels)
    library = nn.functional.cross_entropy(model.embedding, wanted_labels)
    assert torch.isfinite(ours)
    assert torch.allclose(ours, library, rtol=1e-6)
    got, wanted = (torch.autograd.grad(loss, model.embedding)[0] for loss in (ours, library))
    assert torch.allclose(got, wanted, atol=1e-7)


def test_an_lstm_below_reads_each_sentence_alone():
    sentences = [[1, 2, 3, 2], [4], [5, 6]]
    model = random_model(below="lstm", seed=3)
    library = nn.LSTM(4, 4).double()
    library.load_state_dict(model.below.state_dict())
    states = [library(model.embedding[sentence])[0] for sentence in sentences]
    context = dense(lambda i, at: states[i][at], model.key @ model.query, sentences)
    prediction = model(ragged(sentences), torch.tensor([0, 1, 2]))
    assert torch.allclose(prediction.context, context, atol=1e-10)
    alone = torch.log_softmax(model.classifier(states[0]), 1)[:, 0]
    assert torch.allclose(prediction.lexical[:4], alone, atol=1e-10)


@given(sentences=sentences_of, seed=st.integers(0, 50))
def test_attention_adds_up_and_the_probe_is_attention_on_one_word(sentences, seed):
    model, labels = random_model(seed=seed), torch.arange(len(sentences)) % 3
    bags = ragged(sentences)
    prediction = model(bags, labels)
    sums = torch.zeros(len(sentences)).double().index_add(0, bags.sentence, prediction.attention)
    assert torch.allclose(sums, torch.ones_like(sums))
    alone = model(ragged([[word] for sentence in sentences for word in sentence])).log_probabilities
    each = alone.gather(1, labels[bags.sentence, None]).squeeze(1)
    assert torch.allclose(prediction.lexical, each, atol=1e-12)


@given(sentences=sentences_of, seed=st.integers(0, 50))
def test_a_score_grows_as_fast_as_the_probe_knows_more_than_the_sentence_does(sentences, seed):
    """The bridge of docs/theory.md: exact for every bag of words and every linear classifier."""
    model, labels = random_model("linear", seed), torch.arange(len(sentences)) % 3
    bags = ragged(sentences)
    prediction = model(bags, labels)
    loss = nn.functional.nll_loss(prediction.log_probabilities, labels)
    flow = -torch.autograd.grad(loss, model.key)[0] @ model.query  # ds/dtau of every word
    with torch.no_grad():
        surprise = nn.functional.one_hot(labels, 3) - prediction.log_probabilities.exp()  # (sentences, topics)
        logits = model.classifier(model.embedding[bags.words])
        known = (surprise[bags.sentence] * logits).sum(1)  # psi of every word in its sentence
        mean = torch.zeros(len(sentences)).double().index_add(0, bags.sentence, prediction.attention * known)
        push = prediction.attention * (known - mean[bags.sentence]) / len(sentences)
        expected = torch.zeros(WORDS).double().index_add(0, bags.words, push) * model.query.square().sum()
    assert torch.allclose(flow, expected, atol=1e-12)


def test_large_scores_do_not_overflow():
    model = random_model()
    with torch.no_grad():
        model.key.copy_(model.key + 2000 * model.query / model.query.square().sum())
    assert model.scores().min() > 1900
    assert torch.isfinite(model.float()(ragged([[1, 2], [3]])).log_probabilities).all()


def test_any_module_can_be_the_classifier():
    class Cosine(nn.Module):
        def forward(self, context):
            return torch.stack([context.cos().sum(1), context.sin().sum(1)], 1)

    model = TopicModel(WORDS, Cosine(), size=4, embedding_std=1.0)
    model(ragged([[1, 2], [3]])).log_probabilities[:, 0].sum().backward()
    assert model.key.grad is not None and model.embedding.grad.abs().sum() > 0


def test_classifiers_are_the_papers():
    fixed = make_classifier("fixed", 10, 4, seed=1).weight
    assert fixed.T.diagonal().tolist() == [1, 1, 1, 1] and not fixed.requires_grad
    square = make_classifier("orthonormal", 10, 4, seed=1).weight
    assert torch.allclose(square @ square.T, torch.eye(4), atol=1e-6) and not square.requires_grad
    assert make_classifier("linear", 10, 4).bias is None
    shapes = [tuple(p.shape) for p in make_classifier("layers", 10, 4, hidden=(7, 5)).parameters()]
    assert shapes == [(7, 10), (7,), (5, 7), (5,), (4, 5), (4,)]


def test_start_values_are_the_papers_and_touch_no_global_generator():
    before = torch.random.get_rng_state()
    model = TopicModel(5008, make_classifier("layers", 10, 4, seed=7), seed=7)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert model.key.abs().sum() == 0
    assert model.embedding.std().item() == pytest.approx(1e-6, rel=0.05)
    queries = torch.stack([TopicModel(1, nn.Identity(), seed=seed).query.detach() for seed in range(300)])
    assert queries.std().item() == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: make_classifier("cubic", 10, 4), "fixed, orthonormal, linear, layers"),
        (lambda: make_classifier("orthonormal", 3, 4), "at least 4 numbers, not 3"),
        (lambda: TopicModel(5, nn.Identity(), below="gru"), "nothing, linear, lstm"),
        (lambda: index_bags(torch.tensor([1]), torch.tensor([0, 1, 1]), 5), "at least one word in each"),
        (lambda: index_bags(torch.tensor([], dtype=torch.int64), torch.tensor([0]), 5), "at least one sentence"),
        (lambda: index_bags(torch.tensor([1, 5]), torch.tensor([0, 2]), 5), "between 0 and 4"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()


# --- the authors' start


@torch.no_grad()
def test_the_released_start_is_that_of_the_global_generator():
    """As the released code draws it: tables are filled when they are made and again when they are initialised."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        keys, query = nn.Embedding(5008, 10), nn.Embedding(1, 10)
        keys.weight.data.normal_()
        query.weight.data.normal_(0, 0.3)
        classifier = nn.Linear(10, 4, bias=False)
        torch.manual_seed(3)
        words = nn.Embedding(5008, 10)
        words.weight.data.normal_(0, 0.1)
    ours = TopicModelSpec(classifier="linear", embedding_std=0.1, start="released").build(5008, 4, seed=7)
    assert torch.equal(ours.query, query.weight[0])
    assert torch.equal(ours.embedding, words.weight)
    assert torch.equal(ours.classifier.weight, classifier.weight)
    assert float(ours.query.norm()) == pytest.approx(1.197, abs=5e-4)
    plotted = float(ours.query.norm() * ours.embedding[0].norm())
    assert plotted == pytest.approx(0.2777, abs=1e-4), "the constant in the authors' plot of frozen embeddings"


@pytest.mark.parametrize("kind", ["fixed", "linear", "layers"])
def test_the_released_start_is_the_same_for_every_seed_and_leaves_the_global_generator_alone(kind):
    state = torch.random.get_rng_state()
    one, other = (TopicModelSpec(classifier=kind, start="released").build(28, 4, seed=seed) for seed in (0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    for ours, theirs in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    drawn = TopicModelSpec(classifier=kind).build(28, 4, seed=0)
    assert not torch.equal(one.query, drawn.query)
