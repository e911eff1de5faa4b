"""What is learned first, words or attention? (the central claim of P3 3 and of the blog)

The papers describe training as two stages: under attention that is still uniform the network learns which word speaks
for which output, and attention then goes where that knowledge is. Here both are followed update by update, on copying,
on the keyword task, on a corpus of labelled texts and on one of sentence pairs; and the other way round is tried too,
attention trained over words that stay as random as they began.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attnlab.data.bitexts import known_bitext
from attnlab.data.corpora import data_folder, known_corpus
from attnlab.errors import UsageError
from attnlab.experiments.knowledge_first import stages
from attnlab.experiments.knowledge_first.stages import FIELDS, Course, Field
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.texts.reading import corpus_of
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.families.translation.pieces import task_of
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, Watched, by_preset, claim
from attnlab.lab.outcomes import Runs, mean, median
from attnlab.lab.rules import above, low_high, none_of
from attnlab.pages.charts import metric_curves, seed_curves
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

CLOSE = tuple(range(0, 101, 2))
"""Evaluations every 2 updates up to 100."""
CLOSER = (*range(20), *range(20, 101, 2))
"""The same, but every update up to 20: so few are enough to learn the keyword."""
LONG = (*range(0, 100, 2), *range(100, 300, 10), *range(300, 1001, 100))
"""Every 2 updates up to 100, then on to 1000: real text takes longer."""
TRANSLATING = (*range(0, 300, 25), *range(300, 2001, 100))
"""Every 25 updates up to 300, then every 100 to 2000: when a translator's attention is learned."""
QUICK = 40
"""Updates at quick."""
FEWEST = 5
"""Seeds below which nothing is decided, unless a rule says otherwise."""

SELECTIONS = CopyingSpec(distribution=SelectionsSpec(length=40, words=60))
PERMUTATIONS = CopyingSpec(distribution=PermutationsSpec(words=40))
CORPUS = "sst"
BITEXT = "multi30k/en-de"
NAMES: Mapping[Field, str] = {"probe": "lexical probe", "attention": "attention"}
POINTING = {name: f"{field}_top" for field, name in NAMES.items()}


def setting(
    name: str, spec: Callable[[int], RunSpec], evaluations: tuple[int, ...], quick: int, reduced: int, paper: int
) -> Setting:
    """A task with a network, measured at these evaluations, of which quick makes the first."""
    few = tuple(step for step in evaluations if step <= QUICK)
    schedule, short = (Schedule(steps=steps[-1], evaluations=steps) for steps in (evaluations, few))
    return Setting(name, spec, by_preset(quick, reduced, paper), by_preset(short, schedule, schedule))


def on(task: CopyingSpec | KeywordSpec, **how: Any) -> Callable[[int], RunSpec]:
    """Runs on a task; one seed for start and data."""
    return lambda seed: RunSpec(task=task, **how, init_seed=seed, data_seed=seed)


def text_spec(seed: int) -> RunSpec:
    """P3's classifier on the corpus, measured on 500 validation texts."""
    task = LabelledTextSpec(corpus=CORPUS, content=corpus_of(CORPUS).content)
    return RunSpec(task=task, model=ClassifierSpec(), batch=32, evaluation_batch=500, init_seed=seed, data_seed=seed)


def pair_spec(seed: int) -> RunSpec:
    """P3's translator, measured on 100 validation pairs."""
    task = task_of(BITEXT)
    return RunSpec(task=task, model=TranslatorSpec(), batch=16, evaluation_batch=100, init_seed=seed, data_seed=seed)


