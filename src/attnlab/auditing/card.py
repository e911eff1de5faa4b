"""The verdict card: five questions about attention, each with a grade that a rule chooses from its number.

Grades: ``good``, ``mixed``, ``poor``, and ``unknown`` where there is too little data, or nothing to measure with.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from attnlab.auditing.numbers import Compared, Number, Numbers

Grade = Literal["good", "mixed", "poor", "unknown"]

FLAT, SHARP = 0.05, 0.2
"""Concentration of attention below which it is as good as uniform, and from which on it is learned."""
LITTLE, MUCH, STABLE = 0.05, 0.2, 0.4
"""Agreement above chance, as a share of what is possible above it, (A - chance) / (1 - chance): below the first there
is none to speak of, from the second on there is, and from the third on two seeds look at the same words. In short texts
chance is high, so that a multiple of it would ask for the impossible."""
FAR = 0.5
"""Bits by which a twin's attention is far from its original's."""
HIGH = 0.5
"""Accuracy is high if it closes this share of the gap between the commonest class and certainty."""
NOT_FOR = (
    "What this card is not for: it says how one kind of network behaves on these texts, and is no ground truth about "
    "why a person was judged as they were; decide nothing about people by it."
)


@dataclass(frozen=True)
class Wording:
    """What the card calls things: a ``text``, what a network is to say of it (``label``, and ``task``), the baseline
    that it must beat, what agreement of predictions means (``same``), which ``data`` helps, what to read ``instead``.
    """

    text: str
    label: str
    task: str
    baseline: str
    same: str
    data: str
    influence: str
    instead: str


TEXTS = Wording(
    text="text",
    label="the label",
    task="these labels",
    baseline="the commonest class",
    same="the same class in {:.0%} of the texts",
    data="More updates hardly help: what does is data that tells words apart, such as texts of which fewer words go "
    "with every label.",
    influence="Does it follow influence?",
    instead="Use leave-one-out or gradients where you need to know what a prediction depends on.",
)
PAIRS = Wording(
    text="sentence",
    label="the output word",
    task="to translate",
    baseline="a trigram of the output language, which reads no input",
    same="the same word first for {:.0%} of the output words",
    data="More updates hardly help: what does is data that tells words apart, such as sentences in which words do not "
    "always occur together.",
    influence="Does it follow influence and alignment?",
    instead="Use gradients, or `attnlab align`, where you need to know which word an output word comes from.",
)


@dataclass(frozen=True)
class Answer:
    """A question's ``grade``, its ``number`` and what that is (``measure``), what it means, what to do about it."""

    question: str
    grade: Grade
    measure: str
    number: Number
    says: str
    advice: str = ""


@dataclass(frozen=True)
class Card:
    """The five answers, the sentence above them, and what else there is to say."""

    headline: str
    answers: tuple[Answer, ...]
    remarks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def make_card(numbers: Numbers, too_little: str = "", words: Wording = TEXTS, hints: Sequence[str] = ()) -> Card:
    """The card for these numbers; ``too_little``: why there is too little data for grades. ``hints``: what the data
    says before anything is trained, such as a word that alone decides the label; they are among the remarks.
    """
    compared = numbers.compared
    other = compared["attention, leave-one-out" if words is TEXTS else "attention, alignment"]
    answers = [
        _learned(numbers, words),
        _knowledge(compared["attention, lexical probe"], words),
        _influence(compared["attention, influence"], other, words),
        _stable(compared.get("attention, attention of another seed")),
        _movable(numbers, words),
    ]
    if not predicts(numbers):
        why = f"The network has not learned {words.task}."
        answers = [answers[0], *(_without_grade(one, why) for one in answers[1:])]
    if too_little:
        answers = [_without_grade(one, too_little) for one in answers]
    headline = _headline(numbers, answers, too_little, words)
    return Card(headline, tuple(answers), (*hints, *_remarks(numbers, answers, words)))


def predicts(numbers: Numbers) -> bool:
    """Whether the networks are better than the baseline, for texts the commonest class, by the interval over texts."""
    return numbers.gained.low is not None and numbers.gained.low > 0


