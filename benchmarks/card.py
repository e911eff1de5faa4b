"""Is the audit's card right? Audits of 24 small data sets at budget small, some with a truth that was planted.

    python benchmarks/card.py OUT [--only NAME ...]

Writes OUT/<name>.csv, its audit in OUT/<name>/, and OUT/card.json: what every card says, which planted truths it found,
and whether grades computed without the twin predict how far a deceptive twin could move attention: Spearman's rho over
data sets with a bootstrap interval, and how often a threshold on the grades, chosen on all other data sets, says
rightly of one whether its attention can be moved far. Needs ATTNLAB_DATA; goes on where it was. About 0.6 CPU hours.
What came out is kept in benchmarks/card.json. No grade's threshold was chosen on these data sets.
"""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import attnlab as al
from attnlab.auditing.card import FAR
from attnlab.auditing.result import Audit
from attnlab.data.labelled_text import load_corpus
from attnlab.stats.bootstrap import drawn_rows, value_and_interval
from attnlab.stats.ranks import spearman

Rows = list[tuple[str, str]]
Truth = Callable[[Audit], bool]
LONG, SHORT = 500, 2000
"""Texts of corpora with long and with short texts."""
FILLER = [f"filler{k}" for k in range(200)]


def generator(name: str) -> np.random.Generator:
    """One for each name."""
    return np.random.default_rng(list(name.encode()))


def corpus(name: str, count: int) -> Rows:
    """The first texts of a corpus in a drawn order, their words in small letters."""
    data = load_corpus(name)
    rows = []
    for row in generator(name).permutation(len(data.train))[:count].tolist():
        a, b = data.train.offsets[row : row + 2].tolist()
        words = [data.words[word] for word in data.train.words[a:b].tolist()]
        rows.append((" ".join(words), data.classes[int(data.train.labels[row])]))
    return rows


def noisy(rows: Rows, share: float) -> Rows:
    """A share of the labels drawn anew."""
    rng, names = generator(f"noise {share}"), sorted({label for _, label in rows})
    return [(text, str(rng.choice(names)) if rng.random() < share else label) for text, label in rows]


def leaked(rows: Rows) -> Rows:
    """A word of its own wherever the label is the first."""
    rng, first = generator("leak"), min(label for _, label in rows)
    return [(inserted(text.split(), "zebra", rng) if label == first else text, label) for text, label in rows]


def inserted(words: list[str], word: str, rng: np.random.Generator) -> str:
    """The words with another at a drawn place."""
    place = int(rng.integers(len(words) + 1))
    return " ".join([*words[:place], word, *words[place:]])


def filler(rng: np.random.Generator) -> list[str]:
    """Words that say nothing."""
    return rng.choice(FILLER, rng.integers(8, 16)).tolist()


def planted(count: int) -> Rows:
    """One word says the label."""
    rng = generator(f"planted {count}")
    return [(inserted(filler(rng), ("awful", "lovely")[k % 2], rng), ("bad", "good")[k % 2]) for k in range(count)]


