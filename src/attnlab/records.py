"""What all specs are: frozen records, validated where they enter, and identified by what they say."""

from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attnlab.errors import UsageError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, le=1)]


class InASentence(ModelMetaclass):
    """Makes a record say in one sentence, as a `UsageError`, what is wrong with the values it is called with.

    An ``__init__`` of its own would be called for records inside records too, and the place of a mistake be lost.
    """

    def __call__(cls, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            raise UsageError(_sentence(cls, error)) from None


class Record(BaseModel, metaclass=InASentence):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def identity(self) -> dict[str, Any]:
        """What tells this record from others: its kind and every field that differs from the default.

        Fields added later with a default that keeps the old behaviour leave old ids as they are.
        """
        settings: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name == "kind" or value != field.get_default(call_default_factory=True):
                settings[name] = _plain(value)
        return settings

    def unseeded(self) -> Self:
        """The same record without its random seeds: runs that differ in nothing else cost the same."""
        return self


class Spec(Record):
    """A record that is one of several kinds, and is looked up by its kind (`attnlab.families.registry`)."""

    kind: str


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.identity()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


RecordType = TypeVar("RecordType", bound=BaseModel)

TAGGED = ("distribution", "optimiser")
"""Settings that are of several kinds: in a mistake's place their kind follows, which the reader need not know."""


def validated(record: type[RecordType], values: Any) -> RecordType:
    """``record`` from plain ``values``; what is wrong with them is said in one sentence."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        raise UsageError(_sentence(record, error)) from None


def _sentence(record: Any, error: ValidationError) -> str:
    """The first mistake: where it is, what is wrong, and which keys there are if one is unknown."""
    first = error.errors()[0]
    where = first["loc"]
    named = [str(part) for before, part in zip(("", *where), where, strict=False) if before not in TAGGED]
    place = ".".join(named) or record.__name__
    known = ""
    if first["type"] == "extra_forbidden" and len(where) == 1:  # deeper, the keys are not this record's
        known = f"; known keys are {', '.join(record.model_fields)}"
    return f"{place}: {first['msg'].removeprefix('Value error, ').removesuffix('.')}{known}."
