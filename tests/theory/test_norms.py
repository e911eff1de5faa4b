"""The identity and the ideal dynamics: against each other, their limits, and a simulator with few assumptions."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from attnlab.errors import UsageError
from attnlab.theory.norms import norm_of_score


@dataclass(frozen=True)
class Ideal:
    """The ideal case: ``topics`` J balanced classes and a fixed classifier with orthonormal columns.

    ``share`` pi: the share of sentences that contain the topic word. ``others`` m. ``query_norm`` ||q||. The embedding
    starts at 0 or on the ray to the word's own class.
    """

    topics: int
    share: float
    others: float
    query_norm: float

    @property
    def c(self):
        """sqrt(J / (J - 1)): how fast the margin grows with the norm."""
        return float(np.sqrt(self.topics / (self.topics - 1)))

    def weight(self, score):
        """a = e^s / (e^s + m), the topic word's attention."""
        return np.asarray(1 / (1 + self.others * np.exp(-np.asarray(score, float))))

    def loss(self, score, norm):
        """log(1 + (J - 1) e^{-z}) with the margin z = a r c."""
        margin = self.weight(score) * np.asarray(norm, float) * self.c
        return np.asarray(np.logaddexp(0, np.log(self.topics - 1) - margin))

    def rates(self, score, norm):
        """ds/dtau and dr/dtau."""
        a = float(self.weight(score))
        push = self.share * a * self.c * float(-np.expm1(-self.loss(score, norm)))  # pi a c (1 - p)
        return self.query_norm**2 * (1 - a) * norm * push, push


@dataclass(frozen=True)
class Trajectory:
    """A topic word's way at the times tau (steps times the rate): each (times,)."""

    time: np.ndarray
    score: np.ndarray
    norm: np.ndarray
    loss: np.ndarray


def integrate(ideal, times, *, start_score=0.0, start_norm=0.0):
    """The dynamics of ``ideal`` at rising ``times``, from time 0."""
    wanted = np.asarray(times, float)
    solved = solve_ivp(
        lambda _, state: ideal.rates(*state),
        (0.0, float(wanted[-1])),
        (start_score, start_norm),
        method="LSODA",  # slow at the start, fast in the middle, slow again
        t_eval=wanted,
        rtol=1e-9,
        atol=1e-12,
    )
    assert solved.success, solved.message
    score, norm = solved.y
    return Trajectory(wanted, score, norm, ideal.loss(score, norm))


IDEAL = Ideal(topics=4, share=1 / 8, others=20, query_norm=0.9)


@given(
    score=st.floats(-3, 12),
    others=st.floats(0.5, 100),
    query_norm=st.floats(0.1, 4),
    start_score=st.floats(-3, 3),
    start_norm=st.floats(0, 3),
)
def test_score_and_norm_keep_the_identity(score, others, query_norm, start_score, start_norm):
    settings = {"query_norm": query_norm, "start_score": start_score, "start_norm": start_norm}
    norm = norm_of_score(score, others, **settings)
    if norm > 1e-3:
        grown = query_norm**2 * (norm**2 - start_norm**2) / 2
        sides = score + np.exp(score) / others, start_score + np.exp(start_score) / others
        assert grown == pytest.approx(sides[0] - sides[1], rel=1e-6, abs=1e-6)
    assert norm_of_score(start_score, others, **settings) == pytest.approx(start_norm)


def test_from_zero_it_is_the_released_formula():
    for s in (0.05, 1.0, 3.976):
        assert norm_of_score(s, 20) == pytest.approx(np.sqrt(2 * (s + np.exp(s) / 20 - 1 / 20)))
        assert norm_of_score(s, 20, query_norm=0.7) == pytest.approx(norm_of_score(s, 20) / 0.7)


def test_below_every_possible_score_the_norm_is_zero():
    assert norm_of_score(-1.0, 20) == 0
    assert norm_of_score(-1.0, 20, start_norm=3.0) > 0


@given(
    topics=st.integers(2, 8),
    share=st.floats(0.02, 0.5),
    others=st.integers(2, 40),
    query_norm=st.floats(0.3, 3),
    start_score=st.floats(-0.5, 1),
    start_norm=st.floats(0, 1),
)
def test_the_dynamics_keep_the_identity_and_only_grow(topics, share, others, query_norm, start_score, start_norm):
    ideal = Ideal(topics, share, others, query_norm)
    start = {"start_score": start_score, "start_norm": start_norm}
    way = integrate(ideal, np.linspace(0, 2000, 50), **start)
    expected = norm_of_score(way.score, others, query_norm=query_norm, **start)
    # The identity is about squares: near 0 a rounding of 1e-15 in one would be 3e-8 in its root.
    assert way.norm**2 == pytest.approx(expected**2, rel=2e-6, abs=1e-13)
    assert (np.diff(way.norm) > 0).all() and (np.diff(way.score) >= -1e-9).all() and (np.diff(way.loss) < 0).all()


def test_rates_are_the_gradient_of_the_loss():
    """By numerical differentiation of the loss in embedding and key, scaled by the share and ||q||^2."""
    for s, r in ((0.0, 0.5), (1.5, 2.0), (4.0, 4.0)):
        h = 1e-6
        by_score = (IDEAL.loss(s + h, r) - IDEAL.loss(s - h, r)) / (2 * h)
        by_norm = (IDEAL.loss(s, r + h) - IDEAL.loss(s, r - h)) / (2 * h)
        wanted = (-IDEAL.share * IDEAL.query_norm**2 * by_score, -IDEAL.share * by_norm)
        assert IDEAL.rates(s, r) == pytest.approx(wanted, rel=1e-6)


