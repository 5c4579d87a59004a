"""Waves: which jobs move together, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Final

from pydantic import AwareDatetime, BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from offsetwise.config.fields import Label, repeated
from offsetwise.errors import ConfigError
from offsetwise.model import Subject
from offsetwise.strict_yaml import Section
from offsetwise.wording import first_of

_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NAMED: Final = 10
"""How many names a message lists."""


def _as_text(value: object) -> object:
    """Reject a number, which pydantic would take for seconds since 1970."""
    if isinstance(value, int | float):
        raise PydanticCustomError("time", "expected a time such as 2026-12-01T02:00Z, found {found}", {"found": value})
    return value


Time = Annotated[AwareDatetime, BeforeValidator(_as_text)]
JobPattern = Annotated[str, Field(pattern=r"^(checkpoint:|group:)[^\x00-\x1f\x7f]{1,300}$|^\*$")]
"""`checkpoint:NAME` or `group:NAME`, with `*`, `?` and `[…]` as in shell patterns; `*` for all jobs."""
TimeSpan = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,6}[smhd]$")]
"""A duration: a number and s, m, h or d."""


class WaveConfig(Section):
    """Jobs that move together: drafted, approved and applied as one plan set."""

    name: Label
    jobs: Annotated[tuple[JobPattern, ...], Field(min_length=1)]
    after: tuple[Label, ...] = ()
    """The waves whose jobs must have caught up before this one begins."""
    not_before: Time | None = None
    """When it may begin, with its time zone."""
    window: TimeSpan | None = None
    """How long it may take."""

    @field_validator("jobs")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := repeated(value):
            raise PydanticCustomError("job_twice", "expected each job once, found {job} twice", {"job": min(twice)})
        return value

    @property
    def not_before_ms(self) -> int | None:
        return None if self.not_before is None else round(self.not_before.timestamp() * 1000)

    @property
    def window_ms(self) -> int | None:
        return None if self.window is None else int(self.window[:-1]) * _UNIT_MS[self.window[-1]]

    def jobs_of(self, jobs: Sequence[Subject]) -> tuple[Subject, ...]:
        """Return the migration's jobs in the wave, in the order of its patterns."""
        chosen = (job for pattern in self.jobs for job in jobs if matches(pattern, job))
        return tuple(dict.fromkeys(chosen))


def matches(pattern: str, job: Subject) -> bool:
    """Return whether a pattern matches a job, literally or by its wildcards, case-sensitively.

    >>> from offsetwise.model import SubjectKind
    >>> matches("group:etl-*", Subject(kind=SubjectKind.GROUP, name="etl-eu"))
    True
    """
    name = f"{job.kind}:{job.name}"
    return name == pattern or fnmatchcase(name, pattern)


def in_order(waves: Sequence[WaveConfig]) -> tuple[WaveConfig, ...]:
    """Return checked waves in the order in which they begin: after those in `after`, else in the order of the file."""
    by_name = {wave.name: wave for wave in waves}
    sorter = TopologicalSorter({wave.name: wave.after for wave in waves})
    sorter.prepare()
    rank, ready, results = {wave.name: index for index, wave in enumerate(waves)}, set[str](), []
    while sorter.is_active():
        ready.update(sorter.get_ready())
        first = min(ready, key=rank.__getitem__)
        ready.remove(first)
        results.append(by_name[first])
        sorter.done(first)
    return tuple(results)


def check_waves(waves: Sequence[WaveConfig], jobs: Sequence[Subject]) -> None:
    """Raise unless every wave matches jobs of the migration, and comes after existing waves, without a cycle.

    A job in two waves, or in none, is a finding: the others can move meanwhile.

    Raises:
        ConfigError: A wave does not; the message has its name.
    """
    if twice := repeated(wave.name for wave in waves):
        raise ConfigError(
            f"waves: expected a name of its own for each, found {min(twice)!r} twice, so a command could mean either.",
            fix="Rename one of them.",
        )
    names = [wave.name for wave in waves]
    for wave in waves:
        for name in wave.after:
            if name not in names:
                raise ConfigError(
                    f"waves: {wave.name!r} comes after {name!r}, which is not a wave of this file, so it could never "
                    "begin.",
                    fix=f"Name one of: {', '.join(names)}; or leave it out.",
                )
        for pattern in wave.jobs:
            if not any(matches(pattern, job) for job in jobs):
                raise ConfigError(
                    f"waves: {wave.name!r} names {pattern!r}, which no job of this file matches, so a job that is "
                    "meant would not move.",
                    fix=f"The file's jobs are {_listed(jobs)}. Correct the name, or add the job under `checkpoints` "
                    "or `groups`.",
                )
    try:
        TopologicalSorter({wave.name: wave.after for wave in waves}).prepare()
    except CycleError as error:
        circle = " after ".join(repr(name) for name in reversed(error.args[1]))
        raise ConfigError(
            f"waves: expected an order, found {circle}, so none of them could begin.",
            fix="Remove one of these from `after`.",
        ) from None


def _listed(jobs: Sequence[Subject]) -> str:
    return first_of([f"{job.kind}:{job.name}" for job in jobs], _NAMED) or "none"
