"""Ranges of offsets of many Kafka partitions, read by a consumer that leaves no trace (group, commit, topic).

Shipped to Spark's workers, so it imports only what they have.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from offsetwise.client_properties import masked
from offsetwise.position import OfPartition, TopicPartition

STALL_S: Final = 30.0
"""How long a cluster may be silent before that is an error."""
_STALL_AGAIN_S: Final = 5.0
"""The same for a cluster that was silent before, so that many partitions of a dead broker do not take hours."""
_POLL_S: Final = 0.1
_MESSAGES: Final = 1_000
_LOG: Final = logging.getLogger("offsetwise.kafka")
_LOG.addHandler(logging.NullHandler())
Made = TypeVar("Made")
"""The converted record."""


def consumer_configuration(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration of a consumer that leaves no trace: no commit, no group membership, no new topic."""
    return {
        "client.id": "offsetwise",
        **properties,
        "group.id": "offsetwise-reads-without-group",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "allow.auto.create.topics": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_uncommitted",
        "fetch.wait.max.ms": 50,
        "error_cb": lambda error: _LOG.debug("%s", masked(str(error))),
    }


class RangeFailure(StrEnum):
    REFUSED = "refused"
    """Rejected by TLS, SASL or ACLs."""
    SILENT = "silent"
    """No broker answered."""
    GONE = "gone"
    """The topic or partition does not exist."""
    CUT_BACK = "cut back"
    """The log ends below the window."""


@dataclass(frozen=True, slots=True)
class Range(OfPartition):
    """The offsets `[start, end)` of one partition that one task needs."""

    task: int
    topic: str
    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unread:
    failure: RangeFailure
    message: str


@dataclass(slots=True)
class _Run(Generic[Made]):
    """Ranges of one partition that overlap or touch: they are read from `start` to `end`, once."""

    start: int
    end: int
    ranges: list[Range]
    offsets: list[int] = field(default_factory=list)
    """The offsets of the records read so far, ascending."""
    records: list[Made] = field(default_factory=list)

    def of(self, span: Range) -> list[Made]:
        return self.records[bisect_left(self.offsets, span.start) : bisect_left(self.offsets, span.end)]


