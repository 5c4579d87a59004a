"""Where the product states a remedy: each `fix=` and `remedy=` with words, and what a finding yields second."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "lib" / "offsetwise"
KEYWORDS = frozenset({"fix", "remedy"})
Names = Mapping[str, tuple[ast.expr, ...]]
Functions = Mapping[str, tuple[Path, ast.FunctionDef]]
"""By the name that a module calls it by: where a function is defined, and its definition."""
_TEXTS = (ast.Constant, ast.JoinedStr, ast.IfExp)


@dataclass(frozen=True, slots=True)
class Site:
    """One remedy in the source."""

    scope: str
    """The file below `lib/offsetwise` and the function, such as `config/sinks.py::check_names`."""
    line: int
    words: str
    """The constant parts of its text, joined by a space."""
    is_carried: bool = False
    """Whether it is a value of a mapping, such as the context of a pydantic error: who reads that states it."""


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
    tree = _tree(path)
    constants, functions = _constants(tree), _functions(path)

    deciding = set()
    """The functions that decide findings: of a pair that they yield, the second is a remedy of its own."""

    def named(scope: tuple[str, ...]) -> str:
        return f"{path.relative_to(LIBRARY).as_posix()}::{'.'.join(scope)}"

    def stated(node: ast.AST, scope: tuple[str, ...]) -> Iterator[ast.expr]:
        if isinstance(node, ast.Call):
            yield from (keyword.value for keyword in node.keywords if keyword.arg in KEYWORDS)
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple) and scope in deciding:
            yield node.value.elts[1]
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (value for key, value in pairs if isinstance(key, ast.Constant) and key.value in KEYWORDS)

    def inside(node: ast.AST, scope: tuple[str, ...], known: Names) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope, known = (*scope, node.name), {**constants, **_assigned(node, functions)}
            if any(isinstance(each, ast.Call) and ast.unparse(each.func) == "finding" for each in node.decorator_list):
                deciding.add(scope)
        for value in stated(node, scope):
            for words in _texts(value, known, functions):
                if words.strip():
                    yield Site(named(scope), value.lineno, words.strip(), is_carried=isinstance(node, ast.Dict))
        for child in ast.iter_child_nodes(node):
            yield from inside(child, scope, known)

    yield from inside(tree, (), constants)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _constants(tree: ast.Module) -> Names:
    return {
        node.targets[0].id: (node.value,)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    } | {
        node.target.id: (node.value,)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }


@cache
def _functions(path: Path) -> Functions:
    """Return the functions that a module calls by their bare name: its own, and those that it imports from others."""
    tree = _tree(path)
    called = {node.name: (path, node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{LIBRARY.name}."):
            below = LIBRARY.joinpath(*str(node.module).split(".")[1:])
            module = below / "__init__.py" if below.is_dir() else below.with_suffix(".py")
            names = {each.name: each.asname or each.name for each in node.names}
            found = _tree(module).body if module.is_file() else ()
            called |= {
                names[each.name]: (module, each)
                for each in found
                if isinstance(each, ast.FunctionDef) and each.name in names
            }
    return called


def _assigned(function: ast.AST, functions: Functions) -> Names:
    """Return the texts that are assigned to names in a function."""
    made: dict[str, tuple[ast.expr, ...]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = zip(_parts(target), _parts(node.value), strict=False)
                for name, value in pairs:
                    if isinstance(name, ast.Name) and (isinstance(value, _TEXTS) or _is_choice(value, functions)):
                        made[name.id] = (*made.get(name.id, ()), value)
    return made


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _called(value: ast.expr, functions: Functions) -> tuple[Path, ast.FunctionDef] | None:
    return functions.get(value.func.id) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None


def _is_choice(value: ast.expr, functions: Functions) -> bool:
    """Return whether an expression is one text of several that stand elsewhere: see `_texts`."""
    looked_up = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get"
    return looked_up or _called(value, functions) is not None


def _texts(value: ast.expr, known: Names, functions: Functions) -> list[str]:
    """Return the texts that an expression may be: one of each `return` of a function that is called, and of each
    value of a table that is looked into; all others are one text.
    """
    called = _called(value, functions)
    if called is not None and isinstance(value, ast.Call):
        return _returned(*called, value.args)
    if isinstance(value, ast.Name):
        calls = [each for each in known.get(value.id, ()) if _is_choice(each, functions)]
        rest = _words(value, {value.id: tuple(each for each in known.get(value.id, ()) if each not in calls)})
        return [rest, *(text for each in calls for text in _texts(each, known, functions))]
    if isinstance(value, ast.Subscript):
        return [_words(each, known) for each in _values(value.value, known, ast.unparse(value.slice))] or [
            _words(value, known)
        ]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "strip":
            return _texts(value.func.value, known, functions)
        if value.func.attr == "get":
            return [_words(each, known) for each in (*_values(value.func.value, known), *value.args[1:])]
    if isinstance(value, ast.JoinedStr):
        choices = (
            _texts(each.value, known, functions)
            if isinstance(each, ast.FormattedValue) and _called(each.value, functions)
            else [_words(each, known)]
            for each in value.values
        )
        return [" ".join(filter(None, parts)) for parts in product(*choices)]
    return [_words(value, known)]


def _returned(path: Path, function: ast.FunctionDef, arguments: Sequence[ast.expr]) -> list[str]:
    """Return the texts that a function may return when it is called with these arguments."""
    functions = _functions(path)
    given = {each.arg: (argument,) for each, argument in zip(function.args.args, arguments, strict=False)}
    known = {**_constants(_tree(path)), **given, **_assigned(function, functions)}
    returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return [text for each in returns for text in _texts(each, known, functions)]


def _values(table: ast.expr, known: Names, key: str = "") -> list[ast.expr]:
    """Return the values of a table that is a constant of its module: of one key where it has it, else all."""
    if isinstance(table, ast.Name):
        return [value for each in known.get(table.id, ()) for value in _values(each, known, key)]
    if isinstance(table, ast.IfExp):
        return [value for each in (table.body, table.orelse) for value in _values(each, known, key)]
    rows = list(zip(table.keys, table.values, strict=True)) if isinstance(table, ast.Dict) else []
    named = [value for name, value in rows if name is not None and ast.unparse(name) == key]
    return named or [value for _, value in rows]


def _words(value: ast.expr, known: Names) -> str:
    """Return the text of an expression: of a name what is assigned to it in its module or function."""
    if isinstance(value, ast.Name):
        return " ".join(filter(None, (_words(each, {}) for each in known.get(value.id, ()))))
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    parts = (_words(child, known) for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr))
    return " ".join(filter(None, parts))
