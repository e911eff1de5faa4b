"""Can a network be trained to the same predictions with attention that does not follow influence? (slides)

P is trained in the standard way and stays as it is. Its twin Q goes down TVD(y_P, y_Q) - lambda KL(alpha_P || alpha_Q),
the divergence bounded (`attnlab.models.deception`), for several lambdas. A second way, of Pruthi et al. (2020), needs
no P: the loss, and attention kept off the 100 words that say the most about the class.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.deceptive.compared import (
    Compared,
    Read,
    beside_public,
    defined,
    influences,
    moved,
    seeds_apart,
)
from attnlab.experiments.texts.corpora import TextExperiment, TextRuns, TextSetting, text_setting
from attnlab.families.texts.deception import OffWordsSpec, TwinSpec
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.corpus_runs import best_step
from attnlab.lab.experiment import Figures, Order, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import Estimate, between, falls_short, in_words, low_high, lower, over_examples
from attnlab.measures.checkpoints import first_half
from attnlab.models.classifier import Classifier
from attnlab.probes.influence import influence
from attnlab.probes.leave_one_out import leave_one_out, sample_for_leave_one_out
from attnlab.probes.texts import text_fields
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

WEIGHTS = (0.001, 0.01, 0.1, 1.0)
"""The lambdas of the twins."""
FEWER: Mapping[str, tuple[float, ...]] = {"imdb": (0.1, 1.0), "20newsgroups": (0.1, 1.0)}
"""Lambdas of corpora whose texts are long: those that move attention most, and not the second way, to save time."""
KEPT_OFF, WORDS = 1.0, 100
"""Lambda of the second way, and the keywords that attention is kept off."""
STEPS = by_preset(250, 1000, 4000)
EVERY = 250
TEXTS: Mapping[str, int] = {"imdb": 2000}
"""Validation texts of corpora whose texts are long; of others all, at most 4000."""
P_SEEDS, Q_SEEDS = (20, 21, 22), (40, 41, 42)
ONE = {"imdb": 1, "20newsgroups": 1}
SEEDS: Mapping[Preset, Mapping[str, int]] = by_preset({}, ONE, ONE)
"""Seeds of a corpus where they are not 3 (1 at quick)."""
SAMPLE, LONGEST = 200, 400
"""Texts that words are left out of, and the most words of one."""
CLOSE = 0.01
"""A twin whose accuracy on the first half of the texts differs by no more may be chosen."""
MARGIN = 0.02


class Deceptive(TextExperiment):
    """Twins of a standard network, one corpus at a time."""

    name = "deceptive"
    title = "Deceptive twins: the same predictions, other attention"
    source = "slides"
    rows = ("sst", "ag_news", "imdb", "20newsgroups")
    roles = ("reference",)
    left_out = ()
    decides_at = ("reduced", "paper")
    lead = (
        "Twins trained to a standard network's predictions and away from its attention: how far their attention moves, "
        "what it costs, and whether attention still points at the words that predictions depend on."
    )
    main = "twins"
    dots_title = "How often attention's top word is among the most influential ones"
    dots: ClassVar[Mapping[str, tuple[str, Mapping[str, str]]]] = {
        "standard network": ("A", {"training": "standard"}),
        "its twin": ("A", {"chosen": "True"}),
    }
    shown = ("held_out", "public")
    columns: ClassVar[Mapping[str, str]] = {
        "training": "training",
        "accuracy": "accuracy",
        "tvd": "TVD",
        "jsd": "JSD, bits",
        "A": "A(alpha, own loo)",
        "A_standard": "A(alpha, standard loo)",
        "tau": "tau(alpha, own loo)",
        "tau_low": "from",
        "tau_high": "to",
        "tau_standard": "tau(alpha, standard loo)",
    }

    def default_rows(self, preset: Preset) -> list[str]:
        return [row for row in super().default_rows(preset) if row in self.rows]

    # --- runs: first P, then its twins

    def originals(self, order: Order) -> TextSetting:
        """The standard networks P."""
        count = 1 if order.preset == "quick" else SEEDS[order.preset].get(order.row, len(P_SEEDS))
        setting = text_setting(order.row, "reference", order.preset, seeds=P_SEEDS[:count])
        made, texts = setting.spec, TEXTS.get(order.row)

        def spec(seed: int) -> RunSpec:
            return made(seed).model_copy(update={"evaluation_batch": texts} if texts else {})

        schedule = Schedule.every(EVERY, steps=STEPS[order.preset], checkpoint_every=EVERY, keep="best")
        return replace(setting, spec=spec, schedule=schedule)

    def deceived(self, order: Order, seed: int, original: str, step: int) -> Iterator[tuple[str, int, Job]]:
        """The runs beside one P: their setting, seed and job."""
        q_seed = Q_SEEDS[P_SEEDS.index(seed)]
        plain = self.originals(order).spec(seed).model_copy(update={"init_seed": q_seed, "data_seed": q_seed})
        twins = {twin_name(weight): TwinSpec(run=original, step=step, weight=weight) for weight in weights(order.row)}
        kept = {} if order.row in FEWER else {KEPT: OffWordsSpec(words=WORDS, weight=KEPT_OFF)}
        schedule = Schedule.every(EVERY, steps=STEPS[order.preset], checkpoint_every=EVERY)
        for name, deception in (twins | kept).items():
            job = Job(f"{order.row} {name} {q_seed}", plain.model_copy(update={"deception": deception}), schedule)
            yield name, q_seed, job

    def jobs(self, order: Order) -> list[Job]:
        setting = self.originals(order)
        return [setting.job(seed, order.preset) for seed in setting.seeds_at(order)]

    def followers(self, order: Order, done: Mapping[str, Trained]) -> Iterator[tuple[str, int, Job]]:
        """The twins of all P that are done."""
        setting = self.originals(order)
        for seed in setting.seeds_at(order):
            if original := done.get(setting.spec(seed).id):
                yield from self.deceived(order, seed, original.id, best_step(original))

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        return [*self.jobs(order), *(job for _, _, job in self.followers(order, done))]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """With twins of whichever step, where P is still to be trained: they cost the same."""
        setting, jobs = self.originals(order), self.plan(order, done)
        for seed in setting.seeds_at(order):
            if (id := setting.spec(seed).id) not in done:
                jobs += [job for _, _, job in self.deceived(order, seed, id, 0)]
        return jobs

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        setting = self.originals(order)
        for seed in setting.seeds_at(order):
            spec = setting.spec(seed)
            yield Outcome(setting.name, seed, done[spec.id], spec)
        for name, seed, job in self.followers(order, done):
            yield Outcome(name, seed, done[job.spec.id], job.spec)

    # --- what is measured

    def measure(self, runs: Runs) -> None:
        self.texts = TextRuns(self.order.row, self.order.preset, runs, texts=TEXTS.get(self.order.row))
        self.sample = sample_for_leave_one_out(self.texts.texts["valid"], SAMPLE, LONGEST)
        standard = [self.read(self.texts.model(run)) for run in self.texts.of("reference")]
        self.standard = standard
        self.twins: dict[str, Compared] = {}
        for name in ways_of(self.order.row):
            own = [self.read(self.texts.model(one.run, one.run.step)) for one in runs[name]]
            self.twins[name] = Compared.of(standard, own, self.sample.numpy())
        self.itself = Compared.of(standard, standard, self.sample.numpy())
        self.between = seeds_apart(standard)
        self.half = first_half(len(self.texts.texts["valid"]))
        self.chosen = self.choose()

    def read(self, network: Classifier) -> Read:
        """Predictions and attention on the validation texts, leave-one-out on the sample."""
        texts = self.texts.texts["valid"]
        fields, drawn = text_fields(network, texts), texts.select(self.sample)
        right = fields.log_probabilities.argmax(1) == texts.labels.numpy()
        return Read(fields, right, leave_one_out(network, drawn), influence(network, drawn))

    def choose(self) -> str:
        """The twin whose attention moved most among those as accurate as P on the first half of the texts (the most
        accurate one where none is).
        """
        half, twins = self.half, {name: twin for name, twin in self.twins.items() if name != KEPT}
        lost = {name: abs(float(twin.gained[half].mean())) for name, twin in twins.items()}
        close = [name for name in twins if lost[name] <= CLOSE]
        if not close:
            return min(twins, key=lambda name: lost[name])
        return max(close, key=lambda name: float(twins[name].jsd[half].mean()))

    # --- rules: all is read on the texts that did not choose the twin

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Of the texts that words are left out of, those of the second half: (sample,)."""
        return np.asarray(~self.half[self.sample.numpy()])

    def held_out_line(self) -> dict[str, Any]:
        """What decides, of the chosen twin on the texts that did not choose it."""
        twin, own, out = self.twins[self.chosen], self.itself, self.held_out
        gained, tau = twin.gained[~self.half], defined(twin.tau[out])
        less, less_tau = (twin.top - own.top)[out], defined((twin.tau - own.tau)[out])
        return {
            "chosen": self.chosen,
            "gained": float(gained.mean()),
            **low_high(over_examples(gained), "gained_"),
            "texts": len(gained),
            "A": float(twin.top[out].mean()),
            **low_high(over_examples(twin.top[out]), "A_"),
            "A_less": float(less.mean()),
            **low_high(over_examples(less), "A_less_"),
            "chance": float(twin.chance[out].mean()),
            "tau": float(tau.mean()),
            **low_high(over_examples(tau), "tau_"),
            "tau_less": float(less_tau.mean()),
            **low_high(over_examples(less_tau), "tau_less_"),
            "sample": len(less),
        }

    @claim("deceptive-attention", reads=("held_out",))
    def not_influence(self) -> Iterator[Part]:
        """The same accuracy, and a top word that is less often an influential one: less than twice chance."""
        row, runs = self.record.row("held_out"), self.record.runs("reference")
        gained, less = (Estimate.of(row, name, f"{name}_", runs=runs) for name in ("gained", "A_less"))
        detail = f"{row['chosen']}: accuracy differs by {gained.value:.3f} over {row['texts']} texts."
        within = between(gained.interval, -MARGIN, MARGIN)
        yield Part("accuracy", within, gained.value, gained.interval, "examples", detail, runs=runs)
        own = Estimate.of(row, "A", "A_")
        detail = (
            f"{row['chosen']}: A(alpha, own loo) is {own.value:.3f} ({in_words(own.interval)}) over {row['sample']} "
            f"texts, {less.value:.3f} more than the standard network's; twice chance is {2 * row['chance']:.3f}."
        )
        part = falls_short("influence", less, 0, detail)
        low = lower(own.interval, 2 * row["chance"])
        verdict: Verdict = "holds" if {part.verdict, low} == {"holds"} else worse(part.verdict, low)
        yield replace(part, verdict=verdict, direction=part.verdict)

    @claim("deceptive-anti-correlated", reads=("held_out",))
    def anti_correlated(self) -> Iterator[Part]:
        """Its tau lies below 0, and below the standard network's, which is near 0 on long texts anyway."""
        row, runs = self.record.row("held_out"), self.record.runs("reference")
        tau, less = (Estimate.of(row, name, f"{name}_", runs=runs) for name in ("tau", "tau_less"))
        detail = (
            f"{row['chosen']}: tau(alpha, own loo) is {tau.value:.3f} ({in_words(tau.interval)}), {less.value:.3f} "
        )
        detail += f"({in_words(less.interval)}) more than the standard network's, over {row['sample']} texts."
        below = lower(tau.interval, 0)
        verdict: Verdict = "undecided" if below == "holds" and lower(less.interval, 0) != "holds" else below
        yield Part(self.order.row, verdict, tau.value, tau.interval, "examples", detail, runs=runs)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        lines = {STANDARD: self.itself, **self.twins}
        return {
            "twins": [{"training": name, **one.line(), "chosen": name == self.chosen} for name, one in lines.items()],
            "held_out": [self.held_out_line()],
            "public": beside_public(self.order.row, self.standard, self.sample.numpy()),
        }

    def figures(self) -> Figures:
        points = [
            {"training": name, "seed": str(seed), "jsd": jsd, "tvd": tvd}
            for name, one in self.twins.items()
            for seed, jsd, tvd in zip(Q_SEEDS, one.jsds, one.tvds, strict=False)
        ]
        if self.between:
            points.append({"training": "two standard networks", "seed": "", **self.between})
        return {"moved": moved(self.order.row, points), "influence": influences(self.order.row, self.tables()["twins"])}

    def summary(self) -> str:
        twin, own = self.twins[self.chosen], self.itself
        return (
            f"On {self.order.row} the twin with {self.chosen} has an accuracy of {twin.accuracy:.3f} where the "
            f"standard network has {own.accuracy:.3f}, predictions {twin.tvd.mean():.3f} apart (TVD), and attention "
            f"{twin.jsd.mean():.2f} bits apart (JSD). Its attention's top word is among the top 5 % of its own "
            f"leave-one-out influence in {twin.top.mean():.1%} of the texts (standard {own.top.mean():.1%}, chance "
            f"{twin.chance.mean():.1%}); tau is {np.nanmean(twin.tau):.3f} (standard {np.nanmean(own.tau):.3f})."
        )

    def notes(self) -> list[str]:
        count, lambdas = len(self.standard), ", ".join(f"{weight:g}" for weight in weights(self.order.row))
        return [
            *self.corpus_notes(STEPS[self.order.preset], TEXTS.get(self.order.row)),
            f"{count} standard network{'s' * (count > 1)} at the best evaluation, and beside each a twin for every "
            f"lambda ({lambdas}) from a seed of its own, at its last, after {STEPS[self.order.preset]} updates.",
            "The divergence is taken with 1 % of uniform attention mixed into the twin's, which bounds it by log(100 "
            "L); Jensen-Shannon divergences are in bits.",
            f"The twin that decides is chosen on one half of the texts: the one that moved most among those whose "
            f"accuracy differs by at most {CLOSE:.0%}. Everything that decides is read on the other half.",
            "Table public: tau of the standard networks' attention with influence, signed towards the right class as "
            "in all our measures, and by magnitude, |dp/dg| and |p - p without the word|, as Jain and Wallace's "
            "public code has it; theirs are of another LSTM with tanh attention on their own splits and tokens.",
            f"Words are left out of {len(self.sample)} drawn texts of at most {LONGEST} words.",
        ]


STANDARD = "standard"
KEPT = f"kept off {WORDS} keywords"


def worse(one: Verdict, other: Verdict) -> Verdict:
    """Fails if one of them does, else undecided."""
    return "fails" if "fails" in (one, other) else "undecided"


def weights(row: str) -> tuple[float, ...]:
    """The lambdas of a corpus's twins."""
    return FEWER.get(row, WEIGHTS)


def ways_of(row: str) -> list[str]:
    """The trainings beside the standard one."""
    return [*map(twin_name, weights(row)), *([] if row in FEWER else [KEPT])]


def twin_name(weight: float) -> str:
    """How a twin is called."""
    return f"lambda {weight:g}"