def test_early_asymptotics():
    """From 0 and for small times r = pi tau / (c (m + 1)) and s (1 + 1/m) = ||q||^2 r^2 / 2."""
    for time, tolerance in ((1.0, 1e-3), (0.1, 1e-4)):
        way = integrate(IDEAL, [time])
        norm = IDEAL.share / (IDEAL.others + 1) / IDEAL.c * time
        assert way.norm[-1] == pytest.approx(norm, rel=tolerance)
        score = IDEAL.query_norm**2 * norm**2 / 2 / (1 + 1 / IDEAL.others)
        assert way.score[-1] == pytest.approx(score, rel=tolerance)


def test_late_asymptotics_are_approached():
    """The loss tends to 1 / (pi c^2 tau), r to log(pi c^2 (J - 1) tau) / c and s to 2 log r + log(m ||q||^2 / 2)."""
    times = np.array([1e4, 1e6, 1e9, 1e12])
    way, rate = integrate(IDEAL, times), IDEAL.share * IDEAL.c**2
    norm = np.log(rate * (IDEAL.topics - 1) * times) / IDEAL.c
    score = 2 * np.log(norm) + np.log(IDEAL.others * IDEAL.query_norm**2 / 2)
    for measured, limit in ((way.loss, 1 / (rate * times)), (way.norm, norm), (way.score, score)):
        error = np.abs(measured / limit - 1)
        assert (np.diff(error) < 0).all(), "further away at a later time"
        assert error[-1] < 0.03


@given(
    others=st.floats(1, 50), fall=st.floats(0, 2), start=st.floats(-1, 1), rise=st.floats(0.1, 2), first=st.floats(0, 2)
)
def test_with_others_that_fall_it_is_the_integral_of_what_attention_leaves(others, fall, start, rise, first):
    """||q||^2 r dr = ds / (1 - a) with a = e^s / (e^s + m e^(others' score)), added up in small pieces."""
    grid = np.linspace(start, start + rise, 20_001)
    middle = (grid[1:] + grid[:-1]) / 2
    total = 0.0
    for s in middle[::10]:
        other = -fall * (s - start)
        total += 10 * (grid[1] - grid[0]) / (1 - np.exp(s) / (np.exp(s) + others * np.exp(other)))
    expected = np.sqrt(first**2 + 2 / 0.7**2 * total)
    got = norm_of_score(start + rise, others, query_norm=0.7, start_score=start, start_norm=first, fall=fall)
    assert got == pytest.approx(expected, rel=2e-3)


def test_a_small_dictionary_falls_by_what_topic_words_rise_and_the_mended_identity_knows():
    """Scores keep their sum whatever the step; with that the norm is what the mended identity says, not the plain."""
    topics = dictionary = 4
    score, norm, _, others = simulate(1.0, 150.0, dictionary=dictionary, sentences=4000, topics=topics)
    assert others.sum() == pytest.approx(-score.sum(), abs=1e-4)
    assert score.min() > 1
    plain, mended = (norm_of_score(score, 20, fall=fall) for fall in (0.0, topics / dictionary))
    assert np.abs(norm / mended - 1).max() < 0.05
    assert np.abs(norm / plain - 1).min() > 0.1


def simulate(rate, time, *, dictionary, sentences, others=20, topics=4):
    """Plain dense gradient descent on balanced sentences: score and norm of every topic word, the loss, and the scores
    of the other words.

    One topic word a topic, an orthonormal fixed classifier, embeddings and keys from 0.
    """
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(sentences) % topics
    noise = topics + torch.randint(dictionary, (sentences, others), generator=generator)
    words = torch.cat([label[:, None], noise], 1)  # (sentences, m + 1)
    embedding = torch.zeros(topics + dictionary, topics, requires_grad=True)
    score = torch.zeros(topics + dictionary, requires_grad=True)  # its flow is that of q^T key with ||q|| = 1
    for _ in range(round(time / rate)):
        weights = torch.softmax(score[words], 1)
        context = (weights[:, :, None] * embedding[words]).sum(1)
        loss = torch.nn.functional.cross_entropy(context, label)
        by_embedding, by_score = torch.autograd.grad(loss, [embedding, score])
        with torch.no_grad():
            embedding -= rate * by_embedding
            score -= rate * by_score
    final, norms = score.detach().numpy(), embedding[:topics].detach().norm(dim=1).numpy()
    return final[:topics], norms, float(loss.detach()), final[topics:]


def test_the_simulator_tends_to_the_dynamics_as_dictionaries_grow_and_steps_shrink():
    """At the time of the steepest descent, where every error shows most."""
    time = 140.0
    way = integrate(Ideal(topics=4, share=1 / 4, others=20, query_norm=1.0), [time])
    assert 0.3 < way.loss[-1] < 1.0
    errors = []
    for rate, dictionary, sentences in ((2.0, 1000, 1000), (1.0, 4000, 2000), (0.5, 16_000, 4000)):
        score, norm, *_ = simulate(rate, time, dictionary=dictionary, sentences=sentences)
        errors.append((np.abs(score / way.score[-1] - 1).max(), np.abs(norm / way.norm[-1] - 1).max()))
    coarse, middle, fine = errors
    assert middle[0] < coarse[0] and fine[0] < middle[0]
    assert middle[1] < coarse[1] and fine[1] < middle[1]
    assert max(fine) < 0.03


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: norm_of_score(1.0, 0), "not m = 0"),
        (lambda: norm_of_score(1.0, 20, query_norm=0), "norm above 0, not 0"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()
