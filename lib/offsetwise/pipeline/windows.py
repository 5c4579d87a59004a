"""What runs on Spark's workers for narrow windows: one Kafka client of a task reads those of many partitions.

Shipped to the workers, so no import beyond what they have; librdkafka is used only where they have it
(`pipeline/shipping.py` asks them). Reading leaves no trace on a cluster: no group, no commit, no new topic. Keys,
values and headers are hashed as they come (`translation/identity.py`) and never leave the task.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from offsetwise.position import OfPartition, TopicPartition
from offsetwise.translation.header import origin
from offsetwise.translation.identify import Records
from offsetwise.translation.identity import content_hash, header_hash, masked_hash, record_size, schema_id
from offsetwise.translation.search import Span
from offsetwise.translation.worker import Log, Paired, Question, Task, answer

WINDOW_SCHEMA: Final = "task long, answer string, failed string, told string"
OFFSETS_AT_ONCE: Final = 200_000
"""Windows of a task are read in parts of about so many offsets, so that its memory has a bound."""
PARTITIONS_AT_ONCE: Final = 500
STALL_S: Final = 30.0
"""How long nothing may come from a cluster before its silence is an error."""
_STALL_AGAIN_S: Final = 5.0
"""The same of a cluster that was silent before, so that many partitions of a dead broker do not add up to hours."""
_POLL_S: Final = 0.1
_MESSAGES: Final = 1_000
_LOG: Final = logging.getLogger("offsetwise.kafka")
_LOG.addHandler(logging.NullHandler())


Made = TypeVar("Made")
"""What is kept of a record."""


class Failure(StrEnum):
    """Why windows could not be read."""

    REFUSED = "refused"
    """TLS, SASL or ACLs said no."""
    SILENT = "silent"
    """No broker answered."""
    GONE = "gone"
    """The topic or partition is not there."""
    CUT_BACK = "cut back"
    """The log ends below the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One task, and where its records are."""

    number: int
    old_topic: str
    new_topic: str
    partition: int
    task: Task

    def range_of(self, log: Log) -> Range:
        """Say what of a log it needs."""
        is_new = log is Log.NEW
        span = self.task.new if is_new else self.task.old
        return Range(self.number, self.new_topic if is_new else self.old_topic, self.partition, span.start, span.end)


@dataclass(frozen=True, slots=True)
class Range(OfPartition):
    """The offsets `[start, end)` of one partition that one task needs."""

    task: int
    topic: str
    partition: int
    start: int
    end: int


def row(tasks: Iterable[Asked]) -> str:
    """Write the tasks of one partition as a cell of the table that goes to the workers."""
    return json.dumps([asdict(each) for each in tasks])


def asked(found: dict[str, Any]) -> Asked:
    """Read an element of what `row` wrote."""
    task: dict[str, Any] = found.pop("task")
    task["question"] = Question(task["question"])
    task |= {name: Span(**task[name]) for name in ("old", "new", "old_whole", "new_whole")}
    return Asked(**found, task=Task(**task))


def answer_windows(clients: Mapping[Log, Mapping[str, Any]], salt: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Answer tasks from windows that are read here; the function that Spark maps over the table of tasks.

    Args:
        clients: The configuration of a consumer for each log to read.
        salt: Keys the hashes.
        batches: `pyarrow.RecordBatch`es with one column of `row`.

    Yields:
        `pyarrow.RecordBatch`es of `WINDOW_SCHEMA`: the answer (JSON); or why the partition could not be read, and a
        clause that says more; or neither, where only Spark's own source can read a record.
    """
    import pyarrow as pa  # noqa: PLC0415 - the workers have it, this module must load without it

    made = _Made(salt)
    readers = {log: Reader(configuration, made.record) for log, configuration in clients.items()}
    try:
        cells = (cell for batch in batches for cell in batch.column(0).to_pylist())
        for some in _parts(asked(each) for cell in cells for each in json.loads(cell)):
            try:
                rows = [*_answered(readers, some)]
            except UnicodeDecodeError:  # librdkafka's Python gives no header whose name is not UTF-8
                rows = [(each.number, None, None, None) for each in some]
            columns = zip(*rows, strict=True)
            types = (pa.int64(), pa.string(), pa.string(), pa.string())
            arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["task", "answer", "failed", "told"])
    finally:
        for reader in readers.values():
            reader.close()


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a partition could not be read, and a clause that says more."""

    failure: Failure
    told: str


def _parts(tasks: Iterable[Asked]) -> Iterator[list[Asked]]:
    part: list[Asked] = []
    spans: set[Range] = set()
    offsets = 0
    for each in tasks:
        new = {replace(each.range_of(log), task=0) for log in (Log.OLD, Log.NEW)} - spans
        size = sum(one.end - one.start for one in new)
        if part and (offsets + size > OFFSETS_AT_ONCE or len(part) == PARTITIONS_AT_ONCE):
            yield part
            part, spans, offsets = [], set(), 0
        part.append(each)
        spans |= new
        offsets += size
    if part:
        yield part


_NOTHING: Final[list[Any]] = []
_Row: TypeAlias = tuple[int, str | None, str | None, str | None]
"""Of `WINDOW_SCHEMA`."""


def _answered(readers: Mapping[Log, Reader[_Record]], tasks: Sequence[Asked]) -> Iterator[_Row]:
    for log, reader in readers.items():
        reader.begin([each.range_of(log) for each in tasks])
    logs = {log: reader.finish() for log, reader in readers.items()}
    shared: dict[tuple[int, ...], _Read] = {}
    for each in tasks:
        unread = next((one.unread[each.number] for one in readers.values() if each.number in one.unread), None)
        if unread is not None:
            yield each.number, None, unread.failure.value, unread.told
            continue
        old, new, aborted = (logs[log][each.number] if log in logs else _NOTHING for log in Log)
        key = id(old), id(new), id(aborted)
        read = shared[key] = shared.get(key) or _Read(old, new, aborted)
        given = answer(each.task, *read.records, origins=read.origins, paired=read.paired)
        yield each.number, json.dumps(asdict(replace(given, record_bytes=read.record_bytes))), None, None


class _Read:
    """The records of two spans, put together once for all tasks that want the same."""

    def __init__(self, old: Sequence[_Record], new: Sequence[_Record], aborted: Sequence[_Record]) -> None:
        self.records = _records(old), _records(new), _records(aborted)
        self.origins = {one.offset: one.origin for one in new if one.origin is not None}
        sizes = [-(-sum(one.size for one in some) // len(some)) for some in (old, new) if some]
        self.record_bytes = max(sizes, default=None)
        self.paired = Paired(*self.records)


class _Record(NamedTuple):
    """One record without its bytes: what `Records` has columns of, in their order, and what goes beside them."""

    offset: int
    timestamp: int | None
    log_append: bool
    content: bytes
    masked: bytes | None
    key_schema: int | None
    value_schema: int | None
    headers: tuple[tuple[str, bytes], ...]
    origin: int | None
    size: int


def _records(found: Sequence[_Record]) -> Records:
    return Records(**dict(zip(Records.__slots__, zip(*found, strict=True), strict=False))) if found else Records()


@dataclass(frozen=True, slots=True)
class _Run:
    """Ranges of one partition that overlap or touch: what is read from `start` to `end`, once."""

    start: int
    end: int
    ranges: tuple[Range, ...]


class _Made:
    """What is kept of each record."""

    def __init__(self, salt: bytes) -> None:
        import confluent_kafka as kafka  # noqa: PLC0415 - not on all workers

        self._salt = salt
        self._untimed, self._append_time = kafka.TIMESTAMP_NOT_AVAILABLE, kafka.TIMESTAMP_LOG_APPEND_TIME

    def record(self, message: Any) -> _Record:
        """Take one record's hashes."""
        kind, timestamp = message.timestamp()
        key, value, headers = message.key(), message.value(), message.headers() or ()
        salt, of_key, of_value = self._salt, schema_id(key), schema_id(value)
        may_hold_schema = of_key is not None or of_value is not None
        # By position: what this costs is paid for every record.
        return _Record(
            message.offset(),
            None if kind == self._untimed or timestamp < 0 else timestamp,
            kind == self._append_time,
            content_hash(salt, key, value),
            masked_hash(salt, key, value) if may_hold_schema else None,
            of_key,
            of_value,
            tuple([(name, header_hash(salt, name, part)) for name, part in headers]),
            origin(headers),
            record_size(key, value, headers),
        )


