"""Comparisons made from values, as the workflow hands them to the console."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import Final

from offsetwise.findings import describe
from offsetwise.model import (
    Ahead,
    BelongsTo,
    Candidate,
    Checkpoint,
    CheckpointSource,
    Cluster,
    ClusterRef,
    Comparison,
    Evidence,
    Exactness,
    Finding,
    LogRange,
    Method,
    Neighbour,
    PartitionComparison,
    RawReuse,
    RawVerdict,
    RestartPoint,
    Severity,
    Side,
    SourcePosition,
    Summary,
)
from offsetwise.plugins.spark.engine.details import SparkDetails

HTML: Final = "<img src=x onerror=alert(1)>"
FORMULA: Final = "=cmd()"
MARKDOWN: Final = "a|b*c_d[e](f)"
BIDI: Final = "or\u202eders\u200f-\u05d0"
HOSTILE: Final = (HTML, FORMULA, MARKDOWN, BIDI)
UNEXAMINED: Final = Ahead(examined=False)


def neighbours(old: int | None, new: int | None, *, around: int = 3) -> tuple[Neighbour, ...]:
    return tuple(
        Neighbour(
            old_offset=None if old is None else old + step,
            new_offset=None if new is None else new + step,
            timestamp_ms=1_767_355_200_000 + step * 500,
            identity=hashlib.sha256(f"{old}{new}{step}".encode()).hexdigest()[:32],
            side=Side.READ if step < 0 else Side.UNREAD,
        )
        for step in range(-around, around)
    )


def partition(
    topic: str = "orders",
    number: int = 0,
    *,
    old: int | None = 1050,
    new: int | None = 950,
    exactness: Exactness = Exactness.EXACT,
    method: Method = Method.CONTENT,
    raw: RawReuse | None = None,
    bounds: tuple[int | None, int | None] | None = None,
    old_log: tuple[int | None, int | None] = (100, 1200),
    new_log: tuple[int | None, int | None] = (0, 1100),
    ahead: Ahead | None = None,
    replay: int | None = 0,
    skip: int | None = 0,
    findings: tuple[str, ...] = (),
    reason: str = "6 of 6 neighbours align.",
    statements: tuple[str, ...] = (),
    mirror_maker: int | None = None,
    candidates: tuple[Candidate, ...] = (),
) -> PartitionComparison:
    return PartitionComparison(
        source="0",
        topic=topic,
        partition=number,
        old_offset=old,
        new_topic=topic,
        new_offset=new,
        exactness=exactness,
        method=method,
        restart=() if old is None else (RestartPoint(batch=6, old=old, new=new),),
        bounds=(new, new) if bounds is None else bounds,
        replay=replay,
        skip=skip,
        foreign_below=0 if exactness.proven else None,
        counted=exactness.proven,
        ahead=ahead or Ahead(examined=True, missing=0, duplicated=0, foreign=0),
        old=LogRange(log_start=old_log[0], lso=old_log[1], hw=old_log[1]),
        new=LogRange(log_start=new_log[0], lso=new_log[1], hw=new_log[1]),
        lag_old=None if old is None or old_log[1] is None else old_log[1] - old,
        lag_new=None if new is None or new_log[1] is None else new_log[1] - new,
        mirror_maker=mirror_maker,
        raw=raw or RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=0),
        findings=findings,
        evidence=Evidence(
            reason=reason,
            statements=statements,
            neighbours=neighbours(old, new),
            at_raw=() if old is None else neighbours(old + 100, old),
            candidates=candidates,
            anchors_before=64,
            anchors_after=64,
            old_records_read=128,
            new_records_read=320,
            identity="timestamp, key, value and headers",
            salt="00" * 16,
        ),
    )


def untranslated(
    topic: str, *, old: int, ends: tuple[int, int], verdict: RawVerdict, reason: str, finding: str
) -> PartitionComparison:
    """A row without an answer, on logs that begin at 0 and end at `ends`."""
    return partition(
        topic,
        old=old,
        new=None,
        exactness=Exactness.UNKNOWN,
        method=Method.NONE,
        replay=None,
        skip=None,
        old_log=(0, ends[0]),
        new_log=(0, ends[1]),
        raw=RawReuse(verdict=verdict),
        ahead=UNEXAMINED,
        reason=reason,
        findings=(finding,),
    )


def reference_rows() -> tuple[PartitionComparison, ...]:
    """The cases everybody starts from: one of each verdict."""
    return (
        partition(
            statements=(
                "6 of 6 neighbours align in order: time, key, value and headers are equal.",
                "64 unique records before and 64 after the cut stand in the same order on both clusters.",
                "The mirror's bracket [911, 951] contains it.",
                "All 150 records ahead are on the new cluster, none twice, none foreign.",
            ),
            findings=("LOSS_INSIDE_LOG",),
            mirror_maker=911,
            candidates=(
                Candidate(
                    method=Method.MIRROR_SYNC,
                    lo=911,
                    hi=951,
                    said_by="14 of 15 syncs kept; floor (1010, 910), ceiling (1051, 951).",
                ),
                Candidate(method=Method.TIMESTAMP, lo=950, hi=950, said_by="2026-01-02T12:00:00.000Z is first at 950."),
            ),
        ),
        partition(
            number=1,
            old=1004,
            new=904,
            old_log=(100, 1190),
            new_log=(0, 1140),
            findings=("LOSS_INSIDE_LOG", "FOREIGN_AHEAD"),
            exactness=Exactness.POSITION_EXACT,
            ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=50),
        ),
        partition(
            number=2,
            old=998,
            new=998,
            old_log=(0, 1150),
            new_log=(0, 1150),
            exactness=Exactness.PRESERVED,
            method=Method.PRESERVED,
            raw=RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0),
        ),
        partition(
            "payments",
            old=176,
            new=160,
            old_log=(0, 176),
            new_log=(0, 160),
            raw=RawReuse(verdict=RawVerdict.OUT_OF_RANGE),
            findings=("LOSS_BEYOND_END",),
        ),
        partition(
            "beats",
            old=1500,
            new=1440,
            exactness=Exactness.BOUNDED,
            bounds=(1440, 1500),
            replay=60,
            old_log=(0, 3000),
            new_log=(0, 2940),
            raw=RawReuse(verdict=RawVerdict.LOSS, skip=60, replay=0),
            reason="60 identical heartbeats lie on both sides of the position.",
            findings=("REPLAY_NOT_TOLERATED",),
            ahead=UNEXAMINED,
        ),
        untranslated(
            "audit",
            old=612,
            ends=(700, 690),
            verdict=RawVerdict.UNKNOWN,
            reason="No neighbour of 612 was found on the new cluster.",
            finding="UNTRANSLATED",
        ),
        untranslated(
            "clicks",
            old=4400,
            ends=(5200, 5100),
            verdict=RawVerdict.CONFUSION,
            reason="The record at 4400 differs on the two clusters.",
            finding="CONFUSION",
        ),
        partition(
            number=3,
            old=None,
            new=0,
            method=Method.EARLIEST,
            old_log=(None, None),
            new_log=(0, 40),
            raw=RawReuse(verdict=RawVerdict.UNKNOWN),
            findings=("NEW_PARTITION",),
            reason="The checkpoint has no position for it; it starts at the log start.",
        ),
    )


def with_others_below() -> PartitionComparison:
    """Records that the old log does not explain stand below the position: it is bounded, both answers counted."""
    return replace(
        partition("orders", 0),
        exactness=Exactness.BOUNDED,
        method=Method.CONTENT,
        counted=True,
        new_offset=940,
        bounds=(940, 950),
        replay=8,
        skip=0,
        foreign_below=2,
        ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
    )


def misfits() -> Comparison:
    """On the new cluster a topic is missing, one has fewer partitions, and one was made again."""
    rows = tuple(
        untranslated(topic, old=612, ends=(700, 50), verdict=RawVerdict.UNKNOWN, reason="", finding=code)
        for topic, code in (
            ("audit", "TOPIC_MISSING"),
            ("clicks", "PARTITIONS_FEWER"),
            ("orders", "TOPIC_RECREATED"),
        )
    )
    missing, _, again = rows
    return replace(
        comparison(rows),
        findings=(
            describe("TOPIC_MISSING").finding(
                "The new cluster has no topic audit.", topic=missing.topic, partition=missing.partition
            ),
            describe("PARTITIONS_FEWER").finding(
                "clicks has 4 partitions on old and 2 on new: 2 partitions cannot continue.",
                topic="clicks",
            ),
            describe("TOPIC_RECREATED").finding(
                "The mirror wrote old offset 600 to 600, but the new log ends at 50: it was deleted and made again, "
                "or cut.",
                topic=again.topic,
                partition=again.partition,
            ),
        ),
    )


def many_rows(count: int, *, per_topic: int = 250) -> tuple[PartitionComparison, ...]:
    """Ten thousand and more, of every kind, with offsets that differ from row to row."""
    patterns = reference_rows()[:7]
    return tuple(
        replace(
            patterns[(index * 5 + index // per_topic) % len(patterns)],
            topic=f"topic-{index // per_topic:03d}",
            new_topic=f"topic-{index // per_topic:03d}",
            partition=index % per_topic,
        )
        for index in range(count)
    )


def hostile_rows() -> tuple[PartitionComparison, ...]:
    return tuple(partition(name, findings=("LOSS_INSIDE_LOG",), statements=(f"{name} was read.",)) for name in HOSTILE)


def summary(rows: tuple[PartitionComparison, ...]) -> Summary:
    classes = Counter(row.exactness for row in rows)
    verdicts = Counter(row.raw.verdict for row in rows)
    proven = [row.raw for row in rows if row.exactness.proven]
    return Summary(
        partitions=len(rows),
        **{exactness.value.lower(): classes[exactness] for exactness in Exactness},
        blocked=sum("LOSS_INSIDE_LOG" in row.findings for row in rows),
        raw_wrong=len(rows) - verdicts[RawVerdict.SAME] - verdicts[RawVerdict.UNKNOWN],
        raw_out_of_range=verdicts[RawVerdict.OUT_OF_RANGE],
        raw_skip=sum(raw.skip or 0 for raw in proven),
        raw_replay=sum(raw.replay or 0 for raw in proven),
    )


def comparison(
    rows: tuple[PartitionComparison, ...] | None = None, *, migration: str = "sample", name: str = "orders"
) -> Comparison:
    made = reference_rows() if rows is None else rows
    findings = tuple(
        Finding(
            code=code,
            severity=Severity.BLOCKS,
            topic=row.topic,
            partition=row.partition,
            message=f"Resuming {row.topic_partition} at {row.old_offset} would step over records that were never read.",
            remedy=f"Resume at {row.new_offset}.",
        )
        for row in made
        for code in row.findings
    )
    return Comparison(
        migration=migration,
        checkpoint=Checkpoint(
            uri=f"file:///sample/checkpoints/{name}",
            engine="spark",
            job_id="2f8f4f0e-8a34-4a64-9f3c-0f3a51d0b7aa",
            details=SparkDetails(last_planned_batch=7, last_committed_batch=6, reruns_batch=7),
            restart="Batch 7 was planned and not committed: it runs again, from where batch 6 ended.",
            sources=(
                CheckpointSource(
                    index=0,
                    id="0",
                    kind="kafka",
                    positions=tuple(
                        SourcePosition(topic=row.topic, partition=row.partition, offset=row.old_offset)
                        for row in made[:50]
                        if row.old_offset is not None
                    ),
                ),
            ),
        ),
        group=None,
        taken_at="2026-01-02T14:02:11Z",
        belongs_to=BelongsTo(cluster=Cluster.OLD, reason="All positions lie inside the old cluster's logs."),
        old=ClusterRef(name="prod-a", cluster_id="4L6g3nShT-eMCtK--X86sw", taken_at="2026-01-02T14:02:11Z"),
        new=ClusterRef(name="prod-b", cluster_id="Qm8f0pXWQ9uJb1cS0yYw5A", taken_at="2026-01-02T14:02:12Z"),
        partitions=made,
        findings=findings,
        summary=summary(made),
    )
