"""Where sources decide by the name of something that is registered, read from the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

LIB = Path(__file__).parent.parent / "lib"
ASKING = frozenset({"startswith", "endswith", "removeprefix", "removesuffix", "get", "pop", "setdefault"})
"""Methods that ask whether a text is, begins or ends with another one."""
SHORTEST = 4
"""Letters of the beginning of a name that is taken for it."""


@dataclass(frozen=True, kw_only=True)
class Register:
    """Things of one kind that are registered, each with a folder of its own."""

    registrations: Collection[str]
    """The modules that name them all."""
    packages: Mapping[str, str]
    """The package of each, by its registered name."""
    drawers: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Modules and packages elsewhere (dotted, without `offsetwise`) that are part of one, by its name."""
    allowed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Why a module (dotted, without `offsetwise`) may decide by a name, or import from the one of that name."""

    def violations(self, module: str, tree: ast.Module) -> Iterator[str]:
        """Yield where a module decides by a registered name, or imports from the folder of one, that is not its own."""
        short = module.removeprefix("offsetwise.")
        own = {
            name: (package.removeprefix("offsetwise."), *self.drawers.get(name, ()))
            for name, package in self.packages.items()
        }
        inside = {name for name, places in own.items() if any(f"{short}.".startswith(f"{place}.") for place in places)}
        if module in self.registrations:
            return
        others = {name: package for name, package in self.packages.items() if name not in inside}
        for line, imported in _imports(tree):
            for name, package in others.items():
                if f"{imported}.".startswith(f"{package}.") and (short, name) not in self.allowed:
                    yield f"{module}:{line} imports {imported}, of {name!r}"
        elsewhere = {
            imported.rpartition(".")[2]
            for _, imported in _imports(tree)
            if not any(f"{imported}.".startswith(f"{package}.") for package in self.packages.values())
        }
        classes = {name for package in others.values() for name in classes_of(package)} - elsewhere
        for line, name in decisions(tree, others.keys(), classes):
            if (short, name) not in self.allowed:
                yield f"{module}:{line} decides by {name!r}"


def decisions(tree: ast.AST, names: Collection[str], classes: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield line and name wherever a value is asked whether it is one of these names or classes.

    A name that stands for one, as a constant or a member of an enumeration does, counts where it is given.
    """
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        match node:
            case ast.Compare():
                asked = [node.left, *node.comparators]
            case ast.MatchValue():
                asked = [node.value]
            case ast.Dict():
                asked = [key for key in node.keys if key is not None]
            case ast.Subscript():
                asked = [node.slice]
            case ast.Assign() | ast.AnnAssign() if node.value is not None:
                asked = [node.value]
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, of]):
                yield from ((node.lineno, name) for name in _named(of) if name in classes)
            case ast.Call(func=ast.Attribute(attr=method)) if method in ASKING:
                asked = node.args
                if method in ("startswith", "removeprefix"):
                    begins = {text for arg in node.args for text in _texts(arg) if len(text) >= SHORTEST}
                    yield from ((node.lineno, name) for name in names if name.startswith((*begins,)))
            case ast.MatchClass():
                yield from ((node.lineno, name) for name in _named(node.cls) if name in classes)
        for each in asked:
            for value in _texts(each):
                if value in names:
                    yield each.lineno, value


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a source file."""
    return ast.parse(path.read_text("utf-8"))


@cache
def classes_of(package: str) -> frozenset[str]:
    """Return the names of the classes that a package defines."""
    trees = map(parsed, (LIB / package.replace(".", "/")).rglob("*.py"))
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression is, or has as its elements."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for each in node.elts:
            yield from _texts(each)
    elif isinstance(node, ast.BinOp):
        yield from _texts(node.left)
        yield from _texts(node.right)
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("frozenset", "set", "tuple")
    ):
        for each in node.args:
            yield from _texts(each)


def _named(node: ast.expr) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
