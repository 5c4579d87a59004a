"""What is sent to Spark's workers: every module that what runs there imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from offsetwise.engines.registry import registered
from offsetwise.pipeline import shipping


def imported(source: bytes) -> Iterator[str]:
    """Name what a source imports when it runs, by its syntax."""
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        statement = left.pop()
        if not (isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"):
            left += ast.iter_child_nodes(statement)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("offsetwise."):
            yield from shipping._around((statement.module or "").removeprefix("offsetwise."))


def test_imports_are_found_by_their_lines_as_by_the_syntax() -> None:
    paths = sorted(shipping.PACKAGE.rglob("*.py"))
    differing = [
        str(path) for path in paths if set(shipping._imports(path.read_bytes())) != set(imported(path.read_bytes()))
    ]
    assert len(paths) > 400
    assert differing == []


def test_workers_find_every_engine_in_the_archive_alone(tmp_path: Path) -> None:
    archive = shipping.keep_archive(shipping.shipped_files())
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); "
        "from offsetwise.engines.registry import registered; print(*(engine.name for engine in registered()))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert ran.stdout.split() == [engine.name for engine in registered()]
