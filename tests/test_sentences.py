"""Nothing decides by the words of a sentence that our own code wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LIB = Path(__file__).parent.parent / "lib" / "offsetwise"
SENTENCES = frozenset({"problem", "fix", "message", "told", "said", "why", "reason", "remedy", "effect", "error"})
"""How fields and variables that hold sentences are called."""
METHODS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "replace", "split", "rsplit", "partition", "rpartition"}
    | {"find", "index", "rstrip"}
)
ALLOWED = {
    "cli/compare.py": "the path of the file that standard input was kept in, which nobody gave",
    "cli/errors.py": "a full stop of click's sentence",
    "findings/migration.py": "a full stop, inside another sentence",
    "pipeline/session.py": "the words of Java",
    "store/troubles.py": "the words of SQLite and PostgreSQL",
    "plugins/kafka/stream/client.py": "the words of librdkafka",
    "plugins/kafka/stream/sockets.py": "the words of OpenSSL",
}


def _is_sentence(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
    return name in SENTENCES


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def _reads(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that look into a sentence."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method, value=value), args=[_, *_]) if (
                method in METHODS and _is_sentence(value)
            ):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=args) if any(map(_is_sentence, args)):
                yield node.lineno
            case ast.Compare(left=left, comparators=[right]):
                if (_is_sentence(left) and _is_text(right)) or (_is_text(left) and _is_sentence(right)):
                    yield node.lineno


def test_nothing_reads_a_sentence() -> None:
    found = {
        f"{path.relative_to(LIB)}:{line}"
        for path in sorted(LIB.rglob("*.py"))
        for line in _reads(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert {each for each in found if each.partition(":")[0] not in ALLOWED} == set()


POSITIONS = frozenset(
    {"offset", "old_offset", "new_offset", "planned_offset", "upstream", "downstream"} | {"hw", "lso"}
)
"""How fields that hold a position are called."""


def _counts(node: ast.expr) -> bool:
    """Return whether it is a length or a sum, or one more or less than that."""
    if isinstance(node, ast.BinOp):
        return _counts(node.left) or _counts(node.right)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"len", "sum"}


def _bare(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of sentences that print a position or a count without thousands separators."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        words = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        for part in node.values if words.count(" ") > 1 else ():
            match part:
                case ast.FormattedValue(value=ast.Attribute(attr=name), format_spec=None, conversion=-1):
                    if name in POSITIONS:
                        yield part.lineno
                case ast.FormattedValue(value=value, format_spec=None, conversion=-1) if _counts(value):
                    yield part.lineno


def test_every_sentence_has_thousands_separators() -> None:
    found = [
        f"{path.relative_to(LIB)}:{line}"
        for path in sorted(LIB.rglob("*.py"))
        for line in _bare(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
