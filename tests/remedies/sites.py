"""Where the product states a remedy: each `fix=` and `remedy=` with words, and what a finding yields second."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "lib" / "offsetwise"
KEYWORDS = frozenset({"fix", "remedy"})
Names = Mapping[str, tuple[ast.expr, ...]]
_TEXTS = (ast.Constant, ast.JoinedStr, ast.IfExp)


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
    constants: Names = {
        node.targets[0].id: (node.value,)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    } | {
        node.target.id: (node.value,)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }

    deciding = set()
    """The functions that decide findings: of a pair that they yield, the second is a remedy of its own."""

    def named(scope: tuple[str, ...]) -> str:
        return f"{path.relative_to(LIBRARY).as_posix()}::{'.'.join(scope)}"

    def inside(node: ast.AST, scope: tuple[str, ...], known: Names) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope, known = (*scope, node.name), {**constants, **_assigned(node)}
            if any(isinstance(each, ast.Call) and ast.unparse(each.func) == "finding" for each in node.decorator_list):
                deciding.add(scope)
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                words = _words(keyword.value, known).strip() if keyword.arg in KEYWORDS else ""
                if words:
                    yield Site(named(scope), keyword.value.lineno, words)
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple) and scope in deciding:
            words = _words(node.value.elts[1], known).strip()
            if words:
                yield Site(named(scope), node.value.lineno, words)
        for child in ast.iter_child_nodes(node):
            yield from inside(child, scope, known)

    yield from inside(tree, (), constants)


def _assigned(function: ast.AST) -> Names:
    """Return the texts that are assigned to names in a function."""
    made: dict[str, tuple[ast.expr, ...]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = zip(_parts(target), _parts(node.value), strict=False)
                for name, value in pairs:
                    if isinstance(name, ast.Name) and isinstance(value, _TEXTS):
                        made[name.id] = (*made.get(name.id, ()), value)
    return made


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _words(value: ast.expr, known: Names) -> str:
    """Return the text of an expression: of a name what is assigned to it in its module or function."""
    if isinstance(value, ast.Name):
        return " ".join(filter(None, (_words(each, {}) for each in known.get(value.id, ()))))
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    parts = (_words(child, known) for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr))
    return " ".join(filter(None, parts))
