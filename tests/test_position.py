"""Positions of several streams: what may be done with one, and what is told of those that are no numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from offsetwise.errors import PlanError
from offsetwise.position import Position, of_one_stream, offset_of, offset_or_none
from offsetwise.wording import many, number
from tests.test_imports import PAGES, SOURCES
from tests.toys.stream.spec import Label, parse
from tests.with_cases import with_cases

FIRST, SECOND = Label("s-0007"), Label("s-0040")


def test_positions_are_ordered_and_told_by_their_text() -> None:
    positions: list[Position] = [SECOND, FIRST]

    assert sorted(positions) == [FIRST, SECOND]
    assert (str(FIRST), f"{FIRST:,}", number(FIRST), number(1_050)) == ("s-0007", "s-0007", "s-0007", "1,050")
    assert parse("s-0007") == FIRST
    assert parse("1050") is None


def test_how_many_records_lie_between_two_is_said_to_be_unknown_where_nothing_tells() -> None:
    between: list[int | None] = []
    pairs: list[tuple[Position, Position]] = [(FIRST, SECOND), (950, 1_050)]
    for low, high in pairs:
        between.append(high - low)

    assert between == [None, 100]
    assert many(between[0], "record") == "an unknown number of records"


def test_what_takes_offsets_of_kafka_takes_nothing_else() -> None:
    assert (offset_of(950), offset_or_none(950), offset_or_none(FIRST), offset_or_none(None)) == (950, 950, None, None)
    with pytest.raises(PlanError, match="Expected an offset of Kafka, found the position 's-0007' of another stream"):
        offset_of(FIRST)


def test_positions_of_two_streams_are_never_compared() -> None:
    assert of_one_stream(950, None, 1_050)
    assert of_one_stream(FIRST, SECOND)
    assert not of_one_stream(FIRST, 950)
    with pytest.raises(TypeError):
        sorted([FIRST, 950])  # type: ignore[type-var]


NAMES = {
    *("offset", "new_offset", "old_offset", "planned_offset", "source_offset", "target_offset"),
    *("log_start", "lso", "hw", "lo", "hi", "position", "new_position", "planned"),
}
"""What values of the model call positions."""
ALLOWED = {
    "lab.consumers": "a negative number is what Kafka's client gives for no commit",
    "plugins.kafka.stream.groups": "-1 is what Kafka's client gives for no commit",
    "translation.resolve": "candidates are what Kafka's mirrors claim",
    "proof": "neighbours were read from Kafka, as records",
}


def _counting(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that take a position for a number: count on from one, hold it against one, or one for none."""
    for node in ast.walk(tree):
        operands: list[ast.expr] = []
        if not isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.BoolOp):
            operands = node.values
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "float", "abs"):
            operands = [*node.args, ast.Constant(0)]
        named = any(isinstance(each, ast.Attribute) and each.attr in NAMES for each in operands)
        if named and any(isinstance(each, ast.Constant) and type(each.value) is int for each in operands):
            yield node.lineno


def test_nobody_takes_a_position_for_a_number() -> None:
    found = {
        f"{module}:{line}": module.removeprefix("offsetwise.")
        for module, path in (SOURCES | PAGES).items()
        for line in _counting(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert {place for place, module in found.items() if module not in ALLOWED} == set()
    assert set(found.values()) == ALLOWED.keys()


@with_cases("source", ["row.new_offset - 1", "row.hw > 0", "row.lso or 0", "int(row.old_offset)"])
def test_every_way_to_take_one_for_a_number_is_seen(source: str) -> None:
    assert [*_counting(ast.parse(source))] == [1]


@with_cases("source", ["row.hw - row.offset", "row.hw > row.lso", "offset_of(row.hw) - 1"])
def test_what_holds_of_every_stream_is_left_alone(source: str) -> None:
    assert [*_counting(ast.parse(source))] == []