COPIED = setting("40 of 60", on(SELECTIONS, evaluation_batch=64), CLOSE, 1, 10, 20)
PERMUTED = setting("permutations of 40", on(PERMUTATIONS, evaluation_batch=64), CLOSE, 0, 10, 20)
P3S, BLOGS = ClassifierSpec(), ClassifierSpec(score="linear", bidirectional=False)
KEYWORD, GATED = (
    setting(name, on(KeywordSpec(), model=model, batch=32, evaluation_batch=400), CLOSER, quick, 10, 20)
    for name, model, quick in (("keyword, P3's classifier", P3S, 1), ("keyword, the blog's gated LSTM", BLOGS, 2))
)
TEXTS = setting("SST, P3's classifier", text_spec, LONG, 0, 5, 10)
PAIRS = setting("Multi30k, P3's translator", pair_spec, TRANSLATING, 0, 5, 5)
ALONE = on(SELECTIONS, train="attention-only", evaluation_batch=64)
FROZEN = setting("40 of 60, attention alone", ALONE, tuple(range(0, 201, 10)), 1, 20, 20)
FOLLOWED = (COPIED, PERMUTED, KEYWORD, GATED, TEXTS, PAIRS)
REMARKS = {
    TEXTS.name: " Each field is measured against its own end.",
    PAIRS.name: " The right position is IBM Model 1's; the share to get to is half way to the lower field's highest.",
}
SYMBOLS = 41
"""Positions of a copied sequence: 40 words and the end symbol."""
POSITIONS = {COPIED.name: SYMBOLS, PERMUTED.name: SYMBOLS, KEYWORD.name: 40, GATED.name: 40, FROZEN.name: SYMBOLS}
"""Those of an input, where all inputs have as many."""


SENTENCE = ("The plot is dull, but the acting is brilliant and the ending made me smile.", "positive")
"""Ours: no corpus text is shown."""


def is_there(setting: Setting) -> bool:
    """Whether the files of the setting's corpus, if it has one, are in the data folder."""
    try:
        if setting is TEXTS:
            return known_corpus(CORPUS).find(data_folder(None)) is not None
        known, source, target = known_bitext(BITEXT)
        return setting is not PAIRS or known.locate(data_folder(None), source, target) is not None
    except UsageError:
        return False


