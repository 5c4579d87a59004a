"""The code for narrow windows on Spark's workers: the Kafka client of a task reads those of many partitions.

Shipped to the workers, so it imports only what they have; librdkafka is used only if they have it
(`pipeline/shipping.py` checks). Reading leaves no trace on a cluster: no group, no commit, no new topic. Keys, values
and headers are hashed as they arrive (`translation/identity.py`) and never leave the task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from offsetwise.garbage import collected_seldom
from offsetwise.streams.ranges import Range, RangeReader
from offsetwise.translation.identify import Records
from offsetwise.translation.identity import content_hash, header_hash, masked_hash, origin, record_size, schema_id
from offsetwise.translation.search import Span
from offsetwise.translation.worker import LogSide, Paired, RecordQuestion, Task, answer, fields_of, written

WINDOW_SCHEMA: Final = "task long, answer string, failed string, told string"
OFFSETS_AT_ONCE: Final = 200_000
"""A task reads its windows in parts of about this many offsets, which bounds its memory."""
PARTITIONS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedTask:
    number: int
    old_topic: str
    new_topic: str
    partition: int
    task: Task
    token: str
    """Repeated in the answer, so that it cannot be taken for the answer to another question."""

    def range_of(self, log: LogSide) -> Range:
        is_new = log is LogSide.NEW
        span = self.task.new if is_new else self.task.old
        return Range(self.number, self.new_topic if is_new else self.old_topic, self.partition, span.start, span.end)


def row(tasks: Iterable[LocatedTask]) -> str:
    return json.dumps([*tasks], default=fields_of)


def parse_task(fields: dict[str, Any]) -> LocatedTask:
    task: dict[str, Any] = fields.pop("task")
    task["question"] = RecordQuestion(task["question"])
    task |= {name: Span(**task[name]) for name in ("old", "new", "old_whole", "new_whole")}
    return LocatedTask(**fields, task=Task(**task))


def answer_windows(clients: Mapping[LogSide, Mapping[str, Any]], salt: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Answer tasks from windows that are read here; the function that Spark maps over the table of tasks.

    Args:
        clients: The configuration of a consumer for each log to read.
        salt: Keys the hashes.
        batches: `pyarrow.RecordBatch`es with one column of `row`.

    Yields:
        `pyarrow.RecordBatch`es of `WINDOW_SCHEMA`: the answer (JSON); or why the partition could not be read, with a
            clause of detail; or neither, if only Spark's own source can read a record.
    """
    import pyarrow as pa  # noqa: PLC0415 - the workers have it, this module must load without it

    record = _KeptRecord(salt)
    readers = {log: RangeReader(configuration, record.record) for log, configuration in clients.items()}
    try:
        cells = (cell for batch in batches for cell in batch.column(0).to_pylist())
        for some in _parts(parse_task(load) for cell in cells for load in json.loads(cell)):
            try:
                with collected_seldom():
                    rows = [*_answered(readers, some)]
            except UnicodeDecodeError:  # librdkafka's Python returns no header whose name is not UTF-8
                rows = [(task.number, None, None, None) for task in some]
            columns = zip(*rows, strict=True)
            types = (pa.int64(), pa.string(), pa.string(), pa.string())
            arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["task", "answer", "failed", "told"])
    finally:
        for reader in readers.values():
            reader.close()


def _parts(tasks: Iterable[LocatedTask]) -> Iterator[list[LocatedTask]]:
    part: list[LocatedTask] = []
    spans: set[Range] = set()
    offsets = 0
    for task in tasks:
        new = {replace(task.range_of(log), task=0) for log in (LogSide.OLD, LogSide.NEW)} - spans
        size = sum(span.end - span.start for span in new)
        if part and (offsets + size > OFFSETS_AT_ONCE or len(part) == PARTITIONS_AT_ONCE):
            yield part
            part, spans, offsets = [], set(), 0
        part.append(task)
        spans |= new
        offsets += size
    if part:
        yield part


_NOTHING: Final[list[Any]] = []
_Row: TypeAlias = tuple[int, str | None, str | None, str | None]
"""A row of `WINDOW_SCHEMA`."""


def _answered(readers: Mapping[LogSide, RangeReader[_WindowRecord]], tasks: Sequence[LocatedTask]) -> Iterator[_Row]:
    for log, reader in readers.items():
        reader.begin([task.range_of(log) for task in tasks])
    logs = {log: reader.finish() for log, reader in readers.items()}
    shared: dict[tuple[int, ...], _Read] = {}
    for located_task in tasks:
        unread = next(
            (
                range_reader.unread[located_task.number]
                for range_reader in readers.values()
                if located_task.number in range_reader.unread
            ),
            None,
        )
        if unread is not None:
            yield located_task.number, None, unread.failure.value, unread.message
            continue
        old, new, aborted = (logs[log][located_task.number] if log in logs else _NOTHING for log in LogSide)
        key = id(old), id(new), id(aborted)
        read = shared[key] = shared.get(key) or _Read(old, new, aborted)
        given = answer(located_task.task, *read.records, origins=read.origins, paired=read.paired)
        yield (
            located_task.number,
            written(replace(given, record_bytes=read.record_bytes), located_task.token),
            None,
            None,
        )


class _Read:
    def __init__(
        self, old: Sequence[_WindowRecord], new: Sequence[_WindowRecord], aborted: Sequence[_WindowRecord]
    ) -> None:
        self.records = _records(old), _records(new), _records(aborted)
        self.origins = {record.offset: record.origin for record in new if record.origin is not None}
        sizes = [-(-sum(record.size for record in some) // len(some)) for some in (old, new) if some]
        self.record_bytes = max(sizes, default=None)
        self.paired = Paired(*self.records)


class _WindowRecord(NamedTuple):
    """One record without its bytes: the columns of `Records` in their order, and its size."""

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


def _records(records: Sequence[_WindowRecord]) -> Records:
    return Records(**dict(zip(Records.__slots__, zip(*records, strict=True), strict=False))) if records else Records()


class _KeptRecord:
    def __init__(self, salt: bytes) -> None:
        import confluent_kafka as kafka  # noqa: PLC0415 - not on all workers

        self._salt = salt
        self._untimed, self._append_time = kafka.TIMESTAMP_NOT_AVAILABLE, kafka.TIMESTAMP_LOG_APPEND_TIME

    def record(self, message: Any) -> _WindowRecord:
        kind, timestamp = message.timestamp()
        key, value, headers = message.key(), message.value(), message.headers()
        salt, of_key, of_value = self._salt, schema_id(key), schema_id(value)
        # By position, because this runs for every record.
        return _WindowRecord(
            message.offset(),
            None if kind == self._untimed or timestamp < 0 else timestamp,
            kind == self._append_time,
            content_hash(salt, key, value),
            None if of_key is None and of_value is None else masked_hash(salt, key, value),
            of_key,
            of_value,
            tuple([(name, header_hash(salt, name, part)) for name, part in headers]) if headers else (),
            origin(headers) if headers else None,
            record_size(key, value, headers),
        )
