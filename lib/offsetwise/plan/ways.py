from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from offsetwise.config import JobTraits
from offsetwise.findings.target_position import pending_batch_differs, replay, replay_not_tolerated, untranslated
from offsetwise.model import Comparison, Exactness, Problem
from offsetwise.plan.refusals import counted, no_rename, not_drained, retained_data, subscription
from offsetwise.wording.terms import in_words


def _nothing(comparison: Comparison, job: JobTraits) -> Iterable[Problem]:  # noqa: ARG001 - the signature of every rule of a way
    return ()


def _unasked(comparison: Comparison, job: JobTraits) -> Iterable[str]:  # noqa: ARG001 - as above
    return ()


class Objections(Protocol):
    def __call__(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        """Return all objections."""


def unopposed(
    comparison: Comparison,  # noqa: ARG001 - the signature of every rule of a target
    job: JobTraits,  # noqa: ARG001 - as above
    *,
    sink_rewound: bool,  # noqa: ARG001 - as above
) -> Iterator[Problem]:
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    name: str
    engine: str | None = None
    """The only engine whose jobs it moves; None if it belongs to an engine's own ways, or is for all engines."""
    instead_of: str | None = None
    """The way for all engines that it replaces. A way of the same name is always replaced."""
    order: int
    """The rank among the ways of an engine, ascending."""
    target: str
    """The name of the first target."""
    also_writes: str | None = None
    """The name of the second target."""
    title: str
    """The name for people, in the terms of the field."""
    keeps: tuple[str, ...]
    gives_up: tuple[str, ...]
    needs: tuple[str, ...]
    options: str = ""
    """Options of `offsetwise draft` besides the target."""
    translates: bool = True
    rewinds: bool = False
    """Whether the job goes back to an earlier batch."""
    migration_file: str | None = None
    """The migration file to draft with, if it is not the one of the comparison."""
    elsewhere: str = ""
    """Why it cannot be drafted from a comparison of the last position; empty if it can, or if its service was read."""
    objections: Callable[[Comparison, JobTraits], Iterable[Problem]] = _nothing
    """Yields objections to this way alone."""
    questions: Callable[[Comparison, JobTraits], Iterable[str]] = _unasked
    """Yields questions about facts that the migration file does not state and that would decide."""
    stop: tuple[str, ...] = ()
    """The command that stops the job, if the engine has one."""
    start: tuple[str, ...] = ()
    """The command that starts the job on the new cluster, if the engine has one."""
    start_of: Callable[[JobTraits], tuple[str, ...]] | None = None
    """Returns the start command, if it depends on what the migration file states about the job."""

    def worded(self, terms: Mapping[str, str]) -> Way:
        results = [
            tuple(in_words(sentence, terms) for sentence in some) for some in (self.keeps, self.gives_up, self.needs)
        ]
        title, elsewhere = in_words(self.title, terms), in_words(self.elsewhere, terms)
        return replace(self, title=title, elsewhere=elsewhere, keeps=results[0], gives_up=results[1], needs=results[2])


def unproven(comparison: Comparison, job: JobTraits) -> Iterator[Problem]:
    rows = [row for row in comparison.partitions if row.old_offset is not None]
    lost = [row for row in rows if row.new_offset is None or row.exactness in (Exactness.CLAIMED, Exactness.UNKNOWN)]
    if lost:
        message = f"{counted(lost)} no proven position, and none is assumed: a person can state one, with a reason."
        yield untranslated.problem(message)
    again = [row for row in rows if row not in lost and (row.exactness is Exactness.BOUNDED or row.replay)]
    if again and job.tolerates_replay is not True:
        message = f"{counted(again)} a position that repeats records, and the job is not stated to tolerate that."
        yield replay_not_tolerated.problem(message)


def pending(comparison: Comparison) -> Iterator[Problem]:
    unequal = [
        row
        for row in comparison.partitions
        if len(row.restart) > 1 and (row.restart[-1].new is None or row.pending_equal is not True)
    ]
    if unequal:
        message = f"{counted(unequal)} a pending batch that is not known to hold the same records on both clusters."
        yield pending_batch_differs.problem(message)


def not_renamed(comparison: Comparison, job: JobTraits) -> Iterator[Problem]:
    yield from subscription(job)
    yield from no_rename(comparison)


def _not_drained(comparison: Comparison, job: JobTraits) -> Iterator[Problem]:
    yield from retained_data(job)
    yield from not_drained(comparison, job)
    copied = [row for row in comparison.partitions if row.exactness.proven and row.new_offset != row.new.log_start]
    if copied:
        message = f"{counted(copied)} copies of records that the job has read: earliest would read them again."
        yield replay.problem(message)


PRODUCERS_FIRST: Final = Way(
    name="producers-first",
    order=80,
    target="",
    title="producers-first cutover, earliest",
    keeps=("every record, if the old topics were read to their end and the new ones hold nothing older",),
    gives_up=("records: any the job did not read on the old cluster before it moved",),
    needs=("producers write to the new cluster only", "the job has read every old topic to its end", "no mirror"),
    options=" --start TOPIC=earliest --reason TEXT",
    translates=False,
    elsewhere="It begins at earliest instead of the translated positions",
    objections=_not_drained,
)
"""Nothing is translated. Targets that can start a job at earliest complete it."""
