"""Pages of the documentation whose examples are run: what a page shows is what a command gives."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.commands import Ran, call

ROOT: Final = Path(__file__).parent.parent
OMITTED: Final = "…"
"""Stands in a page for lines that are left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page, and what the page shows of its answer."""

    command: str
    shown: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        """The command's words."""
        return shlex.split(self.command)


def text(page: str) -> str:
    """Return a page's text by its path in the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one."""
    found = re.search(rf"^(?:#+) {re.escape(heading)}\n(.*?)(?=^#|\Z)", _headings(text(page)), re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no heading {heading!r}"
    return found[1]


def blocks(of: str, language: str) -> list[str]:
    """Return the code blocks of one language in a text."""
    return re.findall(rf"```{language}\n(.*?)```", of, flags=re.DOTALL)


def run_python(of: str, **names: object) -> None:
    """Run the Python sessions of a text as one, in the current folder: each must give what is shown.

    Args:
        of: The text.
        names: What the text says is given.
    """
    session = doctest.DocTestParser().get_doctest("".join(blocks(of, "pycon")), names, "the page", None, 0)
    assert session.examples, "there is nothing to run"
    said: list[str] = []
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    doctest.DocTestRunner(verbose=False, optionflags=options).run(session, out=said.append)
    assert said == [], "".join(said)


def steps(of: str) -> Iterator[Step]:
    """Yield the commands of a text's console sessions, lines that go on joined."""
    for block in blocks(of, "console"):
        for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = each.replace("\\\n", " ").strip().splitlines()
            yield Step(" ".join(command.split()), tuple(line for line in shown if line != OMITTED))


def walk(of: str, run: Callable[[Step], Ran]) -> None:
    """Run every command of a text in order; each must succeed and print what is shown, in that order."""
    made = [*steps(of)]
    assert made, "the text holds no command"
    for step in made:
        ran = run(step)
        assert ran.code == 0, f"{step.command}\n{ran.out}{ran.err}"
        check_shown(step, f"{ran.err}\n{ran.out}")


def check_shown(step: Step, printed: str) -> None:
    """Hold the lines that a page shows against what was printed: each is there, in order."""
    left = iter(_plain(line) for line in printed.splitlines())
    for line in step.shown:
        assert _plain(line) in left, f"{step.command}: {line!r} is not printed here, or not in this order\n{printed}"


def run_here(step: Step) -> Ran:
    """Run a command in the current folder: our own in this process, another in a shell."""
    name, *arguments = step.arguments
    if name == "offsetwise":
        return call(*arguments, width=120)
    done = subprocess.run(["sh", "-c", step.command], capture_output=True, text=True, timeout=60, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def _plain(line: str) -> str:
    return " ".join(line.split())


def _headings(of: str) -> str:
    """Indent the comments of code blocks, which look like headings."""
    return re.sub(r"```.*?```", lambda block: block[0].replace("\n#", "\n #"), of, flags=re.DOTALL)