class KnowledgeFirst(Experiment):
    """Both fields on every setting, and the reverse experiment."""

    name = "knowledge-first"
    title = "What is learned first, words or attention?"
    source = "P3 1, 3; blog"
    watched = (Watched(TEXTS, 0, "SST, seed 0, on a sentence that we wrote", example=SENTENCE),)
    replay_caption = (
        "Orange: attention. Blue: attended to alone, the word would speak for the class; grey: against it. The darker, "
        "the more."
    )
    settings = (*FOLLOWED, FROZEN)

    def settings_at(self, preset: Preset) -> list[Setting]:
        """All of them, but for corpora that are not there."""
        corpora = (TEXTS, PAIRS)
        return [one for one in self.settings if one not in corpora or (one.seeds[preset] and is_there(one))]

    # --- measures

    def measure(self, runs: Runs) -> None:
        courses = {
            name: [stages.row_course(one, positions) for one in runs[name]] for name, positions in POSITIONS.items()
        }
        courses[TEXTS.name] = [stages.text_course(outcome) for outcome in runs[TEXTS]]
        courses[PAIRS.name] = [stages.pair_course(outcome) for outcome in runs[PAIRS]]
        self.courses = {setting.name: courses[setting.name] for setting in FOLLOWED}
        self.frozen = courses[FROZEN.name]
        self.curves = [row for group in self.courses.values() for course in group for row in course.rows()]

    # --- rules

    def followed(self) -> list[str]:
        """Its settings, corpora only if they were run."""
        every = [setting.name for setting in FOLLOWED]
        return [name for name in every if name not in REMARKS or self.record.rows("runs", setting=name)]

    @claim("attention-uniform-early", reads=("curves",))
    def uniform_at_the_start(self) -> Iterator[Part]:
        """Attention and relevance at step 0: entropy above 0.95 of its largest."""
        for name in self.followed():
            starts = self.record.rows("curves", setting=name, step=0)
            for what, field in {"attention": "attention", "relevance": "probe"}.items():
                values = [float(row[f"{field}_entropy"]) for row in starts]
                mean = sum(values) / max(len(values), 1)
                detail = f"{mean:.4f} of the largest entropy, over {len(values)} seeds."
                yield above(f"{name}: {what}", values, stages.NEAR_UNIFORM, detail, least=FEWEST)

    @claim("lexicon-before-attention", reads=("runs",))
    def words_before_attention(self) -> Iterator[Part]:
        for name in self.followed():
            yield before(name, self.record.rows("runs", setting=name), REMARKS.get(name, ""))

    @claim("stages-overlap", reads=("runs",))
    def stages_overlap(self) -> Iterator[Part]:
        """The probe's end minus attention's beginning, above 0; on texts the end is what fields are compared with."""
        for name in self.followed():
            if name != TEXTS.name:
                yield overlapping(name, self.record.rows("runs", setting=name))

    @claim("frozen-lexicon-fails-copying", reads=("frozen",))
    def attention_alone_fails(self) -> Part:
        """Attention alone gets there in none of at least 20 seeds."""
        rows = self.record.rows("frozen")
        reached = [row["attention_step"] is not None for row in rows]
        part = none_of(FROZEN.name, reached)
        if not reached:
            return part
        highest = max(row["attention_highest"] for row in rows)
        detail = (
            f"In {sum(reached)} of {len(reached)} seeds attention is at the right position in at least "
            f"{stages.HALF:.0%} of the cases within {rows[0]['last_step']} updates; the most in any seed is "
            f"{highest:.1%}, chance {rows[0]['chance']:.1%}."
        )
        return replace(part, detail=detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        ends = [row for outcome in self.runs[TEXTS] for row in stages.end_table(outcome)]
        return {
            "settings": [setting_row(name, group) for name, group in self.courses.items() if group],
            "frozen": [frozen_row(course) for course in self.frozen],
            **({"texts": ends, "text_leads": stages.lead_table(ends)} if ends else {}),
        }

    def run_tables(self) -> dict[str, Table]:
        """Of runs in which everything is trained; ``curves``: both fields at every evaluation."""
        return {"runs": [seed_row(one) for group in self.courses.values() for one in group], "curves": self.curves}

    def figures(self) -> Figures:
        """Where both fields point, how uniform they are, and what attention alone comes to."""
        largest, where = "right position is the largest", "Where words and attention point"
        entropies = {"relevance (the probe by its sum)": "probe_entropy", "attention": "attention_entropy"}
        of_largest, uniform = "share of the largest entropy", "How uniform attention and relevance are"
        drawn = {
            "knowledge": metric_curves(with_right_position(self.curves), POINTING, y_title=largest, title=where),
            **texts_figure(self.curves),
            "entropy": metric_curves(self.curves, entropies, y_title=of_largest, title=uniform),
        }
        drawn = {name: chart.resolve_scale(x="independent") for name, chart in drawn.items()}
        if self.frozen:
            compared = [
                {"trained": trained, "seed": course.seed, "step": row["step"], "share": row["attention_top"]}
                for trained, group in (("everything", self.courses[COPIED.name]), ("attention alone", self.frozen))
                for course in group
                for row in course.rows()
            ]
            title = "Copying 40 of 60: can attention be learned without words?"
            most = "right position has most attention"
            drawn["frozen"] = seed_curves(compared, "share", most, title, column="trained")
        return drawn

    def summary(self) -> str:
        sentences = [in_words(setting_row(name, group)) for name, group in self.courses.items() if group]
        if self.frozen:
            count = sum(course.reached("attention") is not None for course in self.frozen)
            highest = max(float(course.top["attention"].max()) for course in self.frozen)
            sentences.append(
                f"With attention alone trained, over words that stay random, it gets there in {count} of "
                f"{len(self.frozen)} seeds within {int(self.frozen[0].steps[-1])} updates; the most is {highest:.1%} "
                "of the cases."
            )
        return " ".join(sentences)

    def notes(self) -> list[str]:
        notes = [
            "A field gets there once the right position is its largest in at least half of the cases: on copying the "
            "position that is copied, on the keyword task the keyword's, in positive sequences. Half heights are of "
            "the mean value at that position, half way from its start to its highest.",
            "The keyword task has batches of 32 and 300 numbers a word, as P3's classifier of texts; the papers do not "
            "say with which its own was trained.",
        ]
        if self.courses[TEXTS.name]:
            notes.append(
                "On SST each field is compared with its own end, at the evaluation of highest validation accuracy of "
                "1000 updates (the paper trains 4000); both get there by construction, and only the order says "
                "something."
            )
        if self.courses[PAIRS.name]:
            notes.append(
                "On Multi30k the right position is the one that IBM Model 1 finds, over pieces and after five "
                "iterations; end marks are left out. A field gets there at half way from chance to the lower of the "
                "shares that both reach at their best: many words have no one word that they translate."
            )
        left_out = [name for one, name in ((TEXTS, "SST"), (PAIRS, "Multi30k")) if not self.courses[one.name]]
        if left_out and self.order.preset != "quick":
            notes.append(f"{' and '.join(left_out)} not found in the data folder that ATTNLAB_DATA names: left out.")
        return notes + self.at_preset(
            quick="quick: one or two seeds a setting, 40 updates, neither permutations nor real corpora.",
            reduced="reduced: 10 seeds a setting instead of 20, 5 on SST instead of 10.",
        )


def with_right_position(rows: Table) -> list[Mapping[str, Any]]:
    """The curves of tasks on which one position is right; on texts none is."""
    return [row for row in rows if row["setting"] != TEXTS.name]


def texts_figure(rows: Table) -> dict[str, Any]:
    """Texts by themselves: how often each field's top word is the one of the run's best evaluation, without that
    evaluation, at which it is so by construction.
    """
    kept = [row for row in rows if row["setting"] == TEXTS.name and any(row[name] < 1 for name in POINTING.values())]
    if not kept:
        return {}
    title, same = "On texts: when each field gets near its own end", "same top word as at the run's best evaluation"
    return {"texts": metric_curves(kept, POINTING, y_title=same, title=title)}


def before(name: str, group: Sequence[Mapping[str, Any]], remark: str = "") -> Part:
    """Attention's step minus the probe's, above 0; ``group``: a setting's lines of the table of runs."""
    leads = [float(row["lead"]) for row in group if row["lead"] is not None]
    probe, attention = (median([row[f"{field}_step"] for row in group]) for field in FIELDS)
    detail = (
        f"The probe gets there at step {shown(probe)}, attention at {shown(attention)} (medians of the seeds that do), "
        f"over {len(leads)} of {len(group)} seeds."
    )
    for field in FIELDS:
        late = sum(row["lead"] is not None and row[f"{field}_step"] is None for row in group)
        detail += f" In {late} of these the {field} does not and counts at the last evaluation." if late else ""
    return above(name, leads, 0.0, detail + remark, least=FEWEST)


def overlapping(name: str, group: Sequence[Mapping[str, Any]]) -> Part:
    """The probe's end minus attention's beginning, above 0; ``group``: a setting's lines of the table of runs."""
    both = [row for row in group if row["overlap"] is not None]
    detail = (
        f"Attention begins at step {shown(median([row['attention_begins'] for row in both]))}, the probe "
        f"ends at {shown(median([row['probe_ends'] for row in both]))} (medians), over {len(both)} of "
        f"{len(group)} seeds."
    )
    return above(name, [float(row["overlap"]) for row in both], 0.0, detail, least=FEWEST)


def shown(step: float | None) -> str:
    """A step in words."""
    return "none" if step is None else f"{step:g}"


# --- rows and words


def setting_row(name: str, group: Sequence[Course]) -> dict[str, Any]:
    """How soon both fields get there, by rank and by half height, how uniform they begin, how far stages overlap.

    Medians are over seeds that get there; leads and overlaps are means with 95 % intervals over seeds.
    """
    row: dict[str, Any] = {"setting": name, "seeds": len(group), "chance": group[0].chance}
    for field in FIELDS:
        steps = [course.reached(field) for course in group]
        row |= {
            f"{field}_reached": sum(step is not None for step in steps),
            f"{field}_step": median(steps),
            f"{field}_half_height": median([course.half_height(field) for course in group]),
            f"{field}_highest": mean(course.top[field].max() for course in group),
            f"{field}_last": mean(course.top[field][-1] for course in group),
            f"{field}_entropy_at_start": mean(course.entropy[field][0] for course in group),
        }
    both = [course for course in group if course.overlap is not None]
    for what, values in (("lead", [course.lead for course in group]), ("overlap", [one.overlap for one in both])):
        there = [float(value) for value in values if value is not None]
        row |= {f"{what}_seeds": len(there), what: mean(there)}
        row |= low_high(bootstrap_interval(there) if there else None, f"{what}_")
    return row | {
        "attention_begins": median([course.attention_begins for course in both]),
        "probe_ends": median([course.probe_ends for course in both]),
        "attention_leaves_uniform": median([course.leaves_uniform for course in group]),
        "attention_entropy_at_knowledge": median([course.entropy_at_knowledge for course in group]),
        "last_step": int(group[0].steps[-1]),
        "accuracy": mean(course.accuracy[-1] for course in group),
    }


def seed_row(course: Course) -> dict[str, Any]:
    """How one seed went."""
    return {
        "setting": course.setting,
        "seed": course.seed,
        **{f"{field}_step": course.reached(field) for field in FIELDS},
        "lead": course.lead,
        **{f"{field}_half_height": course.half_height(field) for field in FIELDS},
        **{name: getattr(course, name) for name in ("attention_begins", "probe_ends", "overlap")},
        "attention_leaves_uniform": course.leaves_uniform,
        "attention_entropy_at_knowledge": course.entropy_at_knowledge,
        **{f"{field}_last": float(course.top[field][-1]) for field in FIELDS},
        "accuracy": float(course.accuracy[-1]),
        "run": course.run,
    }


def frozen_row(course: Course) -> dict[str, Any]:
    """How far attention alone came."""
    top, entropy = course.top["attention"], course.entropy["attention"]
    row: dict[str, Any] = {"seed": course.seed, "attention_step": course.reached("attention")}
    row |= {"attention_highest": float(top.max()), "attention_last": float(top[-1])}
    row |= {"attention_entropy_last": float(entropy[-1]), "accuracy": float(course.accuracy[-1])}
    return row | {"chance": course.chance, "last_step": int(course.steps[-1]), "run": course.run}


def in_words(row: Mapping[str, Any]) -> str:
    """A setting as sentences."""
    reached = [
        f"the {NAMES[field]} from step {row[f'{field}_step']:g} on (median; {row[f'{field}_reached']} of "
        f"{row['seeds']} seeds)"
        if row[f"{field}_reached"]
        else f"the {NAMES[field]} in no seed by step {row['last_step']}"
        for field in FIELDS
    ]
    sentence = f"{row['setting']}: the right position is the largest in half of the cases of {', of '.join(reached)}"
    if row["lead"] is not None:
        order = "later" if row["lead"] >= 0 else "earlier"
        sentence += f"; attention gets there {abs(row['lead']):.1f} updates {order} on average"
        if row["lead_low"] is not None:
            sentence += f" (95 % interval over seeds of the lag {row['lead_low']:.1f} to {row['lead_high']:.1f})"
    return (
        f"{sentence}. Attention begins at {row['attention_entropy_at_start']:.1%} of its largest entropy, relevance at "
        f"{row['probe_entropy_at_start']:.1%}."
    )
