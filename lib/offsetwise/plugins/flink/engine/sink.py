"""The state of a KafkaSink: the prefix of its transactions, and those that are prepared and not committed.

Formats: `KafkaWriterStateSerializer`, `KafkaCommittableSerializer` and Flink's `CommittableCollectorSerializer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from offsetwise.model import NamingStrategy
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError

COLLECTOR_MAGIC: Final = 0xB91F252C - 2**32
COLLECTOR_VERSION: Final = 2
STATES: Final = ("received", "retry", "failed", "committed")
"""States of a committable, in Flink's order and names."""
PENDING: Final = ("received", "retry")
"""States that a restore commits; the others are finished, and a restore skips them."""
OWNERSHIPS: Final = (NamingStrategy.INCREMENTING, NamingStrategy.POOLING)
"""In the order of Flink's `TransactionOwnership`, one for each strategy: IMPLICIT_BY_SUBTASK_ID,
EXPLICIT_BY_WRITER_STATE."""
RESUMED: Final = "v1"
"""Transactional id, producer id and epoch: a restore resumes the producer and commits."""
PREPARED: Final = "FLIP-319"
"""Transactional id and Kafka's `PreparedTxnState` (KIP-939): a restore asks the broker to complete it."""

_PREPARED: Final = re.compile(r"(\d{1,19}):(\d{1,5})")


@dataclass(frozen=True, slots=True)
class WriterState:
    prefix: str
    strategy: NamingStrategy | None = None
    """None before connector 4.0, whose state (version 1) does not record it."""
    precommitted: tuple[tuple[str, int], ...] = ()
    """(transactional id, checkpoint), from connectors that record them (version 2)."""


@dataclass(frozen=True, slots=True)
class Committable:
    checkpoint_id: int
    transactional_id: str
    producer_id: int
    epoch: int
    schema: str
    state: str
    state_at: int
    """Where the four bytes of its state begin, in the bytes that it was read from."""


def read_writer(cursor: Cursor) -> WriterState:
    """Parse one element of `writer_raw_states`.

    Raises:
        DamagedError: It is of another sink, or damaged.
    """
    version, inner = _versioned(cursor)
    prefix = inner.text("the prefix of transactional ids")
    if version == 1:
        inner.finished("a writer's state")
        return WriterState(prefix)
    if version != 2:  # the known versions
        raise inner.damaged(f"expected a KafkaSink's writer of version 1 or 2, found {version:,}")
    inner.skip(8, "the owner of transactions")
    ownership = inner.int32("how transactions are owned")
    if ownership not in range(len(OWNERSHIPS)):
        raise inner.damaged(f"expected how transactions are owned, 0 or 1, found {ownership:,}")
    transactions = tuple(
        (inner.text("a transactional id"), inner.int64("the checkpoint of a transaction"))
        for _ in range(inner.count("transactions", least=10))
    )
    inner.finished("a writer's state")
    return WriterState(prefix, OWNERSHIPS[ownership], transactions)


def read_committer(cursor: Cursor) -> tuple[tuple[Committable, ...], int]:
    """Parse one element of `streaming_committer_raw_states`.

    Returns:
        The transactions of a KafkaSink, and how many committables are not a KafkaSink's.

    Raises:
        DamagedError: It is damaged.
    """
    version, inner = _versioned(cursor)
    if version != COLLECTOR_VERSION:
        raise inner.damaged(f"expected a committer's state of version {COLLECTOR_VERSION}, found {version:,}")
    if inner.int32("the magic number of a committer's state") != COLLECTOR_MAGIC:
        raise inner.damaged("expected the magic number b91f252c, found another one")
    committables: list[Committable] = []
    others = 0
    for part_version, part in _list(inner, "checkpoints of a committer", versions=(0, 1)):
        checkpoint_id = part.int64("the checkpoint of a committer's state")
        if part_version == 1:
            part.int32("the number of subtasks")
        for subtask_version, subtask in _list(part, "subtasks of a committer", versions=(0, 1, 2)):
            if subtask_version:
                subtask.int32("a subtask")
            for _, request in _list(subtask, "committables", versions=(0,)):
                committable = _committable(request, checkpoint_id)
                committables += [] if committable is None else [committable]
                others += committable is None
            subtask.skip(8 if subtask_version == 2 else 12, "numbers of committables")  # version 2 has one number less
            subtask.finished("a subtask of a committer")
        part.finished("a checkpoint of a committer")
    inner.finished("a committer's state")
    return tuple(committables), others