class RangeReader(Generic[Made]):
    """One consumer of one cluster, with the ranges that it still has to read.

    Args:
        configuration: The configuration of a consumer that leaves no trace.
        converter: Converts a message to the retained record.
    """

    def __init__(self, configuration: Mapping[str, Any], converter: Callable[[Any], Made]) -> None:
        from confluent_kafka import Consumer  # noqa: PLC0415 - not on all workers

        self._convert = converter
        self._errors: deque[Any] = deque(maxlen=100)
        self._consumer = Consumer({**configuration, "error_cb": self._errors.append}, logger=_LOG)
        self._ahead: dict[TopicPartition, list[_Run[Made]]] = {}
        self._results: defaultdict[int, list[Made]] = defaultdict(list)
        self._same: dict[int, int] = {}
        """Tasks with the same range as another one, by the number of that one."""
        self._patience_s = STALL_S
        self.unread: dict[int, Unread] = {}
        """By task: why a partition that it needs could not be read."""

    def begin(self, ranges: Iterable[Range]) -> None:
        """Start to fetch; overlapping or adjacent ranges of one partition are read once."""
        of_partition: defaultdict[TopicPartition, list[Range]] = defaultdict(list)
        first: dict[Range, int] = {}
        self._same = {}
        for span in ranges:
            leader = first.setdefault(replace(span, task=0), span.task)
            if leader != span.task:
                self._same[span.task] = leader
            elif span.start < span.end:
                of_partition[span.topic_partition].append(span)
        self._ahead = {key: _meeting(some) for key, some in of_partition.items()}
        self._results = defaultdict(list)
        self.unread = {}
        self._consumer.assign([self._at(key, runs[0].start) for key, runs in self._ahead.items()])

    def finish(self) -> Mapping[int, Sequence[Made]]:
        """Return the records of every task; an unreadable partition does not delay the others."""
        heard = time.monotonic()
        while self._ahead:
            # With a larger number the client would wait until it has as many messages.
            messages = self._consumer.consume(_MESSAGES, timeout=0) or self._next()
            finished = self._take(messages)
            if finished:
                self._consumer.incremental_unassign([self._at(key) for key in finished])
                for key in finished:
                    run = self._ahead[key].pop(0)
                    self._results.update({span.task: run.of(span) for span in run.ranges})
                following = [key for key in finished if self._ahead[key]]
                self._consumer.incremental_assign([self._at(key, self._ahead[key][0].start) for key in following])
                self._ahead = {key: runs for key, runs in self._ahead.items() if runs}
            if any(message.error() is None for message in messages) or finished:
                heard = time.monotonic()
            self._give_up(time.monotonic() - heard)
        self._consumer.unassign()
        for task, leader in self._same.items():
            self._results[task] = self._results[leader]
            if leader in self.unread:
                self.unread[task] = self.unread[leader]
        return self._results

    def close(self) -> None:
        self._consumer.close()

    def _next(self) -> list[Any]:
        message = self._consumer.poll(_POLL_S)
        return [] if message is None else [message]

    def _take(self, messages: Iterable[Any]) -> set[TopicPartition]:
        finished: set[TopicPartition] = set()
        for (topic, partition), some in groupby(messages, key=lambda message: (message.topic(), message.partition())):
            key = TopicPartition(topic, partition)
            if key in self._ahead and key not in finished and self._finish(key, some):
                finished.add(key)
        return finished

    def _finish(self, key: TopicPartition, messages: Iterable[Any]) -> bool:
        run = self._ahead[key][0]
        start, end, converter = run.start, run.end, self._convert
        for message in messages:
            if message.error() is not None:
                said = self._said(message, start, end)
                if isinstance(said, Unread):
                    self._leave(key, said)
                    return False
                if said:
                    return True
                continue
            offset = message.offset()
            if start <= offset < end:
                run.offsets.append(offset)
                run.records.append(converter(message))
            if offset >= end - 1:
                return True
        return False

    def _said(self, message: Any, start: int, end: int) -> bool | Unread:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - not on all workers

        error, where = message.error(), TopicPartition(message.topic(), message.partition())
        if error.code() == KafkaError._PARTITION_EOF:
            # A new leader may report a lower end for a moment: if the range is incomplete, wait for it.
            return bool(message.offset() >= end)
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            try:
                low, high = self._consumer.get_watermark_offsets(self._at(where), STALL_S)
            except KafkaException as failed:
                self._errors.append(failed.args[0])
                return False
            if start < low:
                return True  # retention passed it: the caller reads the log starts again
            return Unread(RangeFailure.CUT_BACK, f"{where} ends at {high:,}, and {start:,} to {end:,} was to be read")
        if (failure := _failures().get(error.code())) is not None:
            return Unread(failure, f"{where}: {error.str()}")
        self._errors.append(error)
        return False

    def _give_up(self, silent_s: float) -> None:
        refused = next((error for error in self._errors if error.code() in _failures()), None)
        silent = silent_s > self._patience_s
        if refused is None and not silent:
            return
        for partition in [*self._ahead]:
            if refused is not None:
                self._leave(partition, Unread(_failures()[refused.code()], refused.str()))
            else:
                said = f"; {self._errors[-1].str()}" if self._errors else ""
                message = f"nothing of {partition} came within {self._patience_s:.0f} s{said}"
                self._leave(partition, Unread(RangeFailure.SILENT, message))
        if silent:
            self._patience_s = min(STALL_S, _STALL_AGAIN_S)

    def _leave(self, key: TopicPartition, why: Unread) -> None:
        self.unread |= {span.task: why for run in self._ahead.pop(key) for span in run.ranges}
        self._consumer.incremental_unassign([self._at(key)])

    def _at(self, key: TopicPartition, offset: int = 0) -> Any:
        from confluent_kafka import TopicPartition as Place  # noqa: PLC0415 - not on all workers

        return Place(*key, offset)


def _meeting(ranges: Iterable[Range]) -> list[_Run[Any]]:
    """Return the runs of overlapping or touching ranges of one partition, ascending."""
    runs: list[_Run[Any]] = []
    for span in sorted(ranges, key=lambda span: (span.start, span.end)):
        if runs and span.start <= runs[-1].end:
            runs[-1].end = max(runs[-1].end, span.end)
            runs[-1].ranges.append(span)
        else:
            runs.append(_Run(span.start, span.end, [span]))
    return runs


def _failures() -> dict[int, RangeFailure]:
    """Return librdkafka's error codes after which nothing more will arrive; it retries after all others."""
    from confluent_kafka import KafkaError  # noqa: PLC0415 - not on all workers

    return {
        KafkaError._AUTHENTICATION: RangeFailure.REFUSED,
        KafkaError.SASL_AUTHENTICATION_FAILED: RangeFailure.REFUSED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED: RangeFailure.REFUSED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: RangeFailure.REFUSED,
        KafkaError._UNKNOWN_TOPIC: RangeFailure.GONE,
        KafkaError._UNKNOWN_PARTITION: RangeFailure.GONE,
        KafkaError.UNKNOWN_TOPIC_OR_PART: RangeFailure.GONE,
    }
