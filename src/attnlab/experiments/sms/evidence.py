"""Whose words does attention look for: those that speak for a text's own class, or for the other one?

With two classes it is enough to find the words of one of them: a text without any is of the other class. A network that
learned so looks for, say, spam words in a ham message too, and there its attention points away from beta_uf, what each
word says for ham. A(alpha, beta_uf) and A(alpha, -beta_uf), class by class, tell the two ways apart.
"""

from collections.abc import Sequence

import altair as alt
import numpy as np

from attnlab.experiments.texts.text_pictures import heading
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Table
from attnlab.measures.agreement import top_agreement
from attnlab.pages.charts import COLOURS, INK, SIZE

FOR, AGAINST = "for the text's class", "against it"


def evidence_table(runs: TextRuns, seeds: Sequence[int], alphas: Sequence[ScoreField]) -> Table:
    """For the attention of each seed and the texts of each class: how often its top position is among the 5 % that
    speak most for the class, and among those that speak most against it.

    beta_uf is that of the first uniform run at its most accurate evaluation. Where there are more than two classes,
    what speaks against one speaks for no other in particular.
    """
    uniform = runs.of("uniform")[0]
    beta_uf = runs.field(uniform, runs.best_step(uniform), "valid", "gamma")
    against = ScoreField(-beta_uf.values, beta_uf.offsets)
    labels, chance = runs.texts["valid"].labels.numpy(), runs.chance("valid")
    table = []
    for seed, alpha in zip(seeds, alphas, strict=True):
        found = {FOR: top_agreement(alpha, beta_uf).expected, AGAINST: top_agreement(alpha, against).expected}
        for label, name in enumerate(runs.corpus.classes):
            of_class = labels == label
            if of_class.any():
                table += [
                    {
                        "corpus": runs.order.row,
                        "class": name,
                        "seed": seed,
                        "evidence": evidence,
                        "A": float(np.mean(values[of_class])),
                        "chance": float(chance[of_class].mean()),
                        "texts": int(of_class.sum()),
                    }
                    for evidence, values in found.items()
                ]
    return table


def evidence_picture(table: Table) -> alt.TopLevelMixin:
    """A point for each seed, by corpus and class."""
    rows = [{**line, "texts of": f"{line['corpus']}: {line['class']}"} for line in table]
    order = list(dict.fromkeys(str(line["texts of"]) for line in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("texts of:N", title=None, sort=order))
    scale = alt.Scale(domain=[FOR, AGAINST], range=list(COLOURS[:2]))
    points = base.mark_circle(size=40, opacity=0.7).encode(
        x=alt.X("A:Q", title="how often attention's top position is one of them", scale=alt.Scale(domain=[0, 1])),
        yOffset=alt.YOffset("evidence:N", sort=[FOR, AGAINST]),
        color=alt.Color("evidence:N", title="words that speak", scale=scale),
        tooltip=["seed:Q", "evidence:N", alt.Tooltip("A:Q", format=".3f")],
    )
    ticks = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q")
    return alt.layer(points, ticks).properties(
        width=2 * SIZE["width"],
        height=44 * len(order),
        title=heading("Each seed's attention: does it look for words of the text's own class? Ticks: chance"),
    )
