"""How often and how soon runs learned, a row and a sentence for each setting."""

from collections.abc import Iterable, Sequence

import numpy as np

from attnlab.lab.experiment import Table
from attnlab.lab.success import Outcome, by_setting, rate_row


def rate_table(outcomes: Iterable[Outcome], within: int) -> Table:
    """A row for each setting: how many runs learned within so many updates, with a Wilson interval, and how soon."""
    table = []
    for name, group in by_setting(outcomes).items():
        steps = learned_steps(group, within)
        table.append(
            {
                "setting": name,
                **rate_row(group, within),
                "first_step": min(steps, default=None),
                "median_step": float(np.median(steps)) if steps else None,
                "last_step": max(steps, default=None),
                "attention_at_end": at_end(group, "attention_accuracy"),
                "probe_at_end": at_end(group, "probe_accuracy"),
            }
        )
    return table


def learned_steps(group: Iterable[Outcome], within: int) -> list[int]:
    """The steps at which those that learned did."""
    return [step for outcome in group if (step := outcome.learned_within(within)) is not None]


def tell_rates(table: Table, within: int) -> str:
    """The table in plain words."""
    sentences = []
    for row in table:
        when = f"; median step {row['median_step']:.0f}" if row["learned"] else ""
        sentences.append(
            f"{row['setting']}: {row['learned']} of {row['seeds']} runs learned within {within} updates "
            f"({row['rate']:.0%}, 95 % interval {row['low']:.0%} to {row['high']:.0%}{when})."
        )
    return " ".join(sentences)


def run_row(outcome: Outcome, within: int) -> dict[str, object]:
    """How one run ended."""
    last = outcome.run.rows[-1]
    return {
        "setting": outcome.setting,
        "seed": outcome.seed,
        "learned": outcome.learned_within(within) is not None,
        "step": outcome.learned_within(within),
        "last_step": int(last["step"]),
        "last_accuracy": last["accuracy"],
        "last_attention": last["attention_accuracy"],
        "last_probe": last["probe_accuracy"],
        "run": outcome.run.id,
    }


def at_end(group: Sequence[Outcome], metric: str) -> float:
    """The mean of a metric at the runs' last evaluations."""
    return float(np.mean([outcome.run.rows[-1][metric] for outcome in group]))
