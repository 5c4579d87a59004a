"""The keys of `--set key=value`: each target or repair declares those that it takes as a small model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offsetwise.errors import PlanError, UsageError


class Settings(BaseModel):
    """The keys that one kind of target or repair takes: none here; subclasses declare theirs.

    A subclass declares each key with its type, its default if it is optional, and its meaning: `create_table: bool =
    Field(default=False, description="make the table where there is none")`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: ClassVar[Mapping[str, str]] = {}
    """Older options of `draft` for the same keys: option -> key. They still work, and `--help` does not list them."""

    def plan_fields(self) -> Mapping[str, Any]:
        """Return the plan's fields for these values, if format version 1 has fields of their own for them.

        Such a key is declared with `exclude=True`, so that it is not recorded among the plan's settings as well.
        """
        return {}

    @property
    def job_keys(self) -> Mapping[str, str]:
        """The values by their keys in the job section of the migration file, which may state them instead."""
        return {}


class MarkSettings(Settings):
    options = {"--mark-settled": "mark_settled"}

    mark_settled: bool = Field(
        default=False,
        exclude=True,
        description="say in the copy that the sink's transactions are committed, as they are",
    )


class UnsetSettings(Settings):
    options = {"--unset": "unset"}

    unset: Literal["leave"] | None = Field(
        default=None,
        description="write nothing for partitions without a commit of the group, or a position in the file",
    )


Takers = Mapping[str, type[Settings]]
"""The keys that each target or repair of a plan takes, by its name."""
Recorded = tuple[tuple[str, str], ...]
"""(key, value) as a plan has them, in the order of the keys."""
_S = TypeVar("_S", bound=Settings)


def parse(texts: Iterable[str]) -> dict[str, str]:
    """Parse `key=value` arguments of a command line.

    >>> parse(["kcl=2", "create_table=true"])
    {'kcl': '2', 'create_table': 'true'}

    Raises:
        UsageError: One has no value, or a key is repeated.
    """
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value) or key in values:
            what = f"{key[:100]!r} twice" if key in values else repr(text[:100])
            raise UsageError(
                f"--set: expected key=value, each key once, found {what}. Nothing was drafted.",
                fix="Write each key once with its value, for example --set kcl=2.",
            )
        values[key] = value
    return values


def texts(values: Mapping[str, object]) -> Recorded:
    """Convert Python values to the texts of a command line.

    >>> texts({"kcl": 2, "create_table": True})
    (('create_table', 'true'), ('kcl', '2'))
    """
    return tuple(sorted((key, _text(value)) for key, value in values.items()))


def accepted(takers: Takers, values: Recorded) -> Recorded:
    """Return values as a plan records them, each validated by the model that takes its key.

    Args:
        takers: The models of the plan's targets and repair.
        values: (key, value) of every `--set`.

    Raises:
        PlanError: A key is unknown, a value is invalid, or one is missing; the message lists the accepted keys.
    """
    check(takers, values)
    parsed = (settings_of(model, values).model_dump(exclude_unset=True) for model in takers.values())
    return texts({key: value for settings in parsed for key, value in settings.items()})


def check(takers: Takers, values: Recorded) -> None:
    """Raise if values are invalid.

    Raises:
        PlanError: A key is unknown, a value is invalid, or one is missing; the message lists the accepted keys.
    """
    wrong = next(objections(takers, values), None)
    if wrong is not None:
        raise PlanError(
            f"--set: expected {accepted_keys(takers)}; found {wrong}. Nothing was drafted.", fix=_fix(takers, values)
        )


def objections(takers: Takers, values: Recorded) -> Iterator[str]:
    by_key = dict(values)
    if len(by_key) != len(values):
        yield "a key twice"
    for key in by_key:
        if not any(key in model.model_fields for model in takers.values()):
            yield f"{key[:100]!r}, which {' and '.join(takers)} {'does' if len(takers) == 1 else 'do'} not take"
    for model in takers.values():
        try:
            settings_of(model, values)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_context=False):
                key = str(detail["loc"][0]) if detail["loc"] else ""
                if not key:
                    yield detail["msg"].removeprefix("Value error, ")
                else:
                    yield f"{key}={by_key[key][:100]}" if key in by_key else f"no {key}"


def plan_fields(takers: Takers, values: Recorded) -> dict[str, Any]:
    """Return the plan's fields with the values that are not recorded among its settings.

    Args:
        takers: The models of the plan's targets and repair.
        values: (key, value) of every `--set`, validated.
    """
    return {field: of for model in takers.values() for field, of in settings_of(model, values).plan_fields().items()}


def settings_of(model: type[_S], recorded: Recorded) -> _S:
    """Return the settings of one target or repair, with defaults filled in.

    Raises:
        ValidationError: A value is invalid; impossible for a plan from `read_plan`.
    """
    return model.model_validate_strings({key: value for key, value in recorded if key in model.model_fields})


def accepted_keys(takers: Takers) -> str:
    """List the accepted keys with their values and meanings, as part of a sentence.

    >>> accepted_keys({"starting-offsets": Settings})
    'no key, for starting-offsets takes none'
    """
    keys = [f"{key}={value} ({meaning})" for key, value, meaning in _declared(takers)]
    return f"no key, for {' and '.join(takers)} takes none" if not keys else ", ".join(dict.fromkeys(keys))


def _fix(takers: Takers, values: Recorded) -> str:
    keys = [key for key, _, _ in _declared(takers)]
    unrecognized = next((key for key, _ in values if key not in keys), None)
    wrong = unrecognized if unrecognized is not None and keys else next(_wrong_keys(takers, values), None)
    if not keys:
        return "Leave --set out."
    if unrecognized is not None:
        return f"Leave --set {unrecognized[:100]} out, or write one of the keys that are listed."
    return f"Write --set {wrong or keys[0]}=VALUE with a value as listed."


def _wrong_keys(takers: Takers, values: Recorded) -> Iterator[str]:
    for model in takers.values():
        try:
            settings_of(model, values)
        except ValidationError as error:
            yield from (str(detail["loc"][0]) for detail in error.errors() if detail["loc"])


def keys_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (key, its values, its meaning) of a JSON Schema of settings."""
    for key, of in schema.get("properties", {}).items():
        yield key, _values(of), of["description"]


def _declared(takers: Takers) -> list[tuple[str, str, str]]:
    return [key for model in takers.values() for key in keys_of(model.model_json_schema())]


def _values(of: Mapping[str, Any]) -> str:
    either = [schema for schema in of.get("anyOf", [of]) if schema.get("type") != "null"]
    if listed := of.get("enum", either[0].get("enum")) or ([either[0]["const"]] if "const" in either[0] else []):
        return "|".join(map(str, listed))
    match either[0].get("type"):
        case "boolean":
            return "true|false"
        case "integer":
            return "NUMBER"
        case _:
            return "TEXT"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
