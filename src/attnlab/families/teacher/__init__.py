"""Teachers and students (P2): inputs of which few features or words matter, digits in noise, texts as word vectors."""

from attnlab.families.teacher.spec import DigitsSpec, StudentSpec, TeacherSpec, WordVectorsSpec, check_student
from attnlab.protocols import Problem, RunSettings

TASKS = (TeacherSpec, DigitsSpec, WordVectorsSpec)
MODELS = (StudentSpec,)
FITS = {"teacher": ("student",), "digits": ("student",), "word-vectors": ("student",)}
NUMERICS = {"student": 1}


def build(spec: RunSettings, device: str) -> Problem:
    """The problem of a run."""
    from attnlab.families.teacher.newton import NewtonProblem
    from attnlab.families.teacher.problem import StudentProblem

    assert isinstance(spec.model, StudentSpec)
    return StudentProblem(spec, device) if spec.model.steps == "gradient" else NewtonProblem(spec, device)


def check(spec: RunSettings) -> None:
    """Known attention needs a task that knows it, self-attention needs words, Newton's steps need all examples."""
    check_student(spec)
