"""Prints how large the code is, at each of the revisions named: `python tools/code_size.py 1061f4c HEAD`.

Counted in statements (`ast.stmt`) without docstrings, so that neither line breaks nor comments count.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

COUNTED: Final = ("lib", "pages", "app.py", "tools")
LAB: Final = PurePosixPath("lib/offsetwise/lab")
"""An extra of its own, counted separately."""
LINES: Final = 400
MODULES: Final = 20
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Sources = Mapping[PurePosixPath, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function or method, and its number of lines including the signature."""

    path: PurePosixPath
    name: str
    lines: int


def sources(revision: str) -> Sources:
    """Read every Python file that counts, as it is in `revision`."""
    archive = subprocess.run(  # noqa: S603 - git, with a revision that the caller names
        ("git", "archive", "--format=tar", revision, "--", *COUNTED),  # noqa: S607 - the git on the PATH
        check=True,
        capture_output=True,
    ).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.name.endswith(".py") and (content := files.extractfile(member)):
                found[PurePosixPath(member.name)] = content.read().decode()
    return found


def statements(source: str) -> int:
    nodes = list(ast.walk(ast.parse(source)))
    documented = sum(isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None for node in nodes)
    return sum(isinstance(node, ast.stmt) for node in nodes) - documented


def functions(read: Sources) -> Iterator[Function]:
    """Yield every function of every module, inner ones too."""
    for path, source in read.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                yield Function(path=path, name=node.name, lines=node.end_lineno - node.lineno + 1)


def report(revision: str) -> Iterator[str]:
    read = sources(revision)
    size = {path: statements(source) for path, source in read.items()}
    without_lab = {path: count for path, count in size.items() if LAB not in path.parents}
    longest = max(functions(read), key=lambda function: function.lines)
    large = {path: source.count("\n") for path, source in read.items() if source.count("\n") > LINES}
    folders = Counter(path.parent for path in read)
    full = {folder: count for folder, count in folders.items() if count > MODULES}
    yield f"{revision}:"
    yield f"  statements            {sum(size.values()):7,}"
    yield f"  without the lab       {sum(without_lab.values()):7,}"
    yield f"  modules               {len(size):7,}"
    yield f"  without the lab       {len(without_lab):7,}"
    yield f"  longest function      {longest.lines:7,} lines ({longest.path}, {longest.name})"
    yield f"  modules > {LINES} lines   {_listed(large)}"
    yield f"  folders > {MODULES} modules  {_listed(full)}"


def _listed(found: Mapping[PurePosixPath, int]) -> str:
    names = ", ".join(f"{path} ({count})" for path, count in sorted(found.items(), key=lambda item: -item[1]))
    return f"{len(found):7,}" + (f" ({names})" if names else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", default=["HEAD"])
    for revision in parser.parse_args().revisions:
        print("\n".join(report(revision)))


if __name__ == "__main__":
    main()