class Reader(Generic[Made]):
    """One consumer of one cluster, and the ranges that it still has to read.

    Args:
        configuration: Of the consumer, which leaves no trace.
        made: Takes from a message what is kept of its record.
    """

    def __init__(self, configuration: Mapping[str, Any], made: Callable[[Any], Made]) -> None:
        from confluent_kafka import Consumer  # noqa: PLC0415 - not on all workers

        self._made = made
        self._told: deque[Any] = deque(maxlen=100)
        self._consumer = Consumer({**configuration, "error_cb": self._told.append}, logger=_LOG)
        self._ahead: dict[TopicPartition, list[_Run]] = {}
        self._found: defaultdict[int, list[Made]] = defaultdict(list)
        self._same: dict[int, int] = {}
        """Tasks that want what another one wants, by that one's number."""
        self._patience_s = STALL_S
        self.unread: dict[int, Unread] = {}
        """By task: why a partition that it needs could not be read."""

    def begin(self, ranges: Iterable[Range]) -> None:
        """Start to fetch; ranges of one partition that meet are read once."""
        of_partition: defaultdict[TopicPartition, list[Range]] = defaultdict(list)
        first: dict[Range, int] = {}
        self._same = {}
        for each in ranges:
            leader = first.setdefault(replace(each, task=0), each.task)
            if leader != each.task:
                self._same[each.task] = leader
            elif each.start < each.end:
                of_partition[each.topic_partition].append(each)
        self._ahead = {key: _meeting(some) for key, some in of_partition.items()}
        self._found = defaultdict(list)
        self.unread = {}
        self._consumer.assign([self._at(key, runs[0].start) for key, runs in self._ahead.items()])

    def finish(self) -> Mapping[int, Sequence[Made]]:
        """Give the records of every task; a partition that cannot be read keeps no other back."""
        heard = time.monotonic()
        while self._ahead:
            # Asked for several, the client would wait until it has them all.
            messages = self._consumer.consume(_MESSAGES, timeout=0) or self._next()
            finished = self._take(messages)
            if finished:
                self._consumer.incremental_unassign([self._at(key) for key in finished])
                for key in finished:
                    self._ahead[key].pop(0)
                following = [key for key in finished if self._ahead[key]]
                self._consumer.incremental_assign([self._at(key, self._ahead[key][0].start) for key in following])
                self._ahead = {key: runs for key, runs in self._ahead.items() if runs}
            if any(message.error() is None for message in messages) or finished:
                heard = time.monotonic()
            self._give_up(time.monotonic() - heard)
        self._consumer.unassign()
        for task, leader in self._same.items():
            self._found[task] = self._found[leader]
            if leader in self.unread:
                self.unread[task] = self.unread[leader]
        return self._found

    def close(self) -> None:
        """End the consumer."""
        self._consumer.close()

    def _next(self) -> list[Any]:
        message = self._consumer.poll(_POLL_S)
        return [] if message is None else [message]

    def _take(self, messages: Iterable[Any]) -> set[TopicPartition]:
        """Keep what was asked for, and say which partitions came to the end of their first range."""
        finished: set[TopicPartition] = set()
        for message in messages:
            key = TopicPartition(message.topic(), message.partition())
            if key not in self._ahead or key in finished:
                continue
            run = self._ahead[key][0]
            if message.error() is not None:
                said = self._said(message, run.start, run.end)
                if isinstance(said, Unread):
                    self._leave(key, said)
                elif said:
                    finished.add(key)
                continue
            offset = message.offset()
            if run.start <= offset < run.end:
                record = self._made(message)
                for each in run.ranges:
                    if each.start <= offset < each.end:
                        self._found[each.task].append(record)
            if offset >= run.end - 1:
                finished.add(key)
        return finished

    def _said(self, message: Any, start: int, end: int) -> bool | Unread:
        """Say whether an error of a partition means that its range has no more records, or why it cannot be read."""
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - not on all workers

        error, where = message.error(), TopicPartition(message.topic(), message.partition())
        if error.code() == KafkaError._PARTITION_EOF:
            # A new leader may give a lower end for a moment: where the range is not whole, it is waited for.
            return bool(message.offset() >= end)
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            try:
                low, high = self._consumer.get_watermark_offsets(self._at(where), STALL_S)
            except KafkaException as failed:
                self._told.append(failed.args[0])
                return False
            if start < low:
                return True  # retention passed it: the caller reads the log starts again
            return Unread(Failure.CUT_BACK, f"{where} ends at {high:,}, and {start:,} to {end:,} was to be read")
        if (failure := _failures().get(error.code())) is not None:
            return Unread(failure, f"{where}: {error.str()}")
        self._told.append(error)
        return False

    def _give_up(self, silent_s: float) -> None:
        """Leave what is left, where the cluster refuses everything or was silent for too long."""
        refused = next((error for error in self._told if error.code() in _failures()), None)
        silent = silent_s > self._patience_s
        if refused is None and not silent:
            return
        for partition in [*self._ahead]:
            if refused is not None:
                self._leave(partition, Unread(_failures()[refused.code()], refused.str()))
            else:
                said = f"; {self._told[-1].str()}" if self._told else ""
                told = f"nothing of {partition} came within {self._patience_s:.0f} s{said}"
                self._leave(partition, Unread(Failure.SILENT, told))
        if silent:
            self._patience_s = min(STALL_S, _STALL_AGAIN_S)

    def _leave(self, key: TopicPartition, why: Unread) -> None:
        self.unread |= {each.task: why for run in self._ahead.pop(key) for each in run.ranges}
        self._consumer.incremental_unassign([self._at(key)])

    def _at(self, key: TopicPartition, offset: int = 0) -> Any:
        from confluent_kafka import TopicPartition as Place  # noqa: PLC0415 - not on all workers

        return Place(*key, offset)


def _meeting(ranges: Iterable[Range]) -> list[_Run]:
    """Put ranges of one partition together that overlap or touch, ascending."""
    runs: list[_Run] = []
    for each in sorted(ranges, key=lambda one: (one.start, one.end)):
        last = runs[-1] if runs else None
        if last is not None and each.start <= last.end:
            runs[-1] = _Run(last.start, max(last.end, each.end), (*last.ranges, each))
        else:
            runs.append(_Run(each.start, each.end, (each,)))
    return runs


def _failures() -> dict[int, Failure]:
    """Give librdkafka's codes after which nothing more will come; it tries again after all others."""
    from confluent_kafka import KafkaError  # noqa: PLC0415 - not on all workers

    return {
        KafkaError._AUTHENTICATION: Failure.REFUSED,
        KafkaError.SASL_AUTHENTICATION_FAILED: Failure.REFUSED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED: Failure.REFUSED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: Failure.REFUSED,
        KafkaError._UNKNOWN_TOPIC: Failure.GONE,
        KafkaError._UNKNOWN_PARTITION: Failure.GONE,
        KafkaError.UNKNOWN_TOPIC_OR_PART: Failure.GONE,
    }
