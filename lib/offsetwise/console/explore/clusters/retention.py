"""When retention reaches the positions: checkpoints and groups on the old cluster, groups on the new one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import Final

import streamlit as st

from offsetwise.clusters.retention import ReaderPosition, RetentionDeadline, RetentionMethod, deadline
from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.explore.clusters.summary import HeldCluster
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, evidence, table, terms
from offsetwise.console.widgets.blocks import Offer, draw_answer
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.lag.moments import Moment
from offsetwise.model import Cluster, TopicPartition
from offsetwise.position import offset_or_none
from offsetwise.wording import many

Starts = dict[TopicPartition, Moment]
_CLUSTERS: Final = 16
_lock: Final = threading.Lock()
_readings: Final[OrderedDict[tuple[str, Cluster], list[tuple[int, Starts]]]] = OrderedDict()


def draw(answers: Answers, migration: Offered, answers_by_side: dict[Cluster, HeldCluster | None]) -> None:
    blocks.section("When retention reaches the positions")
    st.markdown(
        ":gray[The earliest time at which the record at a position can be deleted: its own timestamp and retention.ms, "
        "else the rate at which the log start moved between two readings.]"
    )
    for side, read in answers_by_side.items():
        if read is None:
            continue
        with guard.block(f"retention-{side}"):
            st.markdown(f"**{'● old' if side is Cluster.OLD else '◆ new'}**")
            _of_cluster(answers, migration, side, read)


def _of_cluster(answers: Answers, migration: Offered, side: Cluster, read: HeldCluster) -> None:
    remember(migration.name, side, read)
    known: CachedAnswer[tuple[ReaderPosition, ...]] | None = None
    if not migration.recorded:
        offer = Offer(
            what=terms.said(f"the records at the positions on the {side} cluster"),
            now="Read the records at the positions",
            again="Read the records again",
            icon=":material/schedule:",
            key=f"standings-{side}",
        )
        known = draw_answer(answers, Question.of(Reader.standings, migration.name, side), offer)
    if not (_committed(read) if known is None else known.value):
        st.markdown(
            terms.said("No position is known here: no group of the migration committed anything on this cluster.")
        )
        return
    deadlines = _deadlines(migration.name, side, read, known)
    table.show(
        DEADLINES,
        deadlines[: table.PAGE_ROWS],
        alt=f"When retention reaches {many(len(deadlines), 'position')}, soonest first, and how that is known.",
    )
    # A deadline without a limit names its method itself.
    named = [
        "" if retention_deadline.method is RetentionMethod.NEVER else retention_deadline.method.value
        for retention_deadline in deadlines
    ]
    evidence.notes(
        "How that is known",
        [(name, retention_deadline.why) for name, retention_deadline in zip(named, deadlines, strict=True)],
    )
    if len(deadlines) > table.PAGE_ROWS:
        st.markdown(f":gray[The soonest {table.PAGE_ROWS} of {many(len(deadlines), 'position')}.]")


@cached(16)
def _deadlines(
    migration: str, side: Cluster, read: HeldCluster, known: CachedAnswer[tuple[ReaderPosition, ...]] | None
) -> list[RetentionDeadline]:
    snapshot = read.value.snapshot
    topics, logs = {topic.name: topic for topic in snapshot.topics}, snapshot.partitions()
    deadlines = [
        deadline(
            recorded,
            topics.get(recorded.partition.topic),
            logs.get(recorded.partition),
            starts(migration, side, recorded.partition),
        )
        for recorded in (_committed(read) if known is None else known.value)
    ]
    return sorted(deadlines, key=_soonest)


def _soonest(deadline: RetentionDeadline) -> tuple[bool, int, str]:
    return deadline.at_ms is None, deadline.at_ms or 0, str(deadline.position.partition)


def _committed(read: HeldCluster) -> tuple[ReaderPosition, ...]:
    return tuple(
        ReaderPosition(
            of=f"group {group.name}",
            partition=offset.topic_partition,
            offset=offset.offset,
            record_ms=None,
        )
        for group in read.value.snapshot.groups
        for offset in group.offsets
    )


def remember(migration: str, side: Cluster, answer: HeldCluster) -> None:
    """Keep the log starts of a reading: of each cluster only those of the first and the newest reading."""
    with _lock:
        readings = _readings.setdefault((migration, side), [])
        if not any(answer.id == id_ for id_, _ in readings):
            readings.append((answer.id, _starts(answer)))
            del readings[1:-1]
        _readings.move_to_end((migration, side))
        while len(_readings) > _CLUSTERS:
            _readings.popitem(last=False)


def starts(migration: str, side: Cluster, partition: TopicPartition) -> tuple[Moment, ...]:
    """Return the log starts read of a partition, ascending in time; only the newest if the log began again."""
    with _lock:
        moments = [
            starts_of[partition] for _, starts_of in _readings.get((migration, side), []) if partition in starts_of
        ]
    return tuple(moments[-1:] if len(moments) > 1 and moments[-1].offset < moments[0].offset else moments)


def _starts(answer: HeldCluster) -> Starts:
    snapshot = answer.value.snapshot
    at_ms = int(datetime.fromisoformat(snapshot.taken_at).timestamp() * 1000)
    return {
        at: Moment(at_ms=at_ms, offset=start)
        for at, log in snapshot.partitions().items()
        if (start := offset_or_none(log.log_start)) is not None
    }


def _reached(deadline: RetentionDeadline) -> str | Time:
    if deadline.at_ms is not None:
        return Time(deadline.at_ms)
    return {"no limit": "never", "log start": "reached already"}.get(deadline.method.value, "?")


DEADLINES: Final[Columns[RetentionDeadline]] = (
    Column("position of", lambda retention_deadline: retention_deadline.position.of, 150),
    Column("topic", lambda retention_deadline: retention_deadline.position.partition.topic, 110),
    table.partition(lambda retention_deadline: retention_deadline.position.partition.partition),
    Column("offset", lambda retention_deadline: retention_deadline.position.offset),
    Column("reached from (UTC)", _reached, 180),
    Column("record time (UTC)", lambda retention_deadline: Time(retention_deadline.position.record_ms), 180),
    Column("method", lambda retention_deadline: retention_deadline.method.value, 90),
    Column("why", lambda retention_deadline: retention_deadline.why, 700),
)
