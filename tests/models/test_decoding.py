"""Greedy and beam search against a search written out hypothesis by hypothesis, and against trying everything."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pairs_in_pieces import side

from attnlab.data.piece_batches import marked
from attnlab.errors import UsageError
from attnlab.models.decoding import beam_search, translate
from attnlab.models.translator import Translator

BEGIN, END = 2, 3


def make(words, seed, **variant):
    """A network in which the words before matter, and no two hypotheses tie: all its weights are large."""
    network = Translator(words, hidden=5, seed=seed, **variant).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(5)
    return network


def next_words(network, source, output):
    """log p of the word after ``output``, from the whole network read anew."""
    previous = torch.tensor([[BEGIN, *output]])
    with torch.no_grad():
        return network(torch.tensor([source]), previous).log_probabilities[0, -1].tolist()


def slow_beam(network, source, beam, longest, normalised=False):
    """One sentence, one hypothesis at a time, lists and sorting."""
    alive, done = [(0.0, [])], []
    for step in range(1, longest + 1):
        grown = []
        for score, output in alive:
            grown += [(score + p, [*output, word]) for word, p in enumerate(next_words(network, source, output))]
        grown.sort(key=lambda one: -one[0])
        done += [
            (score / (step if normalised else 1), output[:-1]) for score, output in grown[:beam] if output[-1] == END
        ]
        alive = [one for one in grown if one[1][-1] != END][:beam]
        if normalised and len(done) >= beam:
            break
        if not normalised and done and max(done)[0] >= alive[0][0]:
            break
    return max(done, key=lambda one: one[0])[1] if done else alive[0][1]


def sources(lengths, words, seed):
    rng = np.random.default_rng(seed)
    return [[BEGIN, *rng.integers(4, words, length).tolist(), END] for length in lengths]


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    beam=st.integers(1, 6),
    longest=st.integers(1, 7),
    normalised=st.booleans(),
    variant=st.sampled_from([{}, {"readout": "linear"}, {"attention": "uniform"}, {"start": "last"}]),
    seed=st.integers(0, 2**20),
)
def test_beam_search_is_the_search_written_out(lengths, beam, longest, normalised, variant, seed):
    network, rows = make(9, seed, **variant), sources(lengths, 9, seed)
    found = beam_search(network, *padded(rows), beam=beam, longest=longest, normalised=normalised)
    assert found == [slow_beam(network, row, beam, longest, normalised) for row in rows]


def test_a_beam_that_holds_everything_finds_the_likeliest_output_of_all():
    words, longest, lengths = 5, 4, set()
    for seed in range(8):
        network, rows = make(words, seed), sources([2, 3], words, seed)
        found = beam_search(network, *padded(rows), beam=words**longest, longest=longest)
        for row, output in zip(rows, found, strict=True):
            best, following = (-np.inf, None), {}
            for length in range(longest):
                for candidate in itertools.product([w for w in range(words) if w != END], repeat=length):
                    following[candidate] = next_words(network, row, candidate)
                    said = enumerate([*candidate, END])
                    log_p = sum(following[candidate[:k]][word] for k, word in said)
                    best = max(best, (log_p, list(candidate)))
            assert output == best[1]
            lengths.add(len(output))
    assert len(lengths) > 1  # else the first output that ends would do


def test_a_beam_of_one_is_greedy():
    network, rows = make(12, 4), sources([3, 5, 1], 12, 4)
    for row, output in zip(rows, beam_search(network, *padded(rows), beam=1, longest=20), strict=True):
        greedy = []
        while len(greedy) < 20 and (word := int(np.argmax(next_words(network, row, greedy)))) != END:
            greedy.append(word)
        assert output == greedy


def test_a_wider_beam_does_not_find_less_likely_outputs_here():
    """Not a law of beam search, but true of these networks; it would fail if hypotheses got mixed up."""
    network, rows = make(10, 11), sources([2, 4, 3, 5], 10, 11)

    def log_p(row, output):
        return sum(next_words(network, row, output[:k])[word] for k, word in enumerate([*output, END]))

    narrow, wide = (beam_search(network, *padded(rows), beam=beam, longest=12) for beam in (1, 8))
    for row, one, other in zip(rows, narrow, wide, strict=True):
        assert len(one) == 12 or log_p(row, other) >= log_p(row, one) - 1e-9


class Joined:
    """Pieces whose text is their ids."""

    def decode(self, ids):
        return " ".join(map(str, ids))


def test_translations_come_in_the_order_of_the_sentences():
    network = make(12, 4).train()
    sentences = [[7, 8], [5, 6, 7, 8, 9, 10], [4], [9, 9, 9]] * 40  # more than are translated at once
    one_side = side(sentences)
    texts = translate(network, Joined(), one_side, beam=2, longest=9)
    assert network.training
    for k in (0, 1, 2, 3, 81, 159):
        tokens, lengths = marked(one_side, np.array([k]), before=True, after=True)
        assert texts[k] == " ".join(map(str, beam_search(network, tokens, lengths, beam=2, longest=9)[0]))


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"longest": 0}])
def test_a_beam_and_a_length_of_nothing_are_refused(wrong):
    with pytest.raises(UsageError, match="at least 1, not"):
        beam_search(make(6, 0), *padded(sources([2], 6, 0)), **wrong)
