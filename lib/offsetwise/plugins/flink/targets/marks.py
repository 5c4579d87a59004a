"""Marks transactions of a sink as committed in a savepoint; everything else stays byte for byte.

A restore commits the transactions that a committer has as received or to be retried, and skips finished ones. On
another cluster such a commit fails, and the job with it, although the transaction was committed on its own cluster. So
the four bytes of its state are set to committed, and nothing else. The result is read again with the reader of
transactions, and refused unless exactly these have changed. Pure: bytes in, bytes out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint, MarkedTransaction, Transaction
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.elements import StateBlob, element_bounds, is_compressed
from offsetwise.plugins.flink.engine.findings import transaction_pending
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.engine.opened import Opened
from offsetwise.plugins.flink.engine.sink import PENDING, STATES, Committable, read_committer
from offsetwise.plugins.flink.engine.snappy import uncompress_stream
from offsetwise.plugins.flink.engine.transactions import COMMITTER_STATE
from offsetwise.plugins.flink.targets.edit import refused, require_editable
from offsetwise.plugins.flink.targets.elements import NotEditableError, Piece, reframed, spliced
from offsetwise.storage.memory import HeldFolder

_COMMITTED: Final = STATES[-1]
_STATE: Final = (len(STATES) - 1).to_bytes(4, "big")

Key = tuple[str, int | None, int | None]
"""Transactional id, producer id and epoch, which identify a transaction."""


def mark_committed(
    contents: Mapping[str, bytes], marks: Collection[MarkedTransaction], *, uri: str
) -> Mapping[str, bytes]:
    """Return the files that change when transactions are marked as committed; empty if there are no marks.

    Args:
        contents: As for `edit_savepoint`.
        marks: Each is in the savepoint, as received or to be retried.
        uri: The savepoint, for errors.

    Raises:
        ApplyError: It may not be edited, or does not contain a transaction in such a state.
        OffsetwiseError: It cannot be read.
    """
    if not marks:
        return {}
    before = read_from(HeldFolder(uri=uri, files=contents))
    require_editable(before, uri)
    keys = {_key(mark) for mark in marks}
    lacking = keys - {_key(transaction) for transaction in before.details.transactions}
    if lacking:
        raise refused(uri, f"to hold {_key_text(min(lacking, key=str))}, found no such transaction")
    try:
        pieces = _pieces(contents, keys, uri)
    except (NotEditableError, DamagedError) as error:
        raise refused(uri, f"transactions that can be marked as committed, found {error}", error) from error
    results = {name: spliced(contents[name], file_pieces) for name, file_pieces in pieces.items()}
    _prove(before, keys, contents, results, pieces)
    return results


def unmarked(marks: Collection[MarkedTransaction], read: Checkpoint) -> str | None:
    """Describe in a sentence which planned mark a savepoint lacks; None if it has them all."""
    states = {_key(transaction): transaction.state for transaction in read.details.transactions}
    for mark in marks:
        result = states.get(_key(mark))
        if result != _COMMITTED:
            return f"transaction {_key_text(_key(mark))} is {result or 'not held'}, and planned as marked {_COMMITTED}."
    return None


def _pieces(contents: Mapping[str, bytes], keys: Collection[Key], uri: str) -> dict[str, list[Piece]]:
    metadata = parse_metadata(contents[METADATA])
    opened = Opened.of(HeldFolder(uri=uri, files=contents), contents[METADATA], metadata, None)
    pieces: defaultdict[str, list[Piece]] = defaultdict(list)
    for entry in metadata.operators:
        for subtask in entry.subtasks:
            blob, handle = opened.blobs.get((entry.id, subtask.index)), subtask.managed
            if blob is None or handle is None:
                continue
            for start, end in element_bounds(handle).get(COMMITTER_STATE, ()):
                pieces[blob.file] += _element(blob, blob.at + start, blob.at + end, keys)
    return {name: file_pieces for name, file_pieces in pieces.items() if file_pieces}


def _element(blob: StateBlob, start: int, end: int, keys: Collection[Key]) -> list[Piece]:
    if not is_compressed(blob):
        return _states(Cursor(blob.data, start, end), keys)
    plain = uncompress_stream(blob.data, start, end)
    pieces = _states(Cursor(plain), keys)
    return [Piece(start, end, reframed(blob.data[start:end], spliced(plain, pieces)))] if pieces else []


def _states(cursor: Cursor, keys: Collection[Key]) -> list[Piece]:
    committables, _ = read_committer(cursor)
    return [_piece(committable) for committable in committables if _key(committable) in keys]


def _piece(committable: Committable) -> Piece:
    if committable.state not in PENDING:
        raise NotEditableError(f"{_key_text(_key(committable))} as {committable.state}, which no restore commits")
    return Piece(committable.state_at, committable.state_at + len(_STATE), _STATE)


def _prove(
    before: Checkpoint,
    keys: Collection[Key],
    contents: Mapping[str, bytes],
    edited: Mapping[str, bytes],
    pieces: Mapping[str, list[Piece]],
) -> None:
    """Read the savepoint as it will be, and refuse unless exactly the intended states differ."""
    folder = HeldFolder(uri=before.uri, files={**contents, **edited})
    try:
        after = read_from(folder)
    except OffsetwiseError as error:
        raise refused(before.uri, f"to read the marked savepoint again, found {error.problem}") from error
    expected = [
        replace(transaction, state=_COMMITTED) if _key(transaction) in keys else transaction
        for transaction in before.details.transactions
    ]
    same = list(after.details.transactions) == expected and _around(after) == _around(before)
    if not same or any(_outside(contents[name], edited[name], file_pieces) for name, file_pieces in pieces.items()):
        raise refused(before.uri, "only planned transactions to be marked, found another difference after it")


def _outside(before: bytes, after: bytes, pieces: list[Piece]) -> bool:
    at = 0
    for start, end, _ in sorted(pieces):
        if before[at:start] != after[at:start]:
            return True
        at = end
    return before[at:] != after[at:]


def _around(read: Checkpoint) -> tuple[object, ...]:
    problems = [problem for problem in read.problems if problem.code != transaction_pending.code]
    return read.sources, flink_details(read).operators, flink_details(read).saved, problems


def _key(of: MarkedTransaction | Transaction | Committable) -> Key:
    return of.transactional_id, of.producer_id, of.epoch


def _key_text(key: Key) -> str:
    transactional_id, producer_id, epoch = key
    return f"{transactional_id} (producer {producer_id}, epoch {epoch})"