def _committable(request: Cursor, checkpoint_id: int) -> Committable | None:
    """Parse one committable; None if it is not a KafkaSink's."""
    version = request.int32("the version of a committable")
    size = request.count("bytes of a committable")
    at = request.skip(size, "a committable")
    request.int32("the number of tries")
    state_at = request.at
    state = request.int32("the state of a committable")
    if not 0 <= state < len(STATES):
        raise request.damaged(f"expected the state of a committable, 0 to 3, found {state:,}")
    request.finished("a committable")
    for layout in LAYOUTS.get(version, ()):
        try:
            result = layout(Cursor(request.data, at, at + size, base=request.base))
        except DamagedError:
            continue
        transactional_id, producer_id, epoch, schema = result
        return Committable(checkpoint_id, transactional_id, producer_id, epoch, schema, STATES[state], state_at)
    return None


def _resumed(cursor: Cursor) -> tuple[str, int, int, str]:
    result = _producer(cursor)
    cursor.finished("a committable")
    return *result, RESUMED


def _resumed_or_prepared(cursor: Cursor) -> tuple[str, int, int, str]:
    """Parse the format of the connector's pull request 271, the only existing code of FLIP-319's second version."""
    transactional_id, producer_id, epoch = _producer(cursor)
    if cursor.flag("whether a transaction was prepared"):
        # A restore completes the prepared transaction, whatever producer the committable names.
        producer_id, epoch = _producer_text(cursor)
    cursor.finished("a committable")
    return transactional_id, producer_id, epoch, PREPARED


def _prepared(cursor: Cursor) -> tuple[str, int, int, str]:
    """Parse FLIP-319's description as bytes: the proposal names two fields and fixes no layout."""
    transactional_id = cursor.text("a transactional id")
    results = _producer_text(cursor)
    cursor.finished("a committable")
    if not transactional_id:
        raise cursor.damaged("expected a transactional id, found none")
    return transactional_id, *results, PREPARED


LAYOUTS: Final = {1: (_resumed,), 2: (_resumed_or_prepared, _prepared)}
"""Possible layouts of a committable, by its version. Each is read to its last byte, so that no bytes fit two."""


def _producer(cursor: Cursor) -> tuple[str, int, int]:
    epoch = cursor.uint16("the epoch of a producer")
    producer_id = cursor.int64("the id of a producer")
    transactional_id = cursor.text("a transactional id")
    if producer_id < 0 or epoch >= 2**15 or not transactional_id:
        raise cursor.damaged("expected a producer's id and epoch, found other numbers")
    return transactional_id, producer_id, epoch


def _producer_text(cursor: Cursor) -> tuple[int, int]:
    match = _PREPARED.fullmatch(cursor.text("a prepared transaction"))
    if match is None or int(match[1]) >= 2**63 or int(match[2]) >= 2**15:
        raise cursor.damaged("expected a prepared transaction, found other text")
    return int(match[1]), int(match[2])


def _versioned(cursor: Cursor) -> tuple[int, Cursor]:
    outer = cursor.int32("the length of an element")
    if outer != cursor.remaining:
        raise cursor.damaged(f"expected an element of {cursor.remaining:,} bytes, found the length {outer:,}")
    version = cursor.int32("the version of an element")
    size = cursor.int32("the length of an element")
    if size != cursor.remaining:
        raise cursor.damaged(f"expected an element of {cursor.remaining:,} bytes, found the length {size:,}")
    return version, cursor


def _list(cursor: Cursor, what: str, *, versions: tuple[int, ...]) -> Iterator[tuple[int, Cursor]]:
    version = cursor.int32(f"the version of {what}")
    number = cursor.count(what, least=4)
    if version not in versions:
        raise cursor.damaged(f"expected {what} of version {versions[0]} to {versions[-1]}, found {version:,}")
    for _ in range(number):
        size = cursor.count(f"bytes of {what}")
        at = cursor.skip(size, what)
        yield version, Cursor(cursor.data, at, at + size, base=cursor.base)