def above_chance(number: Number) -> tuple[float, float, float] | None:
    """Value and interval of agreement as shares of what is possible above chance; None where they are undefined.

    >>> above_chance(Number(0.75, 0.5, 1.0, chance=0.5))
    (0.5, 0.0, 1.0)
    """
    if number.value is None or number.low is None or number.high is None or number.chance is None:
        return None
    if number.chance >= 1:
        return None
    low, value, high = ((one - number.chance) / (1 - number.chance) for one in (number.low, number.value, number.high))
    return value, low, high


def agreement_grade(number: Number, much: float = MUCH) -> Grade:
    """Good if the interval lies above chance and the value is at least ``much`` of what is possible, poor if the whole
    interval is below a little of it.
    """
    shares = above_chance(number)
    if shares is None:
        return "unknown"
    value, low, high = shares
    if low > 0 and value >= much:
        return "good"
    return "poor" if high < LITTLE else "mixed"


def _learned(numbers: Numbers, words: Wording) -> Answer:
    number = numbers.concentration
    question, measure = "Is attention learned?", "concentration (0: uniform, 1: on one word)"
    if not predicts(numbers):
        said = f"The network is no better than {words.baseline} ({numbers.majority:.1%}): it has found nothing."
        advice = f"See what the forecast says about the data. {words.data}"
        return Answer(question, "poor", measure, number, said, advice)
    if number.low is None or number.high is None:
        return Answer(question, "unknown", measure, number, f"There are too few {words.text}s to decide.")
    if number.high < FLAT:
        said = (
            f"It is practically uniform: all words of a {words.text} get nearly the same share, whatever the accuracy."
        )
        return Answer(question, "poor", measure, number, said, f"Read influence, not attention. {words.data}")
    if number.low > SHARP:
        return Answer(question, "good", measure, number, f"It prefers some words of a {words.text} to others.")
    said = f"It prefers some words a little; most of a {words.text} is read evenly."
    return Answer(question, "mixed", measure, number, said, f"Read it beside influence. {words.data}")


def _knowledge(compared: Compared, words: Wording) -> Answer:
    grade = agreement_grade(compared.top)
    says = {
        "good": f"Its top word is among those from which the network would guess {words.label} by themselves.",
        "mixed": f"Its top word is somewhat more often than by chance one that says {words.label} by itself.",
        "poor": f"Its top word is hardly more often than by chance one that says {words.label} by itself.",
        "unknown": "It is not known.",
    }
    advice = (
        ""
        if grade == "good"
        else "Attention may look at the neighbours of telling words: compare with the lexical probe."
    )
    question = "Does it follow what the network knows about words?"
    return Answer(question, grade, "A(attention, lexical probe)", compared.top, says[grade], advice)


def _influence(gradient: Compared, other: Compared, words: Wording) -> Answer:
    both = [(agreement_grade(one.top), one) for one in (gradient, other)]
    order: list[Grade] = ["poor", "mixed", "unknown", "good"]
    grade, worst = min(both, key=lambda pair: order.index(pair[0]))
    aligned = worst.name == "attention, alignment"
    one = "the one that IBM Model 1 aligns" if aligned else "one that the prediction depends on"
    says = {
        "good": f"Its top word is {one}.",
        "mixed": f"Its top word is somewhat more often than by chance {one}.",
        "poor": f"Its top word is hardly more often than by chance {one}.",
        "unknown": "It is not known.",
    }
    tau = f" Over all words of a {words.text} the orders agree by tau {worst.tau}."
    advice = "" if grade == "good" else words.instead
    return Answer(words.influence, grade, f"A({worst.name})", worst.top, says[grade] + tau, advice)


