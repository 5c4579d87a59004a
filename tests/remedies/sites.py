"""Where the product states a remedy: every `fix=` and `remedy=` in its source that has words of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "lib" / "offsetwise"
KEYWORDS = frozenset({"fix", "remedy"})


@dataclass(frozen=True, slots=True)
class Site:
    """One remedy in the source."""

    scope: str
    """The file below `lib/offsetwise` and the function, such as `config/sinks.py::check_names`."""
    line: int
    words: str
    """The constant parts of its text, joined by a space."""


@cache
def sites() -> tuple[Site, ...]:
    """Return every remedy with words of its own, in the order of files and lines.

    A remedy that only passes on another one's (`fix=error.fix`) has no words and is no site.
    """
    return tuple(site for path in sorted(LIBRARY.rglob("*.py")) for site in _sites_of(path))


def matching(scope: str, words: str) -> list[Site]:
    """Return the sites of a function whose text has these words."""
    return [site for site in sites() if site.scope == scope and words in site.words]


def _sites_of(path: Path) -> Iterator[Site]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    } | {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }

    def inside(node: ast.AST, scope: tuple[str, ...]) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope = (*scope, node.name)
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                words = _words(keyword.value, constants) if keyword.arg in KEYWORDS else ""
                if words:
                    yield Site(
                        f"{path.relative_to(LIBRARY).as_posix()}::{'.'.join(scope)}", keyword.value.lineno, words
                    )
        for child in ast.iter_child_nodes(node):
            yield from inside(child, scope)

    yield from inside(tree, ())


def _words(value: ast.expr, constants: dict[str, ast.expr]) -> str:
    """Return the text of an expression: of a constant of the module what it holds, of a name from elsewhere nothing."""
    if isinstance(value, ast.Name):
        return _words(constants[value.id], {}) if value.id in constants else ""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    parts = (_words(child, constants) for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr))
    return " ".join(filter(None, parts))
