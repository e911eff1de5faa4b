"""Damage, swaps and crafted files in the run store, in runs that are explained, in results and in the cache.

Promised: nothing wrong passes in silence. Either all comes out with the same bits as from whole files, or what is wrong
is refused or repaired in words that name it; and ``store verify`` never exits with 0.
"""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from tests.campaign import damage
from tests.campaign.cases import Case, Outcome
from tests.campaign.crafted_others import crafted_cache, crafted_result
from tests.campaign.damage import Damage, Harm
from tests.campaign.nursery import HANG, Nursery
from tests.campaign.template import LONG, REFERENCE, SHORT, SPECS, STOPPED
from tests.campaign.uses import USES, command, content, digest

from attnlab.errors import AttnlabError
from attnlab.families.registry import build_problem
from attnlab.runs.loop import INEXACT, finished, train
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

ANYWHERE: tuple[Damage, ...] = (
    damage.altered, damage.flipped, damage.replaced, damage.strange, damage.gone, damage.exchanged, damage.misplaced,
)  # fmt: skip
KINDS: dict[str, tuple[Damage, ...]] = {
    "runs": (
        *ANYWHERE, damage.linked, damage.added, damage.crafted_document, damage.crafted_state, damage.crafted_table,
        damage.crafted_text,
    ),
    "results": (*ANYWHERE, damage.linked, crafted_result),
    "cache": (*ANYWHERE, damage.linked, crafted_cache),
    "explained": (*ANYWHERE, damage.linked, damage.crafted_document, damage.crafted_state, damage.crafted_table),
}  # fmt: skip
"""What is damaged, and how; a new kind of file or damage is one entry."""
TURNS = ("runs", "runs", "results", "runs", "cache", "explained")
"""Which is damaged by the first case, the second and so on, over and over."""


def play(case: Case, folder: Path, template: Path, nursery: Nursery) -> Outcome:
    """In a child: copy, damage, use, compare."""
    place = folder / "place"
    place.mkdir()
    ended = nursery.call(f"{__name__}:attempt", case.seed, case.number, str(template), cwd=place)
    if ended.code or ended.value is None:
        wrong = "It hangs." if ended.code == HANG else f"Exit code {ended.code}: ...{ended.err[-900:]}"
        return Outcome((ended.out.splitlines() or ["nothing was damaged yet"])[0], "not met", wrong)
    return Outcome(*ended.value)


