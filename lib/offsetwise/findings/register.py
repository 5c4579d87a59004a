"""The register of findings: the meaning, severity and remedy of each code, and the function that decides it.

A finding is one function under `@finding`, in the package that it belongs to. Its module is imported by `builtin`, or
with an engine's or a target's registration; the register is assembled from these modules when it is first read, and
closed then. A code never changes its meaning; new ones may be added. `docs/findings/<CODE>.md` explains each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, ParamSpec

from offsetwise.model import Finding, Problem, Severity
from offsetwise.registry import declare_findings
from offsetwise.wording.terms import in_words

if TYPE_CHECKING:
    from offsetwise.findings.case import MigrationCase

P = ParamSpec("P")

Said = str | tuple[str, str]
"""A sentence with its numbers; with a second one if the remedy is not the usual one."""


class Stage(StrEnum):
    """The stage that decides a finding, and with that the argument of its function."""

    PARTITION = "by comparing a partition"
    """For each partition, from its `Case`."""
    TOPIC = "by comparing a topic"
    """For each topic, from its `TopicCase`."""
    MIGRATION = "by comparing, once"
    """Once, from the `MigrationCase`."""
    GROUP = "by comparing a group"
    """Once if a group is compared, from the `MigrationCase`."""
    READER = "by reading a checkpoint or a cluster"
    """By the reader of a checkpoint or a cluster, which adds it to `problems`."""
    SAMPLES = "from samples of the lag"
    """From two samples of the lag (`offsetwise watch`)."""
    CUTOVER = "by looking at the old logs"
    """From observations of the old cluster's logs (`offsetwise cutover`)."""
    WHOLE = "over all jobs of a migration"
    """From the readings of all jobs together (`offsetwise status`)."""
    GATE = "by the start gate of a plan"
    """When a plan is drafted, by the start gate."""
    PLAN = "when a plan is drafted"
    """When a plan is drafted, and before that when the ways to move the job are evaluated."""


