"""The jobs and topics of the lab's migration: what each job reads, and how it was stopped. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

MIGRATION: Final = "forty-jobs"
"""The name of the migration. A lab's folder has either this migration or the sample."""
FIRST: Final = 60
"""Records of each partition when the jobs that are far behind stop."""
SECOND: Final = 120
"""Records of each partition when all others stop, except consumer groups that stop earlier."""
END: Final = 140
"""Records of each partition when the mirrors have copied everything: no job has read those after `SECOND`."""
PER_TRANSACTION: Final = 10
ABORTED_EVERY: Final = 4
NATIVES: Final = 8
"""Foreign records in each partition of a polluted copy, at each of three times."""
START_MS: Final = 1_740_988_800_000
"""2025-03-03 08:00 UTC, as in the lab's sample."""
TICK_MS: Final = 1_500
KEYS: Final = 7
ROOT: Final = "checkpoints"
MOVED: Final = "moved"
"""The folder of the savepoints that jobs of Flink take on the new cluster."""
SHARED_GROUP: Final = "audit-trail"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabTopic:
    name: str
    deleted: tuple[int, ...]
    """By partition, how many records retention deletes before jobs and mirror begin, so that the copy has other
    offsets. In a topic with transactions, whole transactions."""
    renamed: bool = False
    """Whether the mirror prefixes its name with `old.`."""
    transactions: bool = False
    """Whether its records are written in transactions, of which some are aborted."""
    polluted: bool = False
    """Whether its copy gets foreign records."""

    @property
    def copy(self) -> str:
        return f"old.{self.name}" if self.renamed else self.name

    @property
    def starts(self) -> tuple[int, ...]:
        """By partition, the log start after the deletion; each transaction has a marker."""
        return tuple(count + (count // PER_TRANSACTION if self.transactions else 0) for count in self.deleted)


TOPICS: Final = {
    topic.name: topic
    for topic in (
        LabTopic(name="orders", deleted=(40, 20, 30)),
        LabTopic(name="payments", deleted=(20, 10), transactions=True),
        LabTopic(name="clicks", deleted=(30, 0), renamed=True),
        LabTopic(name="views", deleted=(25,), renamed=True),
        LabTopic(name="stock", deleted=(10, 20)),
        LabTopic(name="shipments", deleted=(5, 35)),
        LabTopic(name="prices", deleted=(20, 20), polluted=True),
        LabTopic(name="audit", deleted=(0,)),
    )
}


class JobKind(StrEnum):
    CHECKPOINT = "checkpoint"
    """A query of Spark, or a job of Flink, with positions in its checkpoint or savepoint."""
    GROUP = "group"
    """A plain consumer, with positions committed by its group."""


class Stop(StrEnum):
    DONE = "done"
    """It had read all records."""
    PENDING = "pending"
    """Inside a batch that it had planned; nothing of that batch is in its sink."""
    BEHIND = "behind"
    """Long before the log's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabJob:
    kind: JobKind
    name: str
    topics: tuple[str, ...]
    wave: str
    flink: bool = False
    """Whether it runs on Flink instead of Spark."""
    stateful: bool = False
    """Whether it counts by key, with state; others write each record as it is."""
    stop: Stop = Stop.DONE
    most: int | None = None
    """How many records a consumer reads before it is stopped; None if it reads all."""
    commits_to: str | None = None
    """The consumer group that a query commits its positions to, so that its lag can be watched."""

    @property
    def subject(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def file_name(self) -> str:
        return f"{self.kind}-{self.name}"

    @property
    def copies(self) -> tuple[str, ...]:
        return tuple(TOPICS[topic].copy for topic in self.topics)


PILOT: Final = "pilot"
CORE: Final = "core"
REST: Final = "rest"
WAVES: Final = (PILOT, CORE, REST)
_STATEFUL: Final = ("count", "totals")
"""Suffixes of the names of queries with state."""
_QUERIES: Final = {
    PILOT: ("orders-count", "orders-archive", "clicks-count", "payments-archive", "audit-archive"),
    CORE: (
        *("orders-totals", "orders-search", "orders-retry-count", "payments-count", "payments-fraud"),
        *("clicks-archive", "views-count", "stock-count", "stock-backfill", "prices-count"),
    ),
    REST: (
        *("shipments-count", "shipments-archive", "shipments-retry", "stock-archive", "views-archive"),
        *("audit-count", "payments-audit", "orders+payments-totals", "clicks+views-totals"),
    ),
}
"""By wave. A name begins with the topics that the query reads."""
_CONSUMERS: Final = {
    PILOT: ("orders-etl", "clicks-etl", "payments-etl"),
    CORE: ("orders-mail", "orders-alerts", "payments-mail", "stock-etl", "views-etl", "shipments-etl", "prices-etl"),
    REST: ("stock-alerts", "views-alerts", "shipments-backfill", "orders+stock-sync", "clicks+views-sync"),
}
_OF_FLINK: Final = ("clicks-count", "orders-search", "orders+payments-totals")
"""The queries that run on Flink instead of Spark, if there is a Flink: one of each wave."""
_PENDING: Final = "retry"
_BEHIND: Final = "backfill"
_SLOW: Final = ("mail", "sync")
_FEW: Final = 100
"""Records that a slow consumer has read."""


def jobs(*, flink: bool = False) -> tuple[LabJob, ...]:
    return tuple(job for wave in WAVES for job in _of_wave(wave, flink=flink))


def _of_wave(wave: str, *, flink: bool) -> Iterator[LabJob]:
    for name in _QUERIES[wave]:
        yield LabJob(
            kind=JobKind.CHECKPOINT,
            name=name.replace("+", "-and-"),
            topics=_topics(name),
            wave=wave,
            flink=flink and name in _OF_FLINK,
            stateful=name.endswith(_STATEFUL),
            stop=_stop(name),
            commits_to=SHARED_GROUP if name == "payments-audit" else None,
        )
    for name in _CONSUMERS[wave]:
        yield LabJob(
            kind=JobKind.GROUP,
            name=name.replace("+", "-and-"),
            topics=_topics(name),
            wave=wave,
            stop=_stop(name),
            most=_FEW if name.endswith(_SLOW) else None,
        )
    if wave == REST:
        yield LabJob(kind=JobKind.GROUP, name=SHARED_GROUP, topics=("audit",), wave=wave)


def _topics(name: str) -> tuple[str, ...]:
    return tuple(name.partition("-")[0].split("+"))


def _stop(name: str) -> Stop:
    words = name.split("-")
    return Stop.PENDING if _PENDING in words else Stop.BEHIND if _BEHIND in words else Stop.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRecord:
    topic: str
    partition: int
    timestamp_ms: int
    key: str
    serial: str
    """Unique identifier of the record."""
    aborted: bool = False

    @property
    def value(self) -> str:
        return json.dumps({"serial": self.serial})


def records_of(topic: LabTopic, first: int, end: int) -> Iterator[LabRecord]:
    """Yield the records of a topic with the numbers from `first` to `end`, exclusive, in each partition.

    In a topic with transactions, each has `PER_TRANSACTION` numbers of all partitions; `first` and `end` are multiples
    of that.
    """
    for number in range(first, end):
        aborted = topic.transactions and number // PER_TRANSACTION % ABORTED_EVERY == ABORTED_EVERY - 1
        for partition in range(len(topic.deleted)):
            yield LabRecord(
                topic=topic.name,
                partition=partition,
                timestamp_ms=START_MS + number * TICK_MS + partition,
                key=f"k{number * number % KEYS}",
                serial=f"{topic.name}-{partition}-{number:05}",
                aborted=aborted,
            )


def natives_of(topic: LabTopic, first: int) -> Iterator[LabRecord]:
    for number in range(first, first + NATIVES):
        for partition in range(len(topic.deleted)):
            yield LabRecord(
                topic=topic.copy,
                partition=partition,
                timestamp_ms=START_MS + number * TICK_MS,
                key="native",
                serial=f"native-{topic.name}-{partition}-{number:05}",
            )


def waves_of_file() -> list[dict[str, Any]]:
    names = {wave: [f"{job.kind}:{job.name}" for job in jobs() if job.wave == wave] for wave in WAVES}
    after = dict(zip(WAVES[1:], WAVES, strict=False))
    return [
        {"name": wave, "jobs": names[wave], **({"after": [after[wave]]} if wave in after else {})} for wave in WAVES
    ]


def traits_of(job: LabJob) -> dict[str, Any]:
    """Return what only people can state about a job, as the migration file's `job`."""
    if job.kind is JobKind.GROUP:
        return {"sink": "file", "tolerates_replay": False}
    if job.flink:
        own = f"./{MOVED}/{job.file_name}"
        stated = {"stateful": job.stateful, "sink": "file", "tolerates_replay": False, "sql": True}
        return stated | {"subscription_changeable": True, "new_checkpoint": own}
    shared = {"commits_to": job.commits_to} if job.commits_to else {}
    return {"stateful": job.stateful, "sink": "foreachBatch", "tolerates_replay": False, **shared}
