"""Tables of networks with several heads, and the result in plain words."""

from dataclasses import dataclass

import numpy as np

from attnlab.experiments.multihead.heads import DATA_SEEDS, Start, Variant, several
from attnlab.experiments.multihead.heads_claims import fit_geometric
from attnlab.experiments.multihead.pruning import prune
from attnlab.lab.experiment import Table
from attnlab.lab.success import WITHIN, Outcome, learned
from attnlab.runs.engine import Job
from attnlab.stats.rates import wilson


@dataclass(frozen=True)
class Group:
    """All runs of one variant: the starts screened, single random heads, and outcomes by setting."""

    variant: Variant
    starts: list[Start]
    good: list[int]
    bad: list[int]
    outcomes: dict[str, list[Outcome]]
    jobs: dict[tuple[str, int], Job]

    def failures(self, heads: int) -> dict[int, tuple[int, int]]:
        """How many networks of K random heads failed, by K; ``heads`` is the number of a combination's."""
        known = {several(k): k for k in range(1, heads)} | {"all random": heads}
        return {
            k: (len(group) - learned(group), len(group))
            for name, k in known.items()
            if (group := self.outcomes.get(name, []))
        }


# --- tables


def success_rows(group: Group) -> Table:
    """A row for each setting: how many networks learned, with a Wilson interval, and how soon."""
    rows: list[dict[str, object]] = []
    for setting, outcomes in group.outcomes.items():
        if outcomes:
            steps = [outcome.step for outcome in outcomes if outcome.step is not None]
            median = float(np.median(steps)) if steps else None
            count, n = learned(outcomes), len(outcomes)
            low, high = wilson(count, n)
            row: dict[str, object] = {
                "variant": group.variant.name,
                "setting": setting,
                "runs": n,
                "learned": count,
                "rate": count / n,
            }
            rows.append({**row, "low": low, "high": high, "median_step": median})
    return rows


def failure_rows(group: Group, heads: int) -> Table:
    """Failures of networks with K random heads against the fitted law q^K."""
    failures = group.failures(heads)
    if not failures:
        return []
    fit = fit_geometric(failures)
    rows: list[dict[str, object]] = []
    for k, (failed, n) in failures.items():
        low, high = wilson(failed, n)
        law = {"fitted": fit.q**k, "fitted_low": fit.interval[0] ** k, "fitted_high": fit.interval[1] ** k}
        row = {"heads": k, "runs": n, "failed": failed, "rate": failed / n, "low": low, "high": high}
        rows.append({"variant": group.variant.name, **row, **law, "goodness": fit.goodness})
    return rows


def head_row(group: Group, start: Start) -> dict[str, object]:
    """What is known of one start; a label counts where the start was trained on all three data seeds."""
    outcomes = {seed: Outcome("", start.head, run) for seed, run in start.runs.items()}
    row: dict[str, object] = {
        "variant": group.variant.name,
        "head": start.head,
        "confirmed": start.confirmed,
        "label": start.label if start.confirmed else None,
        "released_label": start.released_label if start.confirmed else None,
    }
    for seed in DATA_SEEDS:
        outcome = outcomes.get(seed)
        row[f"step_{seed}"] = outcome and outcome.step
        row[f"last_accuracy_{seed}"] = outcome and outcome.run.rows[-1]["accuracy"]
        row[f"run_{seed}"] = outcome and outcome.run.id
    return row


def pruning_rows(group: Group) -> Table:
    """A row for each combination that learned and each of its heads, alone; see `pruning`."""
    rows = []
    for (setting, number), job in group.jobs.items():
        outcome = next((o for o in group.outcomes[setting] if o.seed == number), None)
        if setting not in ("one good", "all random") or outcome is None or outcome.step is None:
            continue
        found = prune(job.spec, outcome.run)
        if found is not None:
            rows += [
                {
                    "variant": group.variant.name,
                    "setting": setting,
                    "combination": number,
                    "head": k,
                    "good": setting == "one good" and k == len(found.alone) - 1,
                    "whole": found.whole,
                    "alone": found.alone[k],
                    "for_all": found.for_all[k],
                    "best": k == found.best_head,
                    "best_accuracy": found.best,
                    "best_for_all": found.best_for_all,
                }
                for k in range(len(found.alone))
            ]
    return rows


# --- words


def tell(groups: list[Group], success: Table, pruning: Table, heads: int) -> str:
    """The result in plain words."""
    sentences = []
    for group in groups:
        confirmed = [start for start in group.starts if start.confirmed]
        alike = sum(start.label != "mixed" for start in confirmed)
        released = sum(start.released_label == "bad" for start in confirmed)
        bad = sum(start.label == "bad" for start in confirmed)
        sentences.append(
            f"{group.variant.title[0].upper()}{group.variant.title[1:]}. {len(group.starts)} heads were screened and "
            f"{len(confirmed)} confirmed; {alike} of these do the same on all three data seeds. {bad} are bad; by the "
            f"released rule (accuracy below 0.6) {released} are."
        )
        for row in success:
            if row["variant"] == group.variant.name:
                when = f"; median step {row['median_step']:.0f}" if row["learned"] else ""
                sentences.append(
                    f"{row['setting']}: {row['learned']} of {row['runs']} networks learned within {WITHIN} updates "
                    f"({row['rate']:.0%}, 95 % interval {row['low']:.0%} to {row['high']:.0%}{when})."
                )
        failures = group.failures(heads)
        if len(failures) > 1:
            fit = fit_geometric(failures)
            sentences.append(
                f"Failures with K random heads fit q^K with q = {fit.q:.2f} ({fit.interval[0]:.2f} to "
                f"{fit.interval[1]:.2f}); goodness of fit p = {fit.goodness:.2g}."
            )
        best = [row for row in pruning if row["variant"] == group.variant.name and row["best"]]
        if best:
            right = [row for row in best if row["setting"] == "one good"]
            sentences.append(
                f"{len(best)} networks that have learned, pruned to their best head: mean accuracy "
                f"{np.mean([row['best_accuracy'] for row in best]):.2f} against "
                f"{np.mean([row['whole'] for row in best]):.2f} whole."
            )
            if right:
                count = sum(row["good"] for row in right)
                sentences.append(f"The best head is the one that started good in {count} of {len(right)} of them.")
    return " ".join(sentences)