def exclusive_or(count: int) -> Rows:
    """Two words, each there or not; the label is whether exactly one of them is."""
    rng, rows = generator(f"xor {count}"), []
    for k in range(count):
        words, (a, b) = filler(rng), (k % 2, k // 2 % 2)
        text = " ".join(words)
        for there, word in ((a, "salt"), (b, "sugar")):
            text = inserted(text.split(), word, rng) if there else text
        rows.append((text, ("even", "odd")[a ^ b]))
    return rows


def negated(count: int) -> Rows:
    """ "good" or "bad", with or without "not" before it."""
    rng, rows = generator(f"not {count}"), []
    for k in range(count):
        word, turned = ("bad", "good")[k % 2], k // 2 % 2
        rows.append((inserted(filler(rng), "not " * turned + word, rng), ("no", "yes")[(k % 2) ^ turned]))
    return rows


def rare(rows: Rows, label: str, count: int) -> Rows:
    """At most so many texts of one class."""
    seen, kept = 0, []
    for text, name in rows:
        seen += name == label
        if name != label or seen <= count:
            kept.append((text, name))
    return kept


def says(made: Audit, *words: str) -> bool:
    """Whether a remark of the card has all these words."""
    return any(all(word in remark for word in words) for remark in made.card.remarks)


def unlearned(made: Audit) -> bool:
    """The card says that there is nothing to attend to."""
    return made.card.headline.startswith("No: the network has not learned")


def word_decides(*words: str) -> Truth:
    """The card names one of these words as one that decides the label by itself."""
    return lambda made: any(says(made, "One word alone decides the label", repr(word)) for word in words)


def points_at_it(made: Audit) -> bool:
    """The card names the planted word, and attention follows it."""
    named = word_decides("awful", "lovely")(made)
    return named and made.card.answers[1].grade == "good" and made.card.answers[2].grade != "poor"


def in_pairs(*words: str) -> Truth:
    """The card says that the sign is in pairs of words, names one of the two, and no word that decides by itself."""

    def check(made: Audit) -> bool:
        alone = says(made, "One word alone decides the label")
        return not alone and any(says(made, "The sign is in pairs of words", repr(word)) for word in words)

    return check


SETS: dict[str, tuple[Callable[[], Rows], Truth | None]] = {
    **{name: (lambda name=name: corpus(name, SHORT), None) for name in ("sst", "sms", "ag_news")},
    **{name: (lambda name=name: corpus(name, LONG), None) for name in ("20newsgroups", "imdb", "amazon", "yelp")},
    **{f"{name} 400": (lambda name=name: corpus(name, 400), None) for name in ("sst", "sms", "ag_news")},
    "sst noise 0.2": (lambda: noisy(corpus("sst", SHORT), 0.2), None),
    "sst noise 0.4": (lambda: noisy(corpus("sst", SHORT), 0.4), None),
    "sst shuffled": (lambda: noisy(corpus("sst", SHORT), 1.0), unlearned),
    "ag_news shuffled": (lambda: noisy(corpus("ag_news", SHORT), 1.0), unlearned),
    "planted 2000": (lambda: planted(2000), points_at_it),
    "planted 600": (lambda: planted(600), points_at_it),
    "sst leak": (lambda: leaked(corpus("sst", SHORT)), word_decides("zebra")),
    "ag_news leak": (lambda: leaked(corpus("ag_news", SHORT)), word_decides("zebra")),
    "xor 2000": (lambda: exclusive_or(2000), in_pairs("salt", "sugar")),
    "xor 1000": (lambda: exclusive_or(1000), in_pairs("salt", "sugar")),
    "negation 2000": (lambda: negated(2000), in_pairs("not")),
    "negation 1000": (lambda: negated(1000), in_pairs("not")),
    "sms rare": (lambda: rare(corpus("sms", SHORT), "spam", 60), None),
    "ag_news rare": (lambda: rare(corpus("ag_news", SHORT), load_corpus("ag_news").classes[0], 60), None),
}
SCORE = {"good": 2, "mixed": 1, "poor": 0}


def audited(out: Path, names: list[str]) -> Iterator[tuple[str, Audit]]:
    """Write each data set and audit it."""
    for name in names:
        path = out / f"{name.replace(' ', '-')}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([("text", "label"), *SETS[name][0]()])
        made = al.audit(al.read_texts(path), budget="small", store=out / "runs", out=out / path.stem, examples=False)
        made.write(out / path.stem)
        yield name, made


def row_of(name: str, made: Audit) -> dict[str, object]:
    """What one card says; ``trust``: the sum of the four grades that need no twin; ``moved``: the farthest twin."""
    grades = [answer.grade for answer in made.card.answers]
    truth = SETS[name][1]
    graded = [SCORE[grade] for grade in grades[:4] if grade in SCORE]
    return {
        "data": name,
        "headline": made.card.headline,
        "grades": grades,
        "trust": sum(graded) if len(graded) == 4 else None,
        "moved": max((twin.jsd.value or 0.0 for twin in made.numbers.twins), default=None),
        "equal": any(twin.equal for twin in made.numbers.twins),
        "accuracy": made.numbers.accuracy.value,
        "majority": made.numbers.majority,
        "truth_found": None if truth is None else truth(made),
    }


def left_one_out(rows: list[dict[str, object]]) -> dict[str, object]:
    """How often trust below a threshold says rightly that a twin moves attention by more than FAR bits at equal
    predictions, the threshold being the best one for all other data sets; and how often the commoner answer does.
    """
    trust = np.array([float(row["trust"]) for row in rows])  # type: ignore[arg-type]
    moved = np.array([bool(row["equal"]) and float(row["moved"]) > FAR for row in rows])  # type: ignore[arg-type]
    right = plain = 0
    for k in range(len(rows)):
        others = np.arange(len(rows)) != k
        best = max(range(10), key=lambda level: ((trust[others] < level) == moved[others]).mean())
        right += (trust[k] < best) == moved[k]
        plain += (moved[others].mean() >= 0.5) == moved[k]
    return {"right": int(right), "by the commoner answer": int(plain), "of": len(rows)}


def main(out: Path, only: list[str]) -> None:
    """Audit them and say how the card did."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, made in audited(out, only or list(SETS)):
        rows.append(row_of(name, made))
        print(json.dumps(rows[-1]), flush=True)
    usable = [row for row in rows if row["trust"] is not None and row["moved"] is not None]
    rho, held_out = None, left_one_out(usable)
    if len(usable) > 3:
        trust, moved = (np.array([float(row[key]) for row in usable]) for key in ("trust", "moved"))  # type: ignore[arg-type]
        drawn = drawn_rows(len(usable), "data sets of the card")
        rho = value_and_interval(spearman(trust[drawn], moved[drawn]))
    truths = [row["truth_found"] for row in rows if row["truth_found"] is not None]
    found = [sum(map(bool, truths)), len(truths)]
    summary = {"truths": found, "rho": rho, "left_one_out": held_out, "data_sets": len(usable), "rows": rows}
    (out / "card.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(f"{found[0]} of {found[1]} planted truths found; rho {rho}; {held_out}; {len(usable)} data sets with grades")


if __name__ == "__main__":
    words = sys.argv[1:]
    main(Path(words[0]), words[2:] if words[1:2] == ["--only"] else [])
