"""Runs of students: all networks of a run side by side, their losses added, so that each learns as it would alone."""

import torch
from torch import Tensor
from torch.nn import functional

from attnlab.families.base import BaseProblem
from attnlab.families.teacher.examples import Examples
from attnlab.families.teacher.spec import StudentSpec
from attnlab.models.self_attention import SelfAttention
from attnlab.protocols import Row, RunSettings
from attnlab.seeds import torch_generator

CELLS = 1 << 22
"""Numbers of the largest table that an evaluation makes at once."""


class StudentProblem(BaseProblem):
    """Squared error on numbers, cross-entropy on classes; a batch, where there is one, is drawn for each network.

    Adam and plain descent treat every number by itself, so networks whose losses are added do not touch each other.
    """

    def __init__(self, spec: RunSettings, device: str = "cpu") -> None:
        super().__init__(spec, device)
        task, student = spec.task, spec.model
        assert isinstance(student, StudentSpec)
        self.data = task.data(spec.data_seed, student.precision)  # type: ignore[attr-defined]
        self.problems = len(self.data.train.y)
        self.together = self.problems * student.starts
        seeds = range(spec.init_seed, spec.init_seed + self.together)
        self.model = student.build(task, self.data, seeds).to(device)
        if self.data.classes is None and student.network != "attention":
            # What a read-out without attention of its own reads is the same at every step.
            self.parts = {name: self._read_once(getattr(self.data, name)) for name in ("train", "valid", "test")}
        else:
            self.parts = {name: getattr(self.data, name) for name in ("train", "valid", "test")}
        self.read_once = self.parts["train"] is not self.data.train

    def loss(self, step: int) -> Tensor:
        examples = self.parts["train"]
        if self.spec.batch is not None:
            size = (self.problems, self.spec.batch)
            generator = torch_generator(self.spec.data_seed, "training", step)
            examples = examples.chosen(torch.randint(examples.size, size, generator=generator))
        return self.losses(self.outputs(examples), examples.y).sum()

    @torch.no_grad()
    def evaluate(self, step: int) -> Row:  # noqa: ARG002 (the examples are the same at every step)
        """For each network k: ``train_k`` and ``valid_k``, its losses, and ``test_k``, its error.

        The error is the squared distance from the teacher as a share of the outputs' variance, or the share of
        inputs put into a wrong class.
        """
        row: Row = {}
        for name in ("train", "valid"):
            part = self.parts[name]
            row |= self._named(name, self.losses(self._in_blocks(part), part.y))
        test = self.parts["test"]
        outputs = self._in_blocks(test)
        if self.data.classes is None:
            errors = (outputs.squeeze(-1) - test.y).square().mean(1) / self.data.spread
        else:
            errors = (outputs.argmax(-1) != test.y).double().mean(1)
        return row | self._named("test", errors)

    def outputs(self, examples: Examples) -> Tensor:
        """(together, n, outputs)."""
        if self.read_once:
            return self.model.read(examples.x)  # type: ignore[operator, no-any-return]
        if isinstance(self.model, SelfAttention):
            return self.model(examples.x, examples.there)  # type: ignore[no-any-return]
        return self.model(examples.x)  # type: ignore[no-any-return]

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """(together,) the mean over a network's examples."""
        if self.data.classes is None:
            return (outputs.squeeze(-1) - y).square().mean(1)
        right = y.expand(outputs.shape[:2]).unsqueeze(-1)
        return functional.log_softmax(outputs, -1).gather(-1, right).squeeze(-1).mean(1).neg()

    def _read_once(self, examples: Examples) -> Examples:
        with torch.no_grad():
            return Examples(self.model.features(examples.x), examples.y)  # type: ignore[operator]

    def _in_blocks(self, examples: Examples) -> Tensor:
        words = examples.x.shape[-1] if examples.x.dim() == 4 else 1
        block = max(1, CELLS // (self.together * words * words))
        blocks = [self.outputs(examples.rows(first, first + block)) for first in range(0, examples.size, block)]
        return torch.cat(blocks, 1)

    def _named(self, name: str, values: Tensor) -> Row:
        return {f"{name}_{network}": float(value) for network, value in enumerate(values)}
