"""A walk: the state before, the command that is refused, the remedy followed literally, the same command again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.findings import findings
from offsetwise.fleets import RootTrouble
from offsetwise.model import Finding, MissingPart, Problem
from offsetwise.review.answers import NotAllowed
from offsetwise.review.sets.answers import RefusedOf
from offsetwise.survey.results import Trouble
from tests.remedies.sites import LIBRARY, matching


class Steps(NamedTuple):
    """What a walk does."""

    command: Callable[[], object]
    """Refused before. One that states findings returns them."""
    follow: Callable[[], object]
    """The remedy, followed literally."""
    then: Callable[[], object] | None = None
    """What the remedy says to do in place of the same command; None where it is the same command again."""
    ends: str = ""
    """A part of the other remedy that an error walk ends with; "" where it ends without an error."""


class Remembered:
    """A command whose remedy is read by whoever follows it."""

    def __init__(self, command: Callable[[], object]) -> None:
        self._command = command
        self.remedy = ""

    def __call__(self) -> object:
        """Run the command, and remember the remedy of its refusal."""
        try:
            result = self._command()
        except OffsetwiseError as error:
            self.remedy = error.fix
            raise
        if isinstance(result, tuple) and result:
            self.remedy = _remedy(result[0])
        return result


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a walk happens."""

    folder: Path
    patch: pytest.MonkeyPatch
    request: pytest.FixtureRequest
    """For the servers that tests start once."""

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the scene."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@dataclass(frozen=True, slots=True)
class Walk:
    """One row of the table."""

    scope: str
    words: str
    scene: Callable[[Scene], Steps]
    name: str
    proof: bool = False
    """Whether it needs a real cluster, as tests that are marked so."""


WALKS: list[Walk] = []
_STATED = Problem | MissingPart | Trouble | RootTrouble | FailedCheckpoint
"""What states a remedy besides errors and findings."""


def walk(
    scope: str, words: str, *, name: str = "", proof: bool = False
) -> Callable[[Callable[[Scene], Steps]], Callable[[Scene], Steps]]:
    """Add a walk to the table.

    Args:
        scope: The function that states the remedy, as `sites.Site.scope`.
        words: A part of its text that no other remedy of the function has.
        name: What the walk is called, where the function's name is not unique.
        proof: See `Walk`.
    """

    def added(scene: Callable[[Scene], Steps]) -> Callable[[Scene], Steps]:
        WALKS.append(Walk(scope, words, scene, name or scene.__name__.strip("_"), proof))
        return scene

    return added


def edited(scope: str, words: str, name: str, command: Callable[[Path], object], before: str, after: str) -> None:
    """Add a walk whose remedy is an edit of one file."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        path = scene.write("migration.yaml", before)
        return Steps(lambda: command(path), lambda: scene.write("migration.yaml", after))


def corrected(scope: str, words: str, name: str, command: Callable[[], object], instead: Callable[[], object]) -> None:
    """Add a walk whose remedy is another way to give the command."""
    walk(scope, words, name=name)(lambda _: Steps(command, lambda: None, instead))


def take(steps: Steps, scope: str, words: str) -> None:
    """Take a walk, and fail where the remedy is not stated by its function, or leads into the same refusal."""
    with _recorded() as records:
        failed, before = _outcome(steps.command)
    stated = [remedy for remedy, (code, _) in before.items() if words in remedy or _is_kind(code, scope, words)]
    assert stated, f"the remedy was not stated, but: {before or 'nothing'}"
    where = {function for record in records if words in record.fix for function in record.functions} | {
        _declared(code) for code, remedy in before.values() if remedy in stated
    }
    if scope.endswith("::") or any(site.is_carried for site in matching(scope, words)):
        where.add(scope)  # a constant of the module, or what somebody else states
    where |= {_declared(code) for code, kind in findings().items() if kind.remedy in "".join(before)}
    assert scope in where, f"the remedy came from elsewhere: {where}"
    steps.follow()
    fails_still, after = _outcome(steps.then or steps.command)
    circular = [remedy for remedy, (code, _) in after.items() if words in remedy or _is_kind(code, scope, words)]
    assert not circular, f"the remedy leads in a circle: {after}"
    if steps.ends:
        assert any(steps.ends in remedy for remedy in after), f"the remedy does not end as stated: {after}"
    else:
        assert not (failed and fails_still), f"the remedy leads to another refusal: {after}"


def _is_kind(code: str, scope: str, words: str) -> bool:
    """Return whether a finding's usual remedy has these words; it may state a more precise one."""
    kind = findings().get(code)
    return kind is not None and words in kind.remedy and _declared(code) == scope


def _outcome(command: Callable[[], object]) -> tuple[bool, dict[str, tuple[str, str]]]:
    """Return whether a command is refused, and each remedy that it states, with its code (or class) and sentence."""
    try:
        result = command()
    except OffsetwiseError as error:
        return True, {error.fix: (type(error).__name__, error.fix)}
    if isinstance(result, NotAllowed | RefusedOf):
        return True, {result.fix: (type(result).__name__, result.fix)}
    if not isinstance(result, tuple | list):
        return False, {}
    stated = [(_code(each), _remedy(each)) for each in result if isinstance(each, Finding | _STATED)]
    refused = any(code == "printed" for code, _ in stated)
    return refused, {remedy: (code, remedy) for code, remedy in stated}


def _code(stated: object) -> str:
    return str(getattr(stated, "code", type(stated).__name__))


def _remedy(stated: object) -> str:
    return str(getattr(stated, "remedy" if isinstance(stated, Finding) else "fix"))


def _declared(code: str) -> str:
    """Return the function that declares a finding, as `sites.Site.scope`."""
    kind = findings().get(code)
    if kind is None:
        return code if "::" in code else "findings/register.py::describe"
    decide = kind.decide
    return f"{decide.__module__.removeprefix('offsetwise.').replace('.', '/')}.py::{decide.__name__}"


@dataclass(frozen=True, slots=True)
class _Record:
    fix: str
    functions: tuple[str, ...]
    """The functions of the product above the error's creation, the nearest first."""


@contextmanager
def _recorded() -> Iterator[list[_Record]]:
    """Record where each error and refusal is created."""
    records: list[_Record] = []

    def recording(original: Callable[..., None]) -> Callable[..., None]:
        def recorded(self: object, *args: object, fix: str = "", **more: object) -> None:
            records.append(_Record(fix, tuple(_functions_above())))
            original(self, *args, fix=fix, **more)

        return recorded

    with pytest.MonkeyPatch.context() as patched:
        for kind in (OffsetwiseError, NotAllowed, RefusedOf, *get_args(_STATED)):
            patched.setattr(kind, "__init__", recording(kind.__init__))
        yield records


def _functions_above(most: int = 4) -> Iterator[str]:
    frame = sys._getframe(2)
    count = 0
    while frame.f_back is not None and count < most:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(LIBRARY):
            name = frame.f_code.co_qualname.replace(".<locals>", "").removesuffix(".<genexpr>")
            yield f"{path.relative_to(LIBRARY).as_posix()}::{name}"
            count += 1
        frame = frame.f_back