def attempt(seed: str, number: int, template: str) -> tuple[str, str, str]:
    """What was done, how it was met and what was wrong with that."""
    random = Case("corruptions", seed, number).random
    target = TURNS[number % len(TURNS)]
    kinds = KINDS[target]
    harm = None
    while harm is None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(template, target), target)
        harm = kinds[number // len(TURNS) % len(kinds)](Path(target), random)
        kinds = (random.choice(kinds),) if harm is None else kinds
    print(harm.what, flush=True)
    met, wrong = (store_used if target == "runs" else compared)(harm, Path(template))
    return harm.what, f"{target}: {met}", wrong


# --- the run store


def store_used(harm: Harm, template: Path) -> tuple[str, str]:
    """Verify, list, show, read, train on; all that is not refused is compared with the same from the template."""
    code, said = command("store", "verify", "--store", "runs")
    if code != 1 and not (code == 0 and harm.quiet):
        return "not met", f"verify exits with {code}: {said[-300:]}"
    if not harm.quiet and not names(said, harm):
        return "not met", f"verify does not name it: {said[-500:]}"
    hurt = [spec for spec in (*SPECS.values(), STOPPED) if any(spec.id in path.parts for path in harm.paths)]
    others = [spec for spec in SPECS.values() if spec not in hurt]
    whole = json.loads(Path(template, REFERENCE).read_bytes())
    if wrong := _listed(hurt, whole, harm):
        return "not met", wrong
    warned, refused = "", 0
    for schedule in (SHORT, LONG):
        for spec in (*hurt, *others[:1]) if schedule == SHORT else hurt:
            wanted = whole[f"{spec.id} {schedule.steps}"]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    known = finished(spec, schedule, RunStore("runs"))
                    if known is not None and digest(known.rows) != wanted["rows"]:
                        return "not met", f"Rows of {spec.id} that differ are taken for finished."
                    train(spec, schedule, RunStore("runs"))
                    same = content(RunStore("runs").run(spec.id), schedule)
                except AttnlabError as error:
                    refused += 1
                    same = None
                    if not names(str(error), harm):
                        return "not met", f"The refusal names another file: {error}"
            warned += " ".join(str(one.message) for one in caught)
            if harm.forged and schedule == SHORT and same is not None:
                if same["weights"] != wanted["weights"] and (wrong := _taken(spec, harm, template)):
                    return "not met", wrong
                del wanted["weights"]
            if same is not None and (wrong := _differs(same, wanted, warned, harm)):
                return "not met", f"{spec.id} after {schedule.steps} steps: {wrong}"
    if refused:
        return "refused", ""
    if not harm.quiet and not warned and command("store", "verify", "--store", "runs")[0] == 0:
        return "repaired", ""  # what verify had named
    return ("repaired" if warned else "as before"), ""


def _listed(hurt: list[RunSpec], whole: dict[str, Any], harm: Harm) -> str:
    """What is wrong with how runs are listed and shown: one is missing or has other rows, and nothing is said."""
    for words in ([], ["--json"]):
        code, said = command("store", "list", "--store", "runs", *words)
        missing = [spec.id for spec in (*SPECS.values(), STOPPED) if spec.id not in said]
        if code or (missing and "cannot be read" not in said):
            return f"store list exits with {code} and leaves out {missing}: {said[-300:]}"
    for spec in hurt:
        code, said = command("store", "show", spec.id, "--store", "runs", "--json")
        shown = {"metrics": []} if code else json.JSONDecoder().raw_decode(said)[0]
        if spec == STOPPED or digest(shown["metrics"]) == whole[f"{spec.id} {SHORT.steps}"]["rows"]:
            continue
        if not names(said, harm):
            return f"store show has other rows of {spec.id} in silence: {said[-300:]}"
    return ""


def _taken(spec: RunSpec, harm: Harm, template: Path) -> str:
    """What is wrong with how a network is given the newest weights of a run: they are refused, or the right ones."""
    run, network = RunStore("runs").run(spec.id), build_problem(spec).model
    try:
        run.load_into(network, max(run.steps()))
    except AttnlabError as error:
        return "" if names(str(error), harm) else f"The refusal of weights names another file: {error}"
    right = RunStore(template / "runs").run(spec.id).load(max(run.steps())).weights
    taken = all(torch.equal(value, right[name]) for name, value in network.state_dict().items())
    return "" if taken else f"A network takes the forged weights of {spec.id}."


def _differs(found: dict[str, object], wanted: dict[str, object], warned: str, harm: Harm) -> str:
    for name, value in wanted.items():
        if found[name] == value:
            continue
        if name == "message" and found[name] == INEXACT and names(warned, harm):
            continue  # its environment is lost: marked, and said
        return f"{name} differs in silence."
    return ""


# --- runs that are explained, results and the cache


def compared(harm: Harm, template: Path) -> tuple[str, str]:
    """Each use of a folder comes out as from whole files, or is refused."""
    folder = harm.paths[0].parts[0]
    for path in template.iterdir():
        if path.is_file():
            shutil.copy(path, path.name)
    whole = json.loads(Path(template, REFERENCE).read_bytes())
    refused = 0
    for name, use in USES[folder].items():
        if name.startswith("report ") and not any(name.split()[1] in path.parts for path in harm.paths):
            continue  # the page of another result
        try:
            made = use()
            warned = folder == "explained" and names(str(made), harm)  # on standard error: other weights are used
            gone = harm.quiet and name in ("claims", "recall", "site")
            if digest(made) != whole[name] and not warned and not gone:
                return "not met", f"{name} differs in silence."
        except AttnlabError as error:
            refused += 1
            gone = harm.quiet and "has no result to report on" in str(error)  # all of it: its experiment is named
            if not names(str(error), harm) and not gone:
                return "not met", f"{name}: the refusal names another file: {error}"
    return ("refused" if refused else "as before or made again"), ""


def names(said: str, harm: Harm) -> bool:
    """Whether the words have one of the paths, in whole or from its run's folder on; a result's also by its folder if
    what is wrong is its document or a folder; of an environment also that it is lost or another.
    """
    if any(str(path) in said or "/".join(path.parts[1:]) in said for path in harm.paths):
        return True
    if any(path.name == "environment.json" and f"Run {path.parts[1]} " in said for path in harm.paths):
        return "environment" in said
    results = [path for path in harm.paths if path.parts[0] == "results"]
    return any(str(path.parent) in said for path in results if path.name == "result.json" or not path.suffix)
