"""Lease tables of the Kinesis Client Library 1 to 3.5: one row for each shard.

Format: `DynamoDBLeaseSerializer`, `DynamoDBMultiStreamLeaseSerializer` and `CoordinatorState` of amazon-kinesis-client
3.5.1, and their predecessors. Since 3.5 the same table has rows of other entities; a row without `entityType` is a
lease of an earlier version.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.errors import CheckpointError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.garbage import collected_seldom
from offsetwise.model import AnyPosition, Checkpoint, CheckpointSource, Problem
from offsetwise.plugins.kinesis.kcl.details import NAME, KclDetails, Lease
from offsetwise.plugins.kinesis.kcl.findings import (
    lease_at_latest,
    lease_held,
    lease_pending,
    lease_table_migrates,
    leases_in_part,
    not_leases,
)
from offsetwise.plugins.kinesis.kcl.other_clients import no_lease_table
from offsetwise.plugins.kinesis.stream.findings import state_empty, table_shared
from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.plugins.kinesis.stream.shards import Shard, hash_key, problems_of, ranges_of
from offsetwise.plugins.kinesis.stream.spec import (
    AT_UNKNOWN_TIME,
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    Place,
    ShardPlace,
    after,
    sequence_number,
)
from offsetwise.storage.dynamodb import Item, Table, tables_at, text_of, texts_of
from offsetwise.storage.location import is_live
from offsetwise.wording import many

KEY: Final = "leaseKey"
"""The hash key of a lease table."""
SHOWN_SHARDS: Final = 4
SAME_BIRTH_S: Final = 60
"""Maximum time between the creation of a stream's first shards."""
_LEASE: Final = "LEASE"
_KNOWN: Final = frozenset({"LEADER", "CLIENT_VERSION_MIGRATION", "TABLE_MIGRATION", "WORKER_METRIC_STATS", "STREAM"})
"""Entities that are not leases."""
_UPGRADES: Final = frozenset({"CLIENT_VERSION_UPGRADE_FROM_2X", "CLIENT_VERSION_INIT"})
_ATTRIBUTES: Final = frozenset(
    {
        *(KEY, "leaseOwner", "leaseCounter", "ownerSwitchesSinceCheckpoint", "parentShardId", "childShardIds"),
        *("checkpoint", "checkpointSubSequenceNumber", "pendingCheckpoint", "pendingCheckpointSubSequenceNumber"),
        *("pendingCheckpointState", "startingHashKey", "endingHashKey", "streamName", "shardId", "checkpointOwner"),
        *("throughputKBps", "entityType"),
    }
)
"""Attributes of a lease, as the KCL 1.x to 3.x write them (`DynamoDBLeaseSerializer`,
`DynamoDBMultiStreamLeaseSerializer`)."""
_SENTINELS: Final = {str(sentinel): sentinel for sentinel in (TRIM_HORIZON, LATEST, AT_UNKNOWN_TIME, SHARD_END)}
_ROUNDED_FROM: Final = 160
"""Bits. Numbers of Kinesis have 186, of which the last four are a version other than 0; emulators' are short."""
_SUB: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_SHARD: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_SHARD_OF_A_TABLE: Final = re.compile(r"shardId-[0-9]{20}-[0-9a-f]{1,16}")
"""Shard ids of DynamoDB Streams."""
_MULTI: Final = re.compile(r"([0-9]{12}:[A-Za-z0-9_.-]{1,128}:[0-9]{1,19}):([A-Za-z0-9_.-]{1,128})")
_TAKE_ANOTHER: Final = "Correct the row, or restore the table to an earlier time."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    shard: Shard
    lease: Lease


