"""A stream has an ability with all its functions or not at all, and none of them is there for show."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Any, Final

from offsetwise.registry import READERS, STREAMS
from offsetwise.streams import abilities
from offsetwise.streams.reader import ClusterReader
from tests.with_cases import with_cases

ABILITIES: Final = {
    name: value
    for name, value in vars(abilities).items()
    if getattr(value, "_is_protocol", False) and value.__module__ == abilities.__name__
}


def functions(protocol: type) -> set[str]:
    return {name for name, value in vars(protocol).items() if inspect.isfunction(value) and not name.startswith("_")}


def is_stub(source: str) -> bool:
    """Return whether a function does nothing with what it is given: it only returns a constant, or only raises."""
    (function,) = ast.parse(dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    return len(body) <= 1 and (not names or any(isinstance(node, ast.Raise) for node in body))


def offered(reader: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions of all abilities that a reader has, and of the one that every stream has."""
    for protocol in (*ABILITIES.values(), ClusterReader):
        for name in functions(protocol):
            if hasattr(reader, name):
                yield name, getattr(reader, name)


@with_cases("stream", STREAMS)
def test_every_stream_reads_its_clusters_and_has_each_ability_whole_or_not(stream: str) -> None:
    reader = READERS.load(stream)

    assert [name for name in functions(ClusterReader) if not hasattr(reader, name)] == []
    for ability, protocol in ABILITIES.items():
        missing = {name for name in functions(protocol) if not hasattr(reader, name)}
        assert missing in (set(), functions(protocol)), f"{ability} without {missing}"


@with_cases("stream", STREAMS)
def test_no_function_of_an_ability_is_a_stub(stream: str) -> None:
    found = [
        name
        for name, function in offered(READERS.load(stream))
        if inspect.isfunction(function) and is_stub(inspect.getsource(function))
    ]

    assert found == []


@with_cases("body", ["return ()", "return None", "pass", "...", "raise NotImplementedError", "return False"])
def test_what_only_stands_for_a_function_is_seen(body: str) -> None:
    assert is_stub(f'def read(config, positions):\n    """Read."""\n    {body}')
    assert not is_stub("def read(config, positions):\n    return {at: None for at in positions}")
