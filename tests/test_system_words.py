"""Planning and application, and what they stand on, have no names of their own for what only one system knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from offsetwise import files
from offsetwise.findings.register import findings
from tests.test_imports import SOURCES
from tests.with_cases import with_cases

ROOMS: Final = ("plan", "apply", "model", "translation", "findings", "approval", "store")
WORDS: Final = re.compile(r"batch(es)?|uids?|savepoints?|leases?|shards?|spark|flink|kinesis|kcl")
_PARTS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

TYPES: Final = frozenset({"Batch", "BatchSource", "NewSavepoint", "ShardPosition", "ShardRange", "WrittenLease"})
"""The types of values in files of format 1, named after what their keys are called there."""
ALLOWED: Final = {
    ("apply.journal_file", "st_uid"): "of the operating system: whose a file is",
    ("approval.demo", "SPARK"): "which of the bundled samples is shown",
    ("model.checkpoints", "batches"): "what the details of every engine answer: what it keeps of a history, or none",
    ("model.state", "spark"): "a key of the JSON that `state` prints",
    ("translation.old_log", "batch_ms"): "the time that goes with a `RestartPoint.batch`",
    ("translation.query", "batch_ms"): "as above",
    ("translation.query", "planned_batch"): "a `RestartPoint.batch` before it is one",
    ("translation.query", "planned_batch_ms"): "the time that goes with it",
    ("translation.resolve", "planned_batch"): "where the `RestartPoint` is made of it",
}
"""Names that these rooms have all the same, and why. The list only gets shorter."""


def _of_rooms() -> Iterator[tuple[str, ast.Module]]:
    for module, path in SOURCES.items():
        short = module.removeprefix("offsetwise.")
        if short.partition(".")[0] in ROOMS:
            yield short, ast.parse(path.read_text("utf-8"))


def _is_of_one_system(name: str) -> bool:
    return any(WORDS.fullmatch(part.lower()) for part in _PARTS.findall(name))


def _keys(schema: Any) -> Iterator[str]:
    """Yield the keys and the names of types in a JSON schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("properties", "$defs") and isinstance(value, Mapping):
                yield from value
            yield from _keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _keys(value)


FORMAT_1: Final = frozenset(key for kind in files.KINDS for key in _keys(files.schema(kind)))
CODES: Final = frozenset(code.lower() for code in findings())


def _names(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield every name in a module, and whether it is of a value's field, as keys of files are."""
    fields = {
        statement.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                yield name, name in fields
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name, True
            case ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield name, False
            case ast.ClassDef(name=name):
                yield name, True
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((alias.asname or alias.name, True) for alias in aliases)


def _found(module: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    last = module.rpartition(".")[2]
    if _is_of_one_system(last):
        yield module, last
    for name, of_value in _names(tree):
        if _is_of_one_system(name) and name not in CODES | TYPES and not (of_value and name in FORMAT_1):
            yield module, name


def _asked(tree: ast.Module) -> int:
    """Count the reads of what only one engine keeps in the details of a checkpoint."""
    return sum(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "details"
        and _is_of_one_system(node.attr)
        for node in ast.walk(tree)
    )


def test_no_name_is_of_one_system() -> None:
    found = {pair for module, tree in _of_rooms() for pair in _found(module, tree)}

    assert found == set(ALLOWED)


def test_no_engines_own_numbers_are_read() -> None:
    assert not {module: count for module, tree in _of_rooms() if (count := _asked(tree))}


@with_cases(
    "source",
    [
        "def later_batch(): ...",
        "def of(shards): ...",
        "class FlinkWriter: ...",
        "SAVEPOINT_GUARD = 1",
        "uids = ()",
        "from offsetwise.a import spark_guard",
        "x.lease_keys",
        "f(kinesis_stream=1)",
        "for batch in x: ...",
    ],
)
def test_every_kind_of_name_is_seen(source: str) -> None:
    assert [*_found("plan.m", ast.parse(source))]


@with_cases("source", ["x.restart[0].batch", "uuid = 1", "x = 'batch'", "pending_batch_differs()", "released = 1"])
def test_keys_codes_words_for_people_and_other_words_are_left_alone(source: str) -> None:
    assert not [*_found("plan.m", ast.parse(source))]


def test_a_module_named_after_a_system_and_a_read_of_its_details_are_seen() -> None:
    assert [*_found("apply.shards", ast.parse(""))] == [("apply.shards", "shards")]
    assert _asked(ast.parse("read.details.reruns_batch, read.details.kind")) == 1
