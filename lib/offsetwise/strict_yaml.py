"""Parse the YAML files that people write: strictly, into pydantic models, with a remedy for every error.

Unknown and repeated keys are rejected, and so are aliases, dates, numbers of base 60 and files above the limit.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from offsetwise import regular_files
from offsetwise.errors import ConfigError

MAX_BYTES: Final = 1024 * 1024
MAX_NUMBER: Final = 64
"""Characters of a number."""
_OF_ONE_VERSION: Final = re.compile(r"[-+]?(0[0-9]+|0b[01_]+|.*_.*)")
_IN_QUOTES: Final = "Put it in quotes if a text is meant, as YAML reads no, on and 1.0 as something else. "
_EXPECTED: Final = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "dict_type": "keys with values",
    "mapping_type": "keys with values",
    "list_type": "a list",
    "tuple_type": "a list",
}
"""The expected types, by the type of pydantic's error."""
_TYPES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number with a fraction",
    str: "a text",
    Mapping: "keys with values",
    list: "a list",
}
"""The types that YAML reads, in the order of the search: bool is a subclass of int."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNoun:
    name: str
    """With its article."""
    keys: str
    """The keys to start with."""
    described: str
    """A sentence about where the file is described."""
    start: str
    """A sentence about how to create such a file."""


class Section(BaseModel):
    """A part of a file. Unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            for key in value:
                if key not in cls.model_fields:
                    raise cls._unknown_key(str(key))
        return value

    @classmethod
    def _unknown_key(cls, key: str) -> PydanticCustomError:
        return PydanticCustomError("unknown_key", "{key}", {"key": key, "known": [*cls.model_fields]})


_M = TypeVar("_M", bound=Section)


def read(path: Path, model: type[_M], noun: FileNoun) -> _M:
    """Read a file. Validators get its folder as `base`, to resolve relative paths.

    Raises:
        ConfigError: Unreadable, not YAML, or not valid for the model; the message names file, key and remedy.
    """
    path = Path(path).absolute()
    content = _read_yaml(path, noun)
    try:
        return model.model_validate(content, context={"base": path.parent})
    except ValidationError as error:
        raise _explained(path, error, noun) from None  # pydantic's error repeats values, which may be secrets
    except ConfigError as error:
        raise type(error)(f"{path}: {error.problem}", fix=error.fix) from None  # as above


class _Loader(yaml.SafeLoader):
    """YAML without repeated keys, aliases (they can grow without bound) and dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way to configure a loader
        first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.get_mark()
            raise yaml.constructor.ConstructorError(None, None, "aliases are not used here", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        visited: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"the key {getattr(key, 'value', '…')!r} is not a text; put it in quotes",
                    key.start_mark,
                )
            if key.value in visited:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} appears twice", key.start_mark
                )
            visited.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    # `1:30` is 90 in YAML 1.1, and parsing many such digits takes quadratic time.
    # There `010` is 8 and `1_000` is 1000, too; in YAML 1.2 they are 10 and a text.
    what = (
        "a number of base 60"
        if ":" in node.value
        else f"a number of more than {MAX_NUMBER} characters"
        if len(node.value) > MAX_NUMBER
        else _OF_ONE_VERSION.fullmatch(node.value) and "a number that YAML 1.1 and 1.2 read differently"
    )
    if what:
        problem = f"{node.value[:20]!r} is {what}, and none is used here; put it in quotes if a text is meant"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    whole = node.tag == "tag:yaml.org,2002:int"
    return loader.construct_yaml_int(node) if whole else loader.construct_yaml_float(node)


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number)


def _read_yaml(path: Path, noun: FileNoun) -> dict[str, Any]:
    try:
        content = regular_files.read_named(path, MAX_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{path}: expected {noun.name}, but {error.strerror or error}. Nothing was read.",
            fix=noun.start,
        ) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: expected at most {MAX_BYTES} bytes, found more.", fix=f"Give {noun.name}.")
    try:
        value = yaml.load(content.decode("utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected UTF-8, found other bytes at position {error.start}.", fix="Save the file as UTF-8."
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}{_line(error)}: expected YAML, but {_yaml_problem(error)}. Nothing was read from it.",
            fix=f"Correct the line; {noun.described}",
        ) from None
    if not isinstance(value, dict):
        result = "nothing" if value is None else f"a {type(value).__name__}"
        raise ConfigError(
            f"{path}: expected keys and values at the top level, found {result}.",
            fix=f"Start with {noun.keys}; {noun.described}",
        )
    return value


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}"


def _yaml_problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, yaml.reader.ReaderError):
        return f"it has the character U+{error.character:04X}, which no YAML may have"
    return str(getattr(error, "problem", None) or "it cannot be parsed").removeprefix("but ")


def _explained(path: Path, error: ValidationError, noun: FileNoun) -> ConfigError:
    errors = error.errors(include_url=False)  # no value is shown, which may be a secret: its type at most
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"]) or "the top level"
    more = f" ({len(errors) - 1:,} more problems.)" if len(errors) > 1 else ""
    context = first.get("ctx", {})
    match first["type"]:
        case "unknown_key":
            near = difflib.get_close_matches(context["key"], context["known"], n=1)
            fix = f"Did you mean {near[0]!r}?" if near else f"Use only: {', '.join(context['known'])}."
            return ConfigError(
                f"{path}: {field} has the unknown key {context['key']!r}, so what it asks for would be ignored.{more}",
                fix=" ".join([fix, *context.get("plugins", ())]),
            )
        case "missing":
            return ConfigError(f"{path}: {field} is missing.{more}", fix=f"Add {field}.")
        case "both":
            return ConfigError(
                f"{path}: {field} has master and remote, expected one of them, so it is unclear where records "
                f"are read.{more}",
                fix="Keep master for a Spark of your own, remote for a Spark Connect server.",
            )
        case "merged":
            return ConfigError(
                f"{path}: {field}.map gives two old topics the new name {context['name']!r}. "
                f"Merged topics have no single position.{more}",
                fix="Give each old topic a new name of its own.",
            )
        case _:
            reason, quotes = _of_value(first)
            return ConfigError(
                f"{path}: {field} cannot be used: {reason}.{more}",
                fix=f"{quotes}Correct the value; {noun.described}",
            )


def _of_value(detail: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong with a value and what to do, if more than to correct it; of the value its type alone."""
    expected = _EXPECTED.get(detail["type"])
    if expected is None:
        return detail["msg"], ""
    actual = next((name for kind, name in _TYPES.items() if isinstance(detail["input"], kind)), "nothing")
    is_other = actual in (_TYPES[bool], _TYPES[int], _TYPES[float]) and detail["type"] in ("string_type", "model_type")
    return f"expected {expected}, found {actual}", _IN_QUOTES if is_other else ""
