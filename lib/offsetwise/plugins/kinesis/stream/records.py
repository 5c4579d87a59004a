"""Reads windows of shards, on Spark's workers, and in this process if there are few shards.

Shipped to the workers, so it imports only what they have, which includes boto3. Keys and data are hashed as they arrive
and never leave the task. Reads count against the quota of the stream, which its jobs share: 5 a second and shard.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import md5, sha256
from threading import Lock
from typing import Any, Final

from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, Place, ShardPlace, at, at_time, shard_id
from offsetwise.ports.windows import ReadFailure, WantedRecords, Window

AT_ONCE: Final = 16
"""Shards that are read concurrently in one process."""
READS_APART_S: Final = 0.25
"""At most four reads a second, of the five that a shard allows to all its readers."""
MOST_AT_ONCE: Final = 10_000
"""Maximum records of one read."""
EMPTY: Final = 20
"""Maximum consecutive empty reads of a shard that reports more records."""
_TRIES: Final = 5
_BACK_MS: Final = 1_000
_FURTHER: Final = 4
_ATTEMPTS: Final = 12
"""How often the start of a window is moved back, by ever more time: 1 s at first, 194 days at last."""


_CONNECTING: Final = Lock()
_CLIENTS: Final[dict[tuple[tuple[str, str], ...], Any]] = {}

_FAILURES: Final = {
    "ResourceNotFoundException": ReadFailure.GONE,
    "InvalidArgumentException": ReadFailure.FOREIGN,
    "ProvisionedThroughputExceededException": ReadFailure.BUSY,
    "LimitExceededException": ReadFailure.BUSY,
    "ThrottlingException": ReadFailure.BUSY,
}


@dataclass(frozen=True, slots=True)
class _Record:
    number: int
    identity: str
    key: int
    arrived_ms: int
    size: int


@dataclass(slots=True, kw_only=True)
class ShardReader:
    client: Any
    stream: str
    id: str
    salt: bytes
    calls: int = 0
    read_at: float = field(default=-READS_APART_S)

    def begin(self, position: ShardPlace) -> str:
        request: dict[str, Any] = {"ShardIteratorType": position.place.value}
        if position.place is Place.AT:
            request = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(position.sequence)}
        elif position.place is Place.AT_TIMESTAMP:
            request["Timestamp"] = (position.at_ms or 0) / 1000
        response = self._within_quota(
            lambda: self.client.get_shard_iterator(StreamName=self.stream, ShardId=self.id, **request)
        )
        return str(response["ShardIterator"])

    def read(
        self, position: ShardPlace, *, most: int, most_bytes: int, enough: Callable[[_Record], bool]
    ) -> tuple[list[_Record], bool]:
        """Read from a position on, until `enough`, or the budget, or the end; return whether it was the end."""
        following: str | None = self.begin(position)
        records: list[_Record] = []
        size, empty = 0, 0
        while following is not None and len(records) < most and size < most_bytes:
            limit = min(MOST_AT_ONCE, most - len(records))
            given = self.records(following, limit)
            following = given.get("NextShardIterator")
            for raw_record in given["Records"]:
                record = self._record(raw_record)
                records.append(record)
                size += record.size
                if enough(record):
                    return records, False
            count, behind_ms = len(given["Records"]), int(given.get("MillisBehindLatest") or 0)
            empty = 0 if count else empty + 1
            if (behind_ms == 0 and count < limit) or empty > EMPTY:
                return records, behind_ms == 0
        return records, following is None

    def records(self, iterator: str, limit: int) -> Mapping[str, Any]:
        wait = self.read_at + READS_APART_S - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        given: Mapping[str, Any] = self._within_quota(
            lambda: self.client.get_records(ShardIterator=iterator, Limit=limit)
        )
        self.read_at = time.monotonic()
        return given

    def _within_quota(self, call: Callable[[], Any]) -> Any:
        for remaining in reversed(range(_TRIES)):
            self.calls += 1
            try:
                return call()
            except Exception as error:
                if failure_of(error) is not ReadFailure.BUSY or not remaining:
                    raise
                time.sleep(1)
        raise AssertionError

    def _record(self, given: Mapping[str, Any]) -> _Record:
        key, data = str(given["PartitionKey"]).encode(), bytes(given["Data"])
        identity, hashed = identified(self.salt, key, data)
        return _Record(
            number=int(given["SequenceNumber"]),
            identity=identity,
            key=hashed,
            arrived_ms=int(given["ApproximateArrivalTimestamp"].timestamp() * 1000),
            size=len(key) + len(data),
        )


def client_of(access: Mapping[str, str | None]) -> Any:
    """Return a client with the driver's region, address and credentials.

    A client is slow to create and thread-safe, so a process has one for each access.
    """
    import boto3  # noqa: PLC0415 - of an extra, and slow to import
    from botocore.config import Config  # noqa: PLC0415 - as above

    key = tuple(sorted((name, value or "") for name, value in access.items()))
    with _CONNECTING:
        if key not in _CLIENTS:
            settings = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 3})
            _CLIENTS[key] = boto3.Session().client("kinesis", config=settings, **access)
        return _CLIENTS[key]


def read_windows(access: Mapping[str, str | None], salt: bytes, tasks: Sequence[WantedRecords]) -> list[Window]:
    """Read windows, each of a different shard, so that none waits for the quota of another.

    Args:
        access: Settings of the connection.
        salt: Key of the hashes.
        tasks: What to read.
    """
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="offsetwise-shards") as pool:
        return [*pool.map(lambda task: read_window(client_of(access), task, salt), tasks)]


def identified(salt: bytes, key: bytes, data: bytes) -> tuple[str, int]:
    """Return the identity that a record and its copy share, and the hash of its key.

    Args:
        salt: Key of the identity's hash.
        key: The partition key, in UTF-8.
        data: The record's data.
    """
    return sha256(salt + len(key).to_bytes(4) + key + data).hexdigest()[:32], hash_key(key)


def hash_key(partition_key: bytes) -> int:
    """Return the hash that leads a record to its shard, unless its producer set another one.

    >>> hash_key(b"k0") < 2**128
    True
    """
    return int.from_bytes(md5(partition_key, usedforsecurity=False).digest())


def read_window(client: Any, task: WantedRecords, salt: bytes) -> Window:
    shard = ShardReader(client=client, stream=task.topic, id=shard_id(task.partition), salt=salt)
    try:
        records, whole, at_end = _around(shard, task) if task.around is not None else _since(shard, task)
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        return Window(calls=shard.calls, failure=failure, message=str(error)[:300])
    return Window(
        numbers=tuple(record.number for record in records),
        identities=tuple(record.identity for record in records),
        keys=tuple(record.key for record in records),
        oldest_ms=records[0].arrived_ms if records else None,
        whole=whole,
        at_end=at_end,
        read=0 if task.around is None else _split(_position_of(task), records),
        calls=shard.calls,
    )


def _since(shard: ShardReader, task: WantedRecords) -> tuple[list[_Record], bool, bool]:
    small = _whole(shard, task)
    if small is not None:
        return small, True, True
    remaining = None if task.until is None else set(task.until)

    def enough(record: _Record) -> bool:
        if remaining is None:
            return False
        remaining.discard(record.identity)
        return not remaining

    since = TRIM_HORIZON if task.since_ms is None else at_time(task.since_ms)
    records, at_end = shard.read(since, most=task.most_records, most_bytes=task.most_bytes, enough=enough)
    return records, task.since_ms is None, at_end


def _around(shard: ShardReader, task: WantedRecords) -> tuple[list[_Record], bool, bool]:
    small = _whole(shard, task)
    if small is not None:
        return small, True, True
    position, reach = _position_of(task), task.reach
    budget = {"most_bytes": task.most_bytes}
    if position == TRIM_HORIZON:
        records, at_end = shard.read(position, most=reach, **budget, enough=_never)
        return records, True, at_end
    if position == SHARD_END:
        retained: deque[_Record] = deque(maxlen=reach)
        _, at_end = shard.read(TRIM_HORIZON, most=task.most_records, **budget, enough=_keeping(retained))
        return [*retained], False, at_end
    begin = position if position.sequence is None else at(position.sequence)
    ahead, at_end = shard.read(begin, most=reach + 1, **budget, enough=_never)
    read, first = _split(position, ahead), ahead[0].number if ahead else None
    anchor_ms = position.at_ms if position.at_ms is not None else ahead[0].arrived_ms if ahead else None
    if anchor_ms is None:
        return ahead, False, at_end
    back_ms = max(_BACK_MS, 2 * (ahead[-1].arrived_ms - ahead[0].arrived_ms) if ahead else 0)
    before: deque[_Record] = deque(maxlen=reach)
    for _ in range(_ATTEMPTS):
        before.clear()
        since = at_time(max(0, anchor_ms - back_ms))

        def reached(record: _Record) -> bool:
            if (first is None and record.arrived_ms >= anchor_ms) or (first is not None and record.number >= first):
                return True
            before.append(record)
            return False

        spent, _ = shard.read(since, most=task.most_records, **budget, enough=reached)
        if len(before) + read >= reach or len(spent) >= task.most_records or since.at_ms == 0:
            break
        back_ms *= _FURTHER
    return [*before, *ahead], False, at_end


def _whole(shard: ShardReader, task: WantedRecords) -> list[_Record] | None:
    records, at_end = shard.read(TRIM_HORIZON, most=task.whole_up_to, most_bytes=task.most_bytes, enough=_never)
    return records if at_end else None


def _position_of(task: WantedRecords) -> ShardPlace:
    return task.around if isinstance(task.around, ShardPlace) else TRIM_HORIZON


def _never(record: _Record) -> bool:  # noqa: ARG001 - as every question
    return False


def _keeping(retained: deque[_Record]) -> Callable[[_Record], bool]:
    def keep(record: _Record) -> bool:
        retained.append(record)
        return False

    return keep


def _split(position: ShardPlace, records: Sequence[_Record]) -> int:
    if position == SHARD_END:
        return len(records)
    if position.sequence is not None:
        # An aggregate that is processed in part counts as unread as a whole.
        processed = position.place is Place.AFTER and position.sub is None
        return sum(record.number < position.sequence + processed for record in records)
    return 0 if position.at_ms is None else sum(record.arrived_ms < position.at_ms for record in records)


def failure_of(error: Exception) -> ReadFailure | None:
    from botocore import exceptions as of  # noqa: PLC0415 - of an extra, and slow to import

    if isinstance(error, of.ClientError):
        return _FAILURES.get(str(error.response.get("Error", {}).get("Code")), ReadFailure.REFUSED)
    return ReadFailure.SILENT if isinstance(error, of.BotoCoreError) else None
