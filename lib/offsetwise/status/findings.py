from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.findings import Stage, finding
from offsetwise.findings.register import findings
from offsetwise.model import Finding, Severity, Subject
from offsetwise.wording import clock, duration, first_of, many

_NAMED: Final = 5
"""How many names a sentence lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveOfJobs:
    name: str
    after: tuple[str, ...]
    not_before_ms: int | None
    window_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOfMigration:
    job: Subject
    waves: tuple[str, ...]
    """All waves that name it."""
    reads: frozenset[str]
    """Its topics on the old cluster; empty if they could not be read."""
    produces: frozenset[str]
    """The topics of the old cluster that it writes, as the migration file states."""
    groups: tuple[str, ...]
    """The consumer groups that it commits to."""
    moved_ms: int | None = None
    """When its positions last moved, epoch ms; None if unknown."""
    active: bool | None = None
    """Whether it moves its positions now; None if unknown."""

    @property
    def wave(self) -> str | None:
        return self.waves[0] if self.waves else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeCase:
    """A migration as a whole. A topic that was not read is in neither mapping."""

    waves: tuple[WaveOfJobs, ...]
    """In the order in which they begin."""
    jobs: tuple[JobOfMigration, ...]
    copies: Mapping[str, str]
    """The name of each topic on the new cluster, by its old name."""
    lacking: frozenset[str]
    """Old names of topics that the new cluster reported as missing."""
    unread: frozenset[str]
    """Topics of the old cluster that no job of the migration reads, without those of Kafka and its tools."""
    now_ms: int
    """When the clusters were read."""
    retention: Mapping[str, int]
    """By old name, the shorter `retention.ms` of both clusters, without topics that keep records for ever."""

    def wave(self, name: str | None) -> WaveOfJobs | None:
        return next((wave for wave in self.waves if wave.name == name), None)

    def rank(self, job: JobOfMigration) -> int:
        names = [wave.name for wave in self.waves]
        return names.index(job.wave) if job.wave in names else len(names)


def judge_whole(case: WholeCase) -> tuple[Finding, ...]:
    """Return the findings about a migration as a whole, the most serious first."""
    kinds = [kind for kind in findings().values() if kind.stage is Stage.WHOLE]
    kinds.sort(key=lambda kind: (list(Severity).index(kind.severity), kind.rank))
    return tuple(kind.finding(problem.message, fix=problem.fix) for kind in kinds for problem in kind(case))


def _listed(names: Iterable[object]) -> str:
    return first_of(sorted(map(str, names)), _NAMED)


@finding(
    code="JOB_IN_TWO_WAVES",
    severity=Severity.BLOCKS,
    title="A job belongs to two waves",
    remedy="Name the job in one of the waves only.",
    rank=1310,
    stage=Stage.WHOLE,
)
def job_in_two_waves(case: WholeCase) -> Iterator[str]:
    """The patterns of two waves name one job, which would be moved twice."""
    for job in case.jobs:
        if len(job.waves) > 1:
            yield f"{job.job} is named by the waves {', '.join(job.waves)}."


@finding(
    code="JOB_IN_NO_WAVE",
    severity=Severity.WARNS,
    title="A job belongs to no wave",
    remedy="Name the jobs in a wave, or remove them from the migration file if they do not move.",
    rank=1310,
    stage=Stage.WHOLE,
)
def job_in_no_wave(case: WholeCase) -> Iterator[str]:
    unassigned = [job.job for job in case.jobs if not job.waves]
    if case.waves and unassigned:
        yield f"{many(len(unassigned), 'job')} of {len(case.jobs):,} in no wave: {_listed(unassigned)}."


@finding(
    code="WAVE_ORDER",
    severity=Severity.WARNS,
    title="A wave may begin before the one that it comes after has ended",
    remedy="State a later `not_before`, or a shorter `window` of the wave before.",
    rank=1320,
    stage=Stage.WHOLE,
)
def wave_order(case: WholeCase) -> Iterator[str]:
    for wave in case.waves:
        for name in wave.after:
            before = case.wave(name)
            if before is None or before.not_before_ms is None or wave.not_before_ms is None:
                continue
            ends_ms = before.not_before_ms + (before.window_ms or 0)
            if wave.not_before_ms < ends_ms:
                what = "may take until" if before.window_ms else "may not begin before"
                yield (
                    f"Wave {wave.name} may begin at {clock(wave.not_before_ms)}, but {name}, which it comes after, "
                    f"{what} {clock(ends_ms)}."
                )


@finding(
    code="PRODUCER_MISSES_READER",
    severity=Severity.BLOCKS,
    title="A job moves before one that reads what it writes",
    remedy="Move the reader in the same wave or before, or mirror the topic back to the old cluster until it has "
    "moved.",
    rank=1320,
    stage=Stage.WHOLE,
)
def producer_misses_reader(case: WholeCase) -> Iterator[str]:
    """A producer of an earlier wave writes to the new cluster while a reader of a later one is on the old."""
    for producer in case.jobs:
        for topic in sorted(producer.produces):
            later = [
                job
                for job in case.jobs
                if topic in job.reads and job is not producer and case.rank(job) > case.rank(producer)
            ]
            if later:
                waves = ", ".join(dict.fromkeys(_wave(job) for job in later))
                yield (
                    f"{producer.job} ({_wave(producer)}) writes {topic}, which {_listed(job.job for job in later)} "
                    f"({waves}) still read on the old cluster: they miss what it writes to the new one."
                )


def _wave(job: JobOfMigration) -> str:
    return "no wave" if job.wave is None else f"wave {job.wave}"


@finding(
    code="GROUP_SHARED",
    severity=Severity.WARNS,
    title="Two jobs share a consumer group",
    remedy="Find out whose commits the group has: one job's stand for the other's positions. Give one of them a group "
    "of its own before it moves.",
    rank=1330,
    stage=Stage.WHOLE,
)
def group_shared(case: WholeCase) -> Iterator[str]:
    jobs: dict[str, list[Subject]] = {}
    for job in case.jobs:
        for group in dict.fromkeys(job.groups):
            jobs.setdefault(group, []).append(job.job)
    for group, sharing in sorted(jobs.items()):
        if len(sharing) > 1:
            yield f"Group {group} is the group of {_listed(sharing)}."


@finding(
    code="TOPIC_NOT_MIRRORED",
    severity=Severity.BLOCKS,
    title="A topic of a job is not on the new cluster",
    remedy="Mirror the topic, or correct its new name under `topics` in the migration file.",
    rank=1330,
    stage=Stage.WHOLE,
)
def topic_not_mirrored(case: WholeCase) -> Iterator[str]:
    users = Counter(topic for job in case.jobs for topic in job.reads | job.produces if topic in case.lacking)
    for topic, count in sorted(users.items()):
        new = case.copies.get(topic, topic)
        renamed = "" if new == topic else f" as {new}"
        yield f"{topic} is not on the new cluster{renamed}, and {many(count, 'job')} of the migration use it."


@finding(
    code="TOPIC_UNREAD",
    severity=Severity.INFORMS,
    title="No job of the migration reads a topic",
    remedy="Look for readers that the migration file does not name: offsetwise init --update finds groups and "
    "checkpoints.",
    rank=1350,
    stage=Stage.WHOLE,
)
def topic_unread(case: WholeCase) -> Iterator[str]:
    if case.unread:
        yield f"{many(len(case.unread), 'topic')} of the old cluster read by no job: {_listed(case.unread)}."


@finding(
    code="WAVE_AFTER_RETENTION",
    severity=Severity.WARNS,
    title="Records expire before their wave has ended",
    remedy="Move the wave earlier, let the jobs read on until then, or raise retention.ms of the topics on both "
    "clusters.",
    rank=1340,
    stage=Stage.WHOLE,
)
def wave_after_retention(case: WholeCase) -> Iterator[str]:
    """A job is stopped for longer than a topic keeps records, until its wave may end."""
    for job in case.jobs:
        wave = case.wave(job.wave)
        if wave is None or wave.not_before_ms is None:
            continue
        begins_ms, window_ms = max(wave.not_before_ms, case.now_ms), wave.window_ms or 0
        # A running job is stopped when its wave begins; a stopped one reads no record any more.
        since_ms = job.moved_ms if job.active is False and job.moved_ms is not None else begins_ms
        still_ms = begins_ms + window_ms - since_ms
        short = {topic: case.retention[topic] for topic in job.reads & case.retention.keys()}
        short = {topic: kept_ms for topic, kept_ms in short.items() if kept_ms < still_ms}
        if short:
            topic = min(short, key=lambda name: (short[name], name))
            yield (
                f"{job.job} may stand still for {duration(still_ms)} until wave {wave.name} has ended, and "
                f"{topic} keeps records for {duration(short[topic])}."
                + (f" {many(len(short) - 1, 'more topic')} likewise." if len(short) > 1 else "")
            )


def waits_of(wave: WaveOfJobs, caught_up: Mapping[str, tuple[int, int]], now_ms: int) -> tuple[str, ...]:
    """Return what a wave waits for, a sentence each.

    Args:
        wave: The wave.
        caught_up: By the name of a wave, how many of its jobs have caught up, and how many it has.
        now_ms: The current time, epoch ms.
    """
    sentences = []
    if wave.not_before_ms is not None and wave.not_before_ms > now_ms:
        sentences.append(f"It may not begin before {clock(wave.not_before_ms)}.")
    for name in wave.after:
        done, total = caught_up.get(name, (0, 0))
        if done < total:
            sentences.append(f"Wave {name} comes first: {done:,} of {many(total, 'job')} caught up.")
    return tuple(sentences)