def _stable(compared: Compared | None) -> Answer:
    question, measure = "Is it stable between seeds?", "A(attention, attention of another seed)"
    if compared is None:
        return Answer(question, "unknown", measure, Number(None), "There is one network only; two seeds are needed.")
    number, grade = compared.top, agreement_grade(compared.top, STABLE)
    says = {
        "good": "Networks from other seeds look at the same words.",
        "mixed": "Networks from other seeds look at the same words in part.",
        "poor": "Networks from other seeds look at other words.",
        "unknown": "It is not known.",
    }
    advice = "" if grade in ("good", "unknown") else "Read the mean over several seeds, not one network's attention."
    return Answer(question, grade, measure, number, says[grade], advice)


def _movable(numbers: Numbers, words: Wording) -> Answer:
    question, measure = "Is it bound to the predictions?", "JSD of a deceptive twin's attention, bits"
    if not numbers.twins:
        return Answer(question, "unknown", measure, Number(None), "There is no deceptive twin to compare with.")
    equal = [twin for twin in numbers.twins if twin.equal]
    if not equal:
        nearest = min(numbers.twins, key=lambda twin: twin.tvd.value or 0.0)
        said = "No twin kept the predictions while its attention was drawn away: moving it costs predictions here."
        return Answer(question, "good", measure, nearest.jsd, said, "A larger budget tries more twins.")
    far = max(equal, key=lambda twin: twin.jsd.value or 0.0)
    number = Number(
        far.jsd.value, far.jsd.low, far.jsd.high, numbers.seeds_jsd.value if numbers.seeds_jsd else None, far.jsd.texts
    )
    level = number.chance or 0.0
    said = (
        f"A twin with predictions as close as another seed's (TVD {far.tvd.value:.3f}, {words.same.format(far.same)}) "
        f"has attention {far.jsd.value:.2f} bits away; two seeds are {level:.2f} apart."
    )
    advice = "Attention that can be moved so far at equal predictions does not say why they were made."
    if number.low is not None and number.low > max(level, FAR):
        return Answer(question, "poor", measure, number, said, advice)
    if number.high is not None and number.high <= level:
        return Answer(question, "good", measure, number, said)
    return Answer(question, "mixed", measure, number, said, advice)


def _without_grade(answer: Answer, why: str) -> Answer:
    return Answer(answer.question, "unknown", answer.measure, answer.number, f"No grade: {why}", answer.advice)


def _headline(numbers: Numbers, answers: Sequence[Answer], too_little: str, words: Wording) -> str:
    grades = [answer.grade for answer in answers]
    if too_little:
        return f"Too little data for a verdict. {too_little}"
    if not predicts(numbers):
        return f"No: the network has not learned {words.task}, so its attention explains nothing."
    if "poor" in grades[:3]:
        return "No: attention here does not show what the network knows or depends on."
    if set(grades) == {"good"}:
        return "As far as these five measures go, yes: attention is learned, follows what matters, and stays put."
    if set(grades[:3]) == {"good"}:
        stable, bound = grades[3:]
        but = "not every question could be answered"
        if bound in ("poor", "mixed"):
            but = "another attention would predict the same"
        elif stable in ("poor", "mixed"):
            but = "a network from another seed points at others"
        return f"With care: attention points at words that matter, but {but}."
    return "With care: attention follows what matters only in part."


def _remarks(numbers: Numbers, answers: Sequence[Answer], words: Wording) -> list[str]:
    said = []
    accuracy, majority = numbers.accuracy.value or 0.0, numbers.majority
    high = predicts(numbers) and majority < 1 and (accuracy - majority) / (1 - majority) >= HIGH
    if high and "poor" in [answer.grade for answer in answers[:3]]:
        said.append(
            f"The network is accurate ({accuracy:.1%}; {words.baseline}: {majority:.1%}) and its attention looks away "
            "from the words that matter. That is no bug: its states carry words along, so it can do without."
        )
    uniform = numbers.accuracies.get("uniform twin")
    if uniform is not None and predicts(numbers) and uniform >= (numbers.accuracy.low or 0.0):
        said.append(
            f"Attention is not needed for the accuracy here: with uniform attention it is {uniform:.1%}, with learned "
            f"attention {accuracy:.1%}."
        )
    return [*said, NOT_FOR]
