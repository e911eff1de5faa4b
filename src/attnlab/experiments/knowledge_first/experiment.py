"""What is learned first, words or attention? (the central claim of P3 3 and of the blog)

The papers tell training as two stages: under attention that is still uniform the network learns which word speaks for
which output, and attention then goes where that knowledge is. Here both are followed update by update, on copying, on
the keyword task and on a real corpus; and the other way round is tried too, attention trained over words that stay as
random as they began.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from attnlab.data.corpora import data_folder, known_corpus
from attnlab.errors import UsageError
from attnlab.experiments.knowledge_first.report import figures, frozen_table, notes, seed_row, setting_table, tell
from attnlab.experiments.knowledge_first.stages import FIELDS, HALF, NEAR_UNIFORM, Course, Field, median, row_course
from attnlab.experiments.knowledge_first.stages_of_texts import end_table, lead_table, text_course
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.texts.reading import corpus_of
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.rules import above
from attnlab.protocols import Train
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.rates import wilson

CLOSE = tuple(range(0, 101, 2))
"""Evaluations every 2 updates up to 100."""
CLOSER = (*range(20), *range(20, 101, 2))
"""The same, but every update up to 20: the keyword is found in so few."""
LONG = (*range(0, 100, 2), *range(100, 300, 10), *range(300, 1001, 100))
"""Every 2 updates up to 100, then on to 1000: real text takes longer."""
QUICK = 40
"""Updates at quick."""
FEWEST = 5
"""Seeds below which nothing is decided, unless a rule says otherwise."""
ALWAYS = 20
"""Fewest seeds on which "none" can be said to hold."""

SELECTIONS = CopyingSpec(distribution=SelectionsSpec(length=40, words=60))
PERMUTATIONS = CopyingSpec(distribution=PermutationsSpec(words=40))
SYMBOLS = 41
"""Positions of a copied sequence: 40 words and the end symbol."""
CORPUS = "sst"


@dataclass(frozen=True)
class Setting:
    """A task with a network: how its runs are made and measured, and how many seeds each preset runs.

    ``positions``: those of an input; None where texts differ.
    """

    name: str
    spec: Callable[[int], RunSpec]
    seeds: Mapping[Preset, int]
    evaluations: tuple[int, ...]
    positions: int | None

    def job(self, seed: int, preset: Preset) -> Job:
        last = min(self.evaluations[-1], QUICK) if preset == "quick" else self.evaluations[-1]
        schedule = Schedule(steps=last, evaluations=tuple(step for step in self.evaluations if step <= last))
        return Job(f"{self.name}, seed {seed}", self.spec(seed), schedule)

    def course(self, seed: int, run: Trained) -> Course:
        """What is read from a run."""
        if self.positions is None:
            return text_course(self.name, seed, run)
        return row_course(self.name, seed, run, self.positions)


def copying_spec(task: CopyingSpec, train: Train = "all") -> Callable[[int], RunSpec]:
    """P3's copying network, measured on 64 sequences; one seed for start and data."""
    return lambda seed: RunSpec(task=task, train=train, evaluation_batch=64, init_seed=seed, data_seed=seed)


def keyword_spec(model: ClassifierSpec) -> Callable[[int], RunSpec]:
    """A classifier on the keyword task, measured on 200 positive sequences and as many negative ones."""
    return lambda seed: RunSpec(
        task=KeywordSpec(), model=model, batch=32, evaluation_batch=400, init_seed=seed, data_seed=seed
    )


def text_spec(seed: int) -> RunSpec:
    """P3's classifier on the corpus, measured on 500 validation texts."""
    task = LabelledTextSpec(corpus=CORPUS, content=corpus_of(CORPUS).content)
    return RunSpec(task=task, model=ClassifierSpec(), batch=32, evaluation_batch=500, init_seed=seed, data_seed=seed)


COPIED = Setting("40 of 60", copying_spec(SELECTIONS), {"quick": 1, "reduced": 10, "paper": 20}, CLOSE, SYMBOLS)
PERMUTED = Setting(
    "permutations of 40", copying_spec(PERMUTATIONS), {"quick": 0, "reduced": 10, "paper": 20}, CLOSE, SYMBOLS
)
KEYWORD = Setting(
    "keyword, P3's classifier", keyword_spec(ClassifierSpec()), {"quick": 1, "reduced": 10, "paper": 20}, CLOSER, 40
)
GATED = Setting(
    "keyword, the blog's gated LSTM",
    keyword_spec(ClassifierSpec(score="linear", bidirectional=False)),
    {"quick": 2, "reduced": 10, "paper": 20},
    CLOSER,
    40,
)
TEXTS = Setting("SST, P3's classifier", text_spec, {"quick": 0, "reduced": 5, "paper": 10}, LONG, None)
SETTINGS = (COPIED, PERMUTED, KEYWORD, GATED, TEXTS)
OWN_ENDS = " Each field is measured against its own end."
FROZEN = Setting(
    "40 of 60, attention alone",
    copying_spec(SELECTIONS, "attention-only"),
    {"quick": 1, "reduced": 20, "paper": 20},
    tuple(range(0, 201, 10)),
    SYMBOLS,
)