class Fact(Enum):
    """A fact about a `Case` or a `MigrationCase`. A finding is not called if a fact that it needs does not hold."""

    MIRROR = "MirrorMaker copies the topics"
    READ_COMMITTED = "the job reads committed records only"
    POSITION = "the partition has a position"
    NO_POSITION = "the partition has no position"
    BY_ENGINE = "where the job begins without a position is up to its engine"
    BY_SETTING = "where the job begins without a position is a setting of its client"
    CHOSEN_AT_START = "the checkpoint says in words where the job begins, and has no offset"
    OLD_NUMBER = "the position is a number that was written for the old cluster"
    INEXACT = "records do not prove the position on the new cluster exactly"
    READS_TWICE = "from the position on the new cluster the job reads records twice"
    LOSS = "the old number lies past unread records of the new log"
    CONFUSION = "the record at the old number is another one on the new cluster"
    AHEAD_DIFFERS = "the unread records, counted on both logs, are not the same"
    OLD_COMMIT = "the compared group has committed on the old cluster"
    NEW_COMMIT = "the compared group has committed on the new cluster"
    PENDING = "a batch was planned and not committed; of a partition, it was read on both clusters"
    GROUP = "a group is compared"
    COMMITS = "the checkpoint's job commits to a group that was read"
    TRANSACTIONS = "the checkpoint holds transactions of a sink"
    OPAQUE = "positions of the stream are no numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The properties of a case that select the findings to call."""

    stream: str
    """The registered name of the old stream."""
    engine: str = ""
    """The engine of the checkpoint; empty for a partition, and for a group."""
    facts: frozenset[Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingKind:
    code: str
    severity: Severity
    title: str
    remedy: str
    rank: int = 0
    """The rank among the codes of its severity: the lowest comes first. A declared one is above 0."""
    stage: Stage = Stage.READER
    unedited: bool = False
    """Whether it is about reusing the unchanged offset; writing the translated offset resolves it."""
    overridable: bool = False
    """Whether it is about one partition, and a person's override there, with a reason, resolves it."""
    continuing: bool = False
    """Whether it is about a checkpoint that cannot continue from its last batch: no objection to a job that starts
    anew."""
    of_sink: bool = False
    """Whether it is about a sink, which writes to Kafka whatever the job reads."""
    of_pending: bool = False
    """Whether it says that the planned and not committed step is wrong: an edit of the checkpoint leaves it out."""
    heading: str = ""
    """The heading on screens, if it differs from the title."""
    beside: str = ""
    """What it adds to the sentence about the restart; "" for most findings."""
    page: str = "docs/findings/README.md"
    """The docs page, from the root of the repository."""

    def problem(self, message: str, *, fix: str = "") -> Problem:
        return Problem(code=self.code, message=message, fix=fix or self.remedy)

    def finding(
        self, message: str, *, fix: str = "", topic: str | None = None, partition: int | None = None
    ) -> Finding:
        """Return the finding about a partition or topic, named as on the old cluster, or about the migration."""
        return Finding(
            code=self.code,
            severity=self.severity,
            topic=topic,
            partition=partition,
            message=message,
            remedy=fix or self.remedy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFinding(FindingKind, Generic[P]):
    decide: Callable[P, Iterator[Said]]
    stream: str = ""
    """The only stream it is about; empty for any."""
    engine: str = ""
    """The only engine it is about; empty for any."""
    needs: frozenset[Fact] = frozenset()
    """The facts without which it is not called."""
    amount: Callable[[MigrationCase], str] | None = None
    """For `Stage.READER`: returns a sentence that is added to the reader's message once the clusters were read, about
    how many records, or how much time, are affected; "" if they do not show it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Problem]:
        """Yield a problem for each sentence, in the order of the function."""
        for said in self.decide(*args, **kwargs):
            message, fix = (said, "") if isinstance(said, str) else said
            yield self.problem(message, fix=fix)


_declared: dict[str, DeclaredFinding[...]] = {}


def finding(  # noqa: D417 - those of one kind are described together
    *,
    code: str,
    severity: Severity,
    title: str,
    remedy: str,
    rank: int,
    stage: Stage = Stage.PARTITION,
    unedited: bool = False,
    overridable: bool = False,
    continuing: bool = False,
    of_sink: bool = False,
    of_pending: bool = False,
    heading: str = "",
    beside: str = "",
    stream: str = "",
    engine: str = "",
    needs: Set[Fact] = frozenset(),
    amount: Callable[[MigrationCase], str] | None = None,
) -> Callable[[Callable[P, Iterator[Said]]], DeclaredFinding[P]]:
    """Declare a finding by the function that decides it.

    The function is pure: no clock, no client, no file. It yields a sentence only if its arguments prove one; an unread
    value never becomes a finding. For `Stage.PARTITION` and `Stage.TOPIC` it yields at most one.

    Args:
        code, stage: Its stable name, and the stage that decides it.
        severity, remedy: How serious it is, and what to do.
        title: What it means in a few words, without a full stop.
        rank: See `FindingKind`; two codes of one severity never share it.
        unedited, overridable, continuing, of_sink, of_pending, heading, beside: See `FindingKind`.
        stream, engine, needs, amount: See `DeclaredFinding`.
    """

    def declared(decide: Callable[P, Iterator[Said]]) -> DeclaredFinding[P]:
        check = DeclaredFinding(
            code=code,
            severity=severity,
            title=title,
            remedy=remedy,
            rank=rank,
            stage=stage,
            unedited=unedited,
            overridable=overridable,
            continuing=continuing,
            of_sink=of_sink,
            of_pending=of_pending,
            heading=heading,
            beside=beside,
            page=f"docs/findings/{code}.md",
            decide=decide,
            stream=stream,
            engine=engine,
            needs=frozenset(needs),
            amount=amount,
        )
        _declare(check)
        return check

    return declared


def _declare(check: DeclaredFinding[...]) -> None:
    """Put a finding into the register.

    Raises:
        RuntimeError: The code is declared twice, or after the register was closed.
    """
    code, module = check.code, check.decide.__module__
    if code in _declared:
        raise RuntimeError(f"{code} is declared twice: in {_declared[code].decide.__module__}, {module}")
    if findings.cache_info().currsize:
        raise RuntimeError(f"{code} is declared after the register was read: import {module} in builtin")
    _declared[code] = check


@cache
def findings() -> Mapping[str, DeclaredFinding[...]]:
    """Return every finding by its code, the most serious first."""
    declare_findings()
    severities = list(Severity)
    declared_findings = sorted(
        _declared.values(), key=lambda check: (severities.index(check.severity), check.rank, check.code)
    )
    return MappingProxyType({check.code: check for check in declared_findings})


@cache
def decided(stage: Stage, situation: Situation | None = None) -> tuple[DeclaredFinding[...], ...]:
    """Return the findings of one stage, the most serious first; with a situation, only those to call in it."""
    checks = (check for check in findings().values() if check.stage is stage)
    if situation is None:
        return tuple(checks)
    return tuple(
        check
        for check in checks
        if check.stream in ("", situation.stream)
        and check.engine in ("", situation.engine)
        and check.needs <= situation.facts
    )


def describe(code: str) -> FindingKind:
    """Return the kind of a code.

    One that only a later release knows blocks: it may be serious.

    >>> describe("LOSS_INSIDE_LOG").severity.value
    'blocks'
    """
    return findings().get(code) or FindingKind(
        code=code,
        severity=Severity.BLOCKS,
        title="A finding that this release does not know",
        remedy="Use the release of Offsetwise that wrote the file.",
    )


def worded(problem: Problem, terms: Mapping[str, str], *, names: Iterable[str] = ()) -> Problem:
    """Return a problem in the terms of a stream; one about a sink unchanged.

    Args:
        problem: In Kafka's terms.
        terms: See `in_words`.
        names: See `in_words`.
    """
    if not terms or (kind := describe(problem.code)).of_sink:
        return problem
    message, fix = (in_words(text, terms, names=names) for text in (problem.message, problem.fix or kind.remedy))
    return replace(problem, message=message, fix=fix)


def blocks_translated(code: str) -> bool:
    """Return whether a code blocks a job with translated offsets; other blocking codes are about unchanged ones.

    >>> blocks_translated("TOPIC_RECREATED"), blocks_translated("LOSS_INSIDE_LOG")
    (True, False)
    """
    return severity_of(code) is Severity.BLOCKS and not describe(code).unedited


def severity_of(code: str) -> Severity:
    """Return the severity of a code, without importing modules if it is already declared."""
    return (_declared.get(code) or describe(code)).severity
