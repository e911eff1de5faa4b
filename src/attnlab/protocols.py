"""What others fulfil: a problem to train, an optimiser, a rule that ends a run early. Nothing here loads PyTorch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from attnlab.records import Spec

if TYPE_CHECKING:
    from collections import defaultdict

    import pyarrow as pa
    from torch import Tensor, nn

Row = dict[str, float]
"""What is measured at one step, by name."""
Train = Literal["all", "attention-only", "all-but-attention"]
"""Which of a model's parameters are trained."""


class Loss(Protocol):
    """What an update goes down: a scalar tensor, or one that was computed together with its gradients."""

    def detach(self) -> "Tensor": ...

    def backward(self) -> None: ...


class Optimiser(Protocol):
    """What the loop asks of an optimiser: those of ``torch.optim`` are some."""

    @property
    def state(self) -> "defaultdict[Tensor, dict[str, Tensor]]":
        """What it remembers of each parameter: saved with a checkpoint."""
        ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> object: ...


class Problem(Protocol):
    """A run spec brought to life: the model, the loss of each step, the evaluation at any step.

    Batches, dropout and evaluation data are functions of seed and step alone (`attnlab.seeds`), so a problem has no
    hidden state: the model and the optimiser are all that a checkpoint has to hold.
    """

    @property
    def model(self) -> "nn.Module": ...

    def trained_parameters(self) -> "dict[str, nn.Parameter]":
        """The parameters that the optimiser changes, by name."""
        ...

    def before_update(self, step: int, optimiser: Optimiser) -> None:
        """Change what is to change before update number ``step`` (from 0), if anything.

        A checkpoint of ``step`` holds the state before this call, so a run that goes on from there repeats it.
        """
        ...

    def loss(self, step: int) -> Loss:
        """The loss that update number ``step`` goes down."""
        ...

    def evaluate(self, step: int) -> Row:
        """Measurements after ``step`` updates; leaves no trace in the run."""
        ...

    def fields(self) -> "pa.Table | None":
        """What an evaluation keeps beside its row, if anything; the store calls it the run's fields."""
        ...


class Weights(Protocol):
    """Finds the network of a run at a step."""

    def __call__(self, run_id: str, step: int) -> "Mapping[str, Tensor]":
        """Its tensors, by name."""
        ...


@runtime_checkable
class Twin(Protocol):
    """A problem that compares its network with the original, the network of another run."""

    def take_original(self, weights: "Mapping[str, Tensor]") -> None:
        """The original's tensors, by name."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """A problem that can show what its network looks at."""

    def watched(self, example: tuple[str, ...]) -> "pa.Table":
        """A row for each output word of one example: ``output``, the likeliest word ``predicted``, the ``inputs``, and
        of each of these ``alpha`` and ``beta``. Leaves no trace in the run; an example that cannot be read is a
        UsageError.
        """
        ...


class StopRule(Protocol):
    """Ends a run before its last step, by what was measured of it."""

    @property
    def reason(self) -> str:
        """Why it ends runs: the rest of the sentence "ended early: ..." in a run's status."""
        ...

    def stops_at(self, rows: Mapping[int, Row]) -> int | None:
        """The step at which a run with these ``rows``, by step, ends; None if it goes on.

        It depends on the rows up to that step alone: later ones must not change it.
        """
        ...

    def chance(self, rows: Mapping[int, Row], step: int) -> float | None:
        """At ``step``, the chance that the run will succeed, for the progress display; None where it says nothing."""
        ...


class OptimiserSettings(Protocol):
    """What a family may know of an optimiser's spec."""

    @property
    def kind(self) -> str: ...

    @property
    def learning_rate(self) -> float: ...


class RunSettings(Protocol):
    """What a family may know of a run: `attnlab.runs.spec.RunSpec` has it, and says what each setting means."""

    @property
    def id(self) -> str: ...

    @property
    def task(self) -> Spec: ...

    @property
    def model(self) -> Spec: ...

    @property
    def train(self) -> Train: ...

    @property
    def optimiser(self) -> OptimiserSettings: ...

    @property
    def batch(self) -> int | None: ...

    @property
    def evaluation_batch(self) -> int: ...

    @property
    def init_seed(self) -> int: ...

    @property
    def data_seed(self) -> int: ...

    @property
    def remedy(self) -> Spec | None: ...

    @property
    def deception(self) -> Spec | None: ...

    def identity(self) -> dict[str, Any]:
        """Every setting that differs from its default."""
        ...
