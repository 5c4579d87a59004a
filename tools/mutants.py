"""Recorded mutants of the code, which verify that moved tests still detect what they did before.

    python tools/mutants.py [--share N]

A mutant is one expression of one function, replaced. `tests/data/mutants.jsonl` has one in each line, with the test
file that failed on it; when code moves, its lines are moved too.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).parent.parent
RECORDED: Final = ROOT / "tests" / "data" / "mutants.jsonl"
LIMIT_S: Final = 240
"""A mutant that makes a test run longer has failed it."""
IMPORTED_ONCE: Final = (
    *("pytest", "hypothesis", "playwright.sync_api", "PIL.Image", "pydantic.dataclasses", "yaml", "regex"),
    *("confluent_kafka.admin", "pandas", "pyarrow", "pyspark.sql.connect.session"),
)
"""Imports of test files; each mutant's process is forked from one that has them."""

COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One expression of one function, and its replacement."""

    module: str
    """Relative to `lib`, as `offsetwise/translation/resolve.py`."""
    function: str
    """Qualified, as `Journal.append`."""
    before: str
    """The expression as `ast.unparse` writes it."""
    nth: int
    """Index among the equal expressions of the function, from 0."""
    after: str
    test: str = ""
    """The test file that fails, relative to the root."""


def mutate(node: ast.expr) -> ast.expr | None:
    """Return an expression with another meaning; None if no mutation is known."""
    made = copy.deepcopy(node)
    match made:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            made.ops = [COMPARED[type(op)]()]
        case ast.BinOp(op=ast.Add()):
            made.op = ast.Sub()
        case ast.BinOp(op=ast.Sub()):
            made.op = ast.Add()
        case ast.BoolOp(op=ast.And()):
            made.op = ast.Or()
        case ast.BoolOp(op=ast.Or()):
            made.op = ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.IfExp(body=body, orelse=orelse):
            made.body, made.orelse = orelse, body
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            made.func = ast.Name(id=CALLED[name])
        case ast.Constant(value=bool(value)):
            made.value = not value
        case ast.Constant(value=int(value)):
            made.value = value + 1
        case _:
            return None
    return made


def functions(tree: ast.AST, around: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield every function with its qualified name, without functions inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield f"{around}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{around}{node.name}.")


def expressions(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str, int]]:
    """Yield every expression below a function's signature, its text, and its index among equal ones."""
    seen: dict[str, int] = {}
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr):
                text = ast.unparse(node)
                yield node, text, seen.setdefault(text, 0)
                seen[text] += 1


def candidates(lib: Path, module: str) -> Iterator[Mutant]:
    for name, function in functions(ast.parse((lib / module).read_text(encoding="utf-8"))):
        for node, text, nth in expressions(function):
            made = mutate(node)
            if made is not None:
                yield Mutant(module=module, function=name, before=text, nth=nth, after=ast.unparse(made))


def mutated(lib: Path, mutant: Mutant) -> str:
    """Return the source of the module with the mutant in it.

    Raises:
        LookupError: The code does not have the expression.
    """
    tree = ast.parse((lib / mutant.module).read_text(encoding="utf-8"))
    for name, function in functions(tree):
        for node, text, nth in expressions(function) if name == mutant.function else ():
            if (text, nth) == (mutant.before, mutant.nth):
                put = _Put(node, ast.parse(mutant.after, mode="eval").body)
                return ast.unparse(ast.fix_missing_locations(put.visit(tree)))
    raise LookupError(f"{mutant.module}: {mutant.function} has no expression number {mutant.nth} {mutant.before!r}")


class _Put(ast.NodeTransformer):
    def __init__(self, out: ast.expr, put: ast.expr) -> None:
        self._out, self._in = out, put

    def visit(self, node: ast.AST) -> ast.AST:
        return self._in if node is self._out else super().visit(node)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a mutated source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name, self._path, self._source = name, path, source

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, str(self._path), "exec"), module.__dict__)  # noqa: S102 - our own code, changed


def fails(root: Path, mutant: Mutant, tests: Sequence[str]) -> bool:
    """Return whether a test fails on a mutant, in a separate process."""
    source = mutated(root / "lib", mutant)
    child = os.fork()
    if child == 0:
        try:
            os._exit(_tested(root, mutant, source, tests))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) != 0


def _tested(root: Path, mutant: Mutant, source: str, tests: Sequence[str]) -> int:
    os.chdir(root)
    sys.path[:0] = [str(root), str(root / "lib")]
    name = mutant.module.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, _Finder(name, root / "lib" / mutant.module, source))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    signal.alarm(LIMIT_S)
    with tempfile.TemporaryDirectory() as base:
        options = ("-x", "-q", "-n0", "-m", "not proof", "-p", "no:cacheprovider", f"--basetemp={base}/t")
        alone = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
        return int(importlib.import_module("pytest").main([*tests, *options, *alone]))


def recorded() -> list[Mutant]:
    return [Mutant(**json.loads(line)) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def warm() -> None:
    """Import what tests import, so that forks have it."""
    for name in IMPORTED_ONCE:
        importlib.import_module(name)


def run(share: int) -> int:
    """Try every `share`-th recorded mutant; return how many survived all tests."""
    warm()
    tried = recorded()[::share]
    alive = 0
    for mutant in tried:
        try:
            failed = fails(ROOT, mutant, [mutant.test])
        except LookupError as gone:
            failed = False
            print(f"gone: {gone}")
        if not failed:
            alive += 1
            print(f"no test fails: {mutant}")
    print(f"{len(tried)} mutants tried, {len(tried) - alive} fail a test")
    return alive


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--share", type=int, default=1, help="try one of so many")
    sys.exit(min(run(asked.parse_args().share), 1))