class KnowledgeFirst(Experiment):
    """Both fields on every setting, and the reverse experiment."""

    name = "knowledge-first"
    title = "What is learned first, words or attention?"
    source = "P3 1, 3; blog"

    def jobs(self, order: Order) -> list[Job]:
        return [setting.job(seed, order.preset) for setting in (*SETTINGS, FROZEN) for seed in seeds_of(setting, order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        def courses_of(setting: Setting) -> list[Course]:
            return [setting.course(seed, done[setting.spec(seed).id]) for seed in seeds_of(setting, order)]

        courses = {setting.name: courses_of(setting) for setting in SETTINGS}
        frozen = courses_of(FROZEN)
        run_on = [course for group in courses.values() for course in group]
        table = setting_table(courses)
        ends = [row for seed in seeds_of(TEXTS, order) for row in end_table(seed, done[TEXTS.spec(seed).id])]
        return Result(
            summary=tell(table, frozen),
            tables={
                "settings": table,
                "seeds": [seed_row(course) for course in run_on],
                "curves": [row for course in run_on for row in course.rows()],
                "frozen": frozen_table(frozen),
                **({"texts": ends, "text_leads": lead_table(ends)} if ends else {}),
            },
            figures=figures(courses, frozen),
            findings=decide(courses, frozen),
            notes=notes(order.preset, texts=bool(courses[TEXTS.name])),
            seeds={
                setting.name: seeds_of(setting, order) for setting in (*SETTINGS, FROZEN) if seeds_of(setting, order)
            },
        )


def seeds_of(setting: Setting, order: Order) -> list[int]:
    """The seeds of a setting that are asked for; none on a corpus that is not there."""
    count = setting.seeds[order.preset]
    return order.first(range(count)) if setting is not TEXTS or (count and corpus_found()) else []


def corpus_found() -> bool:
    """Whether the corpus' files are in the data folder."""
    try:
        return known_corpus(CORPUS).find(data_folder(None)) is not None
    except UsageError:
        return False


# --- claims


def decide(courses: Mapping[str, Sequence[Course]], frozen: Sequence[Course]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups = {setting.name: courses.get(setting.name, ()) for setting in SETTINGS}
    staged = {name: group for name, group in groups.items() if name != TEXTS.name}
    return (
        Finding("attention-uniform-early", tuple(part for pair in groups.items() for part in near_uniform(*pair))),
        Finding(
            "lexicon-before-attention",
            tuple(before(name, group, OWN_ENDS if name == TEXTS.name else "") for name, group in groups.items()),
        ),
        Finding("stages-overlap", tuple(overlapping(name, group) for name, group in staged.items())),
        Finding("frozen-lexicon-fails-copying", (never_attends(frozen),)),
    )


def near_uniform(name: str, group: Sequence[Course]) -> tuple[Part, ...]:
    """Attention and relevance at step 0: entropy above 0.95 of its largest."""
    parts = []
    names: dict[str, Field] = {"attention": "attention", "relevance": "probe"}
    for what, field in names.items():
        values = [float(course.entropy[field][0]) for course in group]
        told = f"{sum(values) / len(values):.4f} of the largest entropy, over {len(values)} seeds." if values else ""
        parts.append(above(f"{name}: {what}", values, NEAR_UNIFORM, told, least=FEWEST))
    return tuple(parts)


def before(name: str, group: Sequence[Course], remark: str = "") -> Part:
    """Attention's step minus the probe's, above 0."""
    leads = [float(lead) for course in group if (lead := course.lead) is not None]
    probe, attention = (median([course.reached(field) for course in group]) for field in FIELDS)
    told = (
        f"The probe gets there at step {shown(probe)}, attention at {shown(attention)} (medians of the seeds that do), "
        f"over {len(leads)} of {len(group)} seeds."
    )
    for field in FIELDS:
        late = sum(course.lead is not None and course.reached(field) is None for course in group)
        told += f" In {late} of these the {field} does not and counts at the last evaluation." if late else ""
    return above(name, leads, 0.0, told + remark, least=FEWEST)


def overlapping(name: str, group: Sequence[Course]) -> Part:
    """The probe's end minus attention's beginning, above 0."""
    both = [course for course in group if course.overlap is not None]
    told = (
        f"Attention begins at step {shown(median([course.attention_begins for course in both]))}, the probe ends at "
        f"{shown(median([course.probe_ends for course in both]))} (medians), over {len(both)} of {len(group)} seeds."
    )
    return above(name, [float(course.overlap or 0) for course in both], 0.0, told, least=FEWEST)


def never_attends(frozen: Sequence[Course]) -> Part:
    """Holds if attention alone gets there in none of at least 20 seeds; one that does refutes it."""
    n = len(frozen)
    if not n:
        return Part(FROZEN.name, "undecided", None, None, "seeds", "No run at this preset.")
    count = sum(course.reached("attention") is not None for course in frozen)
    highest = max(float(course.top["attention"].max()) for course in frozen)
    verdict: Verdict = "fails" if count else "holds" if n >= ALWAYS else "undecided"
    detail = (
        f"In {count} of {n} seeds attention is at the right position in at least {HALF:.0%} of the cases within "
        f"{int(frozen[0].steps[-1])} updates; the most in any seed is {highest:.1%}, chance {frozen[0].chance:.1%}."
    )
    return Part(FROZEN.name, verdict, count / n, wilson(count, n), "seeds", detail)


def shown(step: float | None) -> str:
    """A step in words."""
    return "none" if step is None else f"{step:g}"