def parts_of(uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the URI of each lease table in a dump of several tables; for any other dump its own URI.

    Raises:
        StorageError: The dump cannot be read.
    """
    tables = () if is_live(uri) or "#" in uri else tables_at(uri, roots=roots)
    leases = [table.name for table in tables if _has_leases(table)]
    return tuple(f"{uri}#{name}" for name in leases) if len(tables) > 1 and leases else (uri,)


@collected_seldom()
def read_table(uri: str, *, roots: Sequence[str] | None = None) -> Checkpoint:
    """Read a lease table.

    Args:
        uri: A dump, `DUMP#TABLE` of several tables, or `dynamodb://TABLE?region=R&endpoint=URL`.
        roots: The folders that may be read; None if a person named the path.

    Raises:
        StorageError: It cannot be read whole.
        NotACheckpointError: It is another table.
        CheckpointError: The dump has several lease tables, and none is named.
    """
    file, _, name = (uri, "", "") if is_live(uri) else uri.partition("#")
    tables = tables_at(file, roots=roots)
    leases = [table for table in tables if _has_leases(table) and name in ("", table.name)]
    if not leases:
        raise no_lease_table(uri, KEY, tables)
    if len(leases) > 1:
        raise CheckpointError(
            f"{uri}: expected one lease table, found {', '.join(table.name for table in leases)}. No position was "
            "read.",
            fix=f"Name one of them: {file}#{leases[0].name}",
        )
    return checkpoint_of(uri, leases[0], [table for table in tables if not _has_leases(table)])


def processed(position: AnyPosition) -> AnyPosition:
    """Return a lease's position in its exact form: leases number user records from 0, also of plain records."""
    if isinstance(position, ShardPlace) and position.place is Place.AFTER and position.sub is None:
        return replace(position, sub=0)
    return position


def _has_leases(table: Table) -> bool:
    """Return whether it is a lease table by its key or, if that is unknown, by its rows; an empty one may be."""
    if table.keys is not None:
        return [name for name, _ in table.keys] == [KEY]
    return not table.items or any(KEY in item for item in table.items)


def checkpoint_of(uri: str, table: Table, others: Sequence[Table]) -> Checkpoint:
    problems: list[Problem] = []
    if others:
        problems += not_leases("tables", sorted(other.name for other in others))
    items = sorted(table.items, key=lambda item: json.dumps(item.get(KEY), sort_keys=True, default=repr))
    rows, row_problems = _rows(table.name, items)
    problems += row_problems
    for source_table in (table, *(other for other in others if other.name == f"{table.name}-CoordinatorState")):
        problems += _migrates(source_table)
    kind = _kind(rows)
    shards = [row.shard for row in rows]
    if not rows and not any(problem.code == checkpoint_damaged.code for problem in problems):
        effect = "Workers begin as the initial position in their code says."
        problems += state_empty(f"Lease table {table.name}", effect)
    newest_s = _newest_s(rows)
    for row in rows:
        problems += _of_lease(row, newest_s)
    if kind == "kinesis":
        problems += (*_shared(table.name, rows), *_unknown_rest(table, shards))
        for stream in sorted({shard.stream or "" for shard in shards}):
            problems += problems_of([shard for shard in shards if (shard.stream or "") == stream], knows_children=True)
    return Checkpoint(
        uri=uri,
        engine=NAME,
        job_id=table.name,
        restart=_restart(table.name, shards, problems),
        sources=(
            CheckpointSource(
                index=0,
                id=table.name,
                kind=kind,
                shards=tuple(shard.row for shard in shards),
                ranges=ranges_of(shards),
            ),
        ),
        problems=tuple(problems),
        pins=((table.name, _digest(items)),),
        details=KclDetails(leases=tuple(row.lease for row in rows)),
    )


def _digest(items: Sequence[Item]) -> str:
    """Return the fingerprint of what decides where workers begin, without counters that every renewal raises."""
    relevant = [(item.get(KEY), item.get("checkpoint"), item.get("checkpointSubSequenceNumber")) for item in items]
    return hashlib.sha256(json.dumps(relevant, sort_keys=True, default=repr).encode()).hexdigest()


def _rows(table: str, items: Sequence[Item]) -> tuple[list[_Row], list[Problem]]:
    rows: list[_Row] = []
    problems: list[Problem] = []
    strange: set[str] = set()
    counts: dict[str, int] = {}
    for item in items:
        shown = next(iter((item.get(KEY) or {"": "without a leaseKey"}).values()))
        try:
            entity = text_of(item, "entityType")
            if entity not in (None, _LEASE):
                strange |= {str(entity)} - _KNOWN
                continue
            row = _row(item)
        except ValueError as error:
            problems += checkpoint_damaged(
                f"Table {table}, lease {str(shown)[:200]!r}: {error}. The lease is left out.", fix=_TAKE_ANOTHER
            )
            continue
        counts[row.lease.key] = counts.get(row.lease.key, 0) + 1
        rows.append(row)
    twice = sorted(key for key, count in counts.items() if count > 1)
    if twice:
        problems += checkpoint_damaged(
            f"Table {table} has {many(len(twice), 'lease')} twice, {twice[0]} first: which one counts is unknown, "
            "and they are left out.",
            fix=_TAKE_ANOTHER,
        )
    if strange:
        problems += not_leases("entities", sorted(strange))
    return [row for row in rows if counts[row.lease.key] == 1], problems


def _row(item: Item) -> _Row:
    """Parse one lease.

    Raises:
        ValueError: It is damaged; the message says what was expected and found.
    """
    key = text_of(item, KEY)
    if key is None:
        raise ValueError(f"expected {KEY}, found none")
    stream, shard = _names(item, key)
    position = _position(item, "checkpoint", "checkpointSubSequenceNumber")
    if position is None:
        raise ValueError("expected a checkpoint, found none")
    pending = _position(item, "pendingCheckpoint", "pendingCheckpointSubSequenceNumber")
    low, high = (_hash(item, name) for name in ("startingHashKey", "endingHashKey"))
    if (low is None) is not (high is None) or (low is not None and high is not None and low > high):
        raise ValueError(f"expected a first hash key up to the last one, found {low} and {high}")
    counter = text_of(item, "leaseCounter", "N")
    if counter is not None and not _SUB.fullmatch(counter):
        raise ValueError(f"expected a leaseCounter, found {counter[:60]!r}")
    working, owner = text_of(item, "checkpointOwner"), text_of(item, "leaseOwner")
    parents, children = texts_of(item, "parentShardId"), texts_of(item, "childShardIds")
    return _Row(
        shard=Shard(id=shard, stream=stream, position=position, low=low, high=high, parents=parents, children=children),
        lease=Lease(
            key=key,
            owner=working or owner,
            next_owner=owner if working else None,
            counter=None if counter is None else int(counter),
            pending=None if pending is None else str(pending),
            parents=parents,
            children=children,
            hash_range=None if low is None else (str(low), str(high)),
        ),
    )


def _names(item: Item, key: str) -> tuple[str | None, str]:
    """Return stream and shard of a lease; the stream is None in a table of one stream, which does not name it."""
    stream, shard = text_of(item, "streamName"), text_of(item, "shardId")
    if stream is None and shard is None and _SHARD.fullmatch(key):
        return None, key
    match = _MULTI.fullmatch(key)
    if match is None or stream not in (None, match[1]) or shard not in (None, match[2]):
        raise ValueError(
            "expected the id of a shard as leaseKey, or account:stream:epoch:shard as streamName and shardId say, "
            f"found {key[:200]!r} with {stream!r} and {shard!r}"
        )
    return match[1], match[2]


def _position(item: Item, name: str, sub_name: str) -> ShardPlace | None:
    text, sub = text_of(item, name), text_of(item, sub_name, "N")
    if text is None:
        if sub is not None:
            raise ValueError(f"expected {name} beside {sub_name}, found none")
        return None
    if sub is None:
        unrecognized = min(item.keys() - _ATTRIBUTES, default=None)
        if unrecognized is not None:
            raise ValueError(
                f"expected {sub_name}, found none, and the attribute {unrecognized[:60]!r} that no KCL writes"
            )
        sub = "0"  # as the KCL reads it
    if not _SUB.fullmatch(sub):
        raise ValueError(f"expected {sub_name}, a number from 0 on, found {sub[:60]}")
    if text in _SENTINELS:
        if sub != "0":
            raise ValueError(f"expected {sub_name} 0 beside {text}, found {sub}")
        return _SENTINELS[text]
    number = sequence_number(text)
    if number is None:
        raise ValueError(
            f"expected a sequence number as {name}, a decimal of up to 129 digits, or one of "
            f"{', '.join(_SENTINELS)}, found {text[:140]!r}"
        )
    if number >> _ROUNDED_FROM and not number & 0xFFFF:
        raise ValueError(
            f"expected {name} digit by digit, found {text[:140]}, whose last digits a spreadsheet or a float has lost"
        )
    return after(number, int(sub) or None)


def _hash(item: Item, name: str) -> int | None:
    text = text_of(item, name)
    key = None if text is None else hash_key(text)
    if text is not None and key is None:
        raise ValueError(f"expected {name} as a decimal of 128 bits, found {text[:60]!r}")
    return key


def _kind(rows: Sequence[_Row]) -> str:
    of_table = bool(rows) and all(_SHARD_OF_A_TABLE.fullmatch(row.shard.id) for row in rows)
    return "dynamodb-streams" if of_table else "kinesis"


def _newest_s(rows: Sequence[_Row]) -> int | None:
    numbers = (row.shard.position.sequence for row in rows if row.shard.position.place is Place.AFTER)
    arrivals = (evidence_of(number) for number in numbers if number is not None)
    return max((evidence.arrived_s for evidence in arrivals if evidence is not None), default=None)


def _of_lease(row: _Row, newest_s: int | None) -> Iterator[Problem]:
    shard, lease = row.shard, row.lease
    if shard.position == LATEST:
        yield from lease_at_latest(shard.id, newest_s)
    if lease.pending is not None:
        yield from lease_pending(shard.id, lease.pending, str(shard.position))
    if lease.owner is not None and lease.next_owner is not None:
        yield from lease_held(shard.id, lease.owner, lease.next_owner)


def _migrates(table: Table) -> Iterator[Problem]:
    for item in table.items:
        for name in ("cv", "tm"):
            state = (item.get(name) or {}).get("S")
            if isinstance(state, str) and (state in _UPGRADES or (name == "tm" and state.endswith("PENDING"))):
                yield from lease_table_migrates(table.name, state)


def _shared(table: str, rows: Sequence[_Row]) -> Iterator[Problem]:
    """Report that leases of several streams are in a table whose leases name none.

    A lease of the KCL without parents is of a first shard: the KCL counts renewals and records parents.
    """
    shards = [row.shard for row in rows]
    firsts = {row.shard.id for row in rows if row.lease.counter is not None and not row.lease.parents}
    if len({shard.stream is None for shard in shards}) > 1:
        yield from table_shared(f"Table {table} has leases of one stream beside leases that name theirs.")
    known = {shard.id: shard for shard in shards if shard.stream is None}
    births = sorted(
        (evidence.born_s, shard.id)
        for shard in known.values()
        if shard.id in firsts and (evidence := shard.evidence) is not None
    )
    if births and births[-1][0] - births[0][0] > SAME_BIRTH_S:
        yield from table_shared(
            f"Table {table} has leases of several streams: {births[0][1]} and {births[-1][1]} are first shards, and "
            f"their numbers were made {births[-1][0] - births[0][0]:,} seconds apart."
        )
    for shard in known.values():
        for name in shard.children:
            child = known.get(name)
            if child is not None and child.parents and shard.id not in child.parents:
                yield from checkpoint_damaged(
                    f"Table {table}: {shard.id} names {name} as its child, which names {', '.join(child.parents)} as "
                    "its parents: one of the two is damaged.",
                    fix=_TAKE_ANOTHER,
                )


def _unknown_rest(table: Table, shards: Sequence[Shard]) -> Iterator[Problem]:
    if not table.is_whole and any(shard.low is None and shard.position != SHARD_END for shard in shards):
        yield from leases_in_part(table.name)


def _restart(table: str, shards: Sequence[Shard], problems: Sequence[Problem]) -> str:
    remaining = [shard for shard in shards if shard.position != SHARD_END]
    shown = [f"{shard.id} at {shard.position}" for shard in remaining[:SHOWN_SHARDS]]
    if len(remaining) > len(shown):
        shown.append(f"and {many(len(remaining) - len(shown), 'more shard')}")
    ended = len(shards) - len(remaining)
    if ended:
        shown.append(f"{many(ended, 'shard')} {'is' if ended == 1 else 'are'} read to the end")
    if shown:
        return f"Application {table}: its workers begin with {', '.join(shown)}."
    reason = next((problem.message for problem in problems), "it has no lease.")
    return f"Application {table}: where its workers begin is unknown: {reason}"
