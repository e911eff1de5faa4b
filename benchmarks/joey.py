"""Time to validation BLEU 30 on Multi30k, English to German: our translator beside JoeyNMT's, one thread each.

JoeyNMT gets an environment of its own (`make bench-joey`), since it wants an older protobuf than ours. Both have the
same pieces, pairs, batches of 16, widths, layers, dropout and Adam, and both translate the validation sentences
greedily every 1000 updates, which is what JoeyNMT does while it trains. Its decoder reads the context of the word
before (input feeding) and ours does not, so it is another network: the row has no floor.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import torch
import translation
from networks import Training
from run import RESULTS, Row, matrix_product, rate
from torch import Tensor

from attnlab.data.bitext import Bitext
from attnlab.data.piece_batches import pair_batch
from attnlab.data.pieces import MARKS
from attnlab.families.passes import rows_of_step
from attnlab.measures.bleu import bleu
from attnlab.models.decoding import translate
from attnlab.models.translator import Translator

GOAL = 30.0
EVERY = 1000
"""Updates between two validations."""
MOST = 36_000
NAME = "translator to validation BLEU 30"
PYTHON = Path(".venv/joey/bin/python")
VALIDATION = re.compile(r"Steps:\s*(\d+).*?bleu:\s*([\d.]+)")


def ours(bitext: Bitext) -> tuple[float, int, float]:
    """Processor seconds from the first update on, updates and BLEU when the goal is reached."""
    network = Translator(len(bitext.pieces), seed=20)
    numbers = iter(range(MOST))

    def loss(network: Translator) -> Tensor:
        step = next(numbers)
        return translation.our_loss(
            network, pair_batch(bitext.train, rows_of_step(len(bitext.train), 16, 0, step)), step
        )

    training = Training.of(network, loss)
    began = time.process_time()
    for step in range(EVERY, MOST + 1, EVERY):
        network.train()
        for _ in range(EVERY):
            training.step()
        texts = translate(network, bitext.pieces, bitext.validation.source, beam=1)
        reached = bleu(texts, bitext.validation.target.texts()).score
        print(f"ours: {step} updates, BLEU {reached:.2f}, {time.process_time() - began:.0f} s", flush=True)
        if reached >= GOAL:
            return time.process_time() - began, step, reached
    sys.exit(f"Our translator did not reach BLEU {GOAL} in {MOST} updates.")


def joeys(bitext: Bitext, python: Path) -> tuple[float, int, float]:
    """The same of JoeyNMT, whose processor time is read off the system while it trains."""
    with tempfile.TemporaryDirectory() as folder:
        settings = write_settings(bitext, Path(folder))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        log, model = Path(folder) / "log", Path(folder) / "model"
        with log.open("wb") as output:
            child = subprocess.Popen(
                [str(python), "-m", "joeynmt", "train", str(settings), "--skip-test"],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
            )
        try:
            return _watched(child, log, model / "validations.txt")
        finally:
            child.kill()
            child.wait()


def _watched(child: "subprocess.Popen[bytes]", log: Path, validations: Path) -> tuple[float, int, float]:
    began, seen = None, 0
    while child.poll() is None:
        time.sleep(0.2)
        seconds = processor_seconds(child.pid)
        if began is None and "EPOCH 1" in log.read_text(errors="replace"):
            began = seconds  # reading and encoding the corpus is not training
        lines = VALIDATION.findall(validations.read_text()) if validations.is_file() else []
        for step, reached in lines[seen:]:
            print(f"JoeyNMT: {step} updates, BLEU {reached}, {seconds - (began or 0):.0f} s", flush=True)
            if float(reached) >= GOAL:
                return seconds - (began or 0), int(step), float(reached)
        seen = len(lines)
    sys.exit(f"JoeyNMT ended before BLEU {GOAL}; its last lines:\n" + log.read_text(errors="replace")[-2000:])


def processor_seconds(pid: int) -> float:
    """Processor time of another process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_settings(bitext: Bitext, folder: Path) -> Path:
    """Texts, pieces and settings as JoeyNMT reads them (its settings are YAML, of which JSON is a part)."""
    for name, split in (("train", bitext.train), ("dev", bitext.validation)):
        for language, side in (("en", split.source), ("de", split.target)):
            (folder / f"{name}.{language}").write_text("".join(f"{text}\n" for text in side.texts()), encoding="utf-8")
    (folder / "pieces.model").write_bytes(bitext.pieces.model)
    names = [name for name in bitext.pieces.names if name not in MARKS]
    (folder / "pieces.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    side = {
        "level": "bpe",
        "max_length": 100,
        "voc_file": str(folder / "pieces.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model"), "pretokenizer": "none"},
    }
    recurrent = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "embeddings": {"embedding_dim": 256, "scale": False, "dropout": 0.0},
        "hidden_size": 256,
        "num_layers": 2,
        "dropout": 0.5,
    }
    settings = {
        "name": "multi30k",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 20,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "testing": {"batch_size": 64, "eval_metrics": ["bleu"], "max_output_length": 100},
        "training": {
            "optimizer": "adam",
            "learning_rate": 0.001,
            "scheduling": "exponential",  # it must have one; by this factor the rate stays
            "decrease_factor": 1.0,
            "batch_size": 16,
            "batch_type": "sentence",
            "normalization": "tokens",
            "early_stopping_metric": "bleu",
            "validation_freq": EVERY,
            "logging_freq": 100,
            "updates": MOST,
            "epochs": 40,
            "keep_best_ckpts": 1,
            "print_valid_sents": [],
        },
        "model": {
            "tied_embeddings": True,
            "encoder": {**recurrent, "bidirectional": True},
            "decoder": {**recurrent, "hidden_dropout": 0.0, "init_hidden": "bridge", "attention": "luong"},
        },
    }
    path = folder / "settings.yaml"
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return path


def main() -> int:
    """Measure and put the row among `make bench`'s."""
    bitext, left_out = translation.bitext()
    python = Path(os.environ.get("ATTNLAB_JOEY", PYTHON)).absolute()
    if bitext is None or not python.is_file():
        reason = left_out[0] if left_out else f"JoeyNMT: there is no {python}; `make bench-joey` installs it."
        print(f"Left out: {reason}")
        return 0
    torch.set_num_threads(1)
    product = matrix_product()
    gflops = rate(min(translation.seconds(product) for _ in range(8)))
    mine, theirs = ours(bitext), joeys(bitext, python)
    said = ", ".join(
        f"{who} {seconds / 60:.1f} minutes, {step} updates, BLEU {reached:.1f}"
        for who, (seconds, step, reached) in (("ours", mine), ("its", theirs))
    )
    row = Row(f"{NAME} ({said})", theirs[0] / mine[0], 0.0, "times as fast as JoeyNMT", "at least", gflops)
    kept = [one for one in json.loads(RESULTS.read_text(encoding="utf-8")) if not one["name"].startswith(NAME)]
    RESULTS.write_text(json.dumps([*kept, asdict(row)], indent=2) + "\n", encoding="utf-8")
    print(f"{row.name}: {row.value:.2f} {row.unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
