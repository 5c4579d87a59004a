"""What is in a lease table now: leases by their shards, and why it may not be written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.engines.kcl.details import KclDetails
from offsetwise.engines.kcl.findings import lease_held, lease_table_migrates
from offsetwise.engines.kcl.kinesis import checkpoint_of
from offsetwise.errors import ApplyError, RunningQueryError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.model import AnyPosition
from offsetwise.storage.dynamodb import Item, Table
from offsetwise.streams.kinesis.findings import table_shared
from offsetwise.targets.kcl.images import COUNTER, KEY
from offsetwise.targets.kcl.table import LeaseTable

APART_S: Final = 20.0
"""Two times the KCL's `failoverTimeMillis`, unless that was changed: a worker renews every third of it."""
_REFUSED: Final = frozenset(kind.code for kind in (checkpoint_damaged, lease_held, lease_table_migrates, table_shared))
_COORDINATOR: Final = "-CoordinatorState"
"""What KCL 3.0 to 3.4 calls the table beside that of the leases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    """The leases of a table, at one time."""

    rows: Mapping[str, Item]
    """By lease key; rows of other entities are not among them."""
    places: Mapping[str, AnyPosition]

    @property
    def typed(self) -> bool:
        """Whether leases say what they are, as since KCL 3.5."""
        return any("entityType" in each for each in self.rows.values())


def read_leases(table: LeaseTable) -> Leases:
    """Read a table that may be written to, as far as it says itself.

    Raises:
        ApplyError: It is damaged, shared, between two versions of the KCL, in two hands, or of several streams.
        ClusterError: It cannot be read whole.
    """
    rows = table.rows()
    coordinator = table.rows_of(f"{table.name}{_COORDINATOR}")
    beside = [] if coordinator is None else [Table(name=f"{table.name}{_COORDINATOR}", keys=None, items=coordinator)]
    read = checkpoint_of(table.uri, Table(name=table.name, keys=((KEY, "HASH"),), items=rows), beside)
    wrong = next((each for each in read.problems if each.code in _REFUSED), None)
    if wrong is not None:
        raise ApplyError(f"{table.uri}: {wrong.message} Nothing was written.", fix=wrong.fix)
    shards = read.sources[0].shards
    several = next((each.stream for each in shards if each.stream is not None), None)
    if several is not None:
        raise ApplyError(
            f"{table.uri}: expected the leases of one stream, found some that name theirs, such as {several}. Nothing "
            "was written.",
            fix="Tables of several streams are only read by this release.",
        )
    held = read.details.leases if isinstance(read.details, KclDetails) else ()
    keys = {each.key for each in held}
    without = next((each.key for each in held if each.counter is None), None)
    if without is not None:
        raise ApplyError(
            f"{table.uri}: expected a {COUNTER} in the lease {without}, found none. Nothing was written.",
            fix="Correct the row.",
        )
    return Leases(
        rows={str(each[KEY]["S"]): each for each in rows if each.get(KEY, {}).get("S") in keys and _is_lease(each)},
        places={each.shard: each.position for each in shards},
    )


def _is_lease(row: Item) -> bool:
    return row.get("entityType", {"S": "LEASE"}) == {"S": "LEASE"}


def require_stopped(table: LeaseTable, before: Leases, wait: Callable[[float], None]) -> Leases:
    """Look again after two times the failover time: a worker that lives has renewed its leases by then.

    Raises:
        RunningQueryError: One has.
        ApplyError: See `read_leases`.
        ClusterError: As there.
    """
    wait(APART_S)
    now = read_leases(table)
    for key, row in now.rows.items():
        was = before.rows.get(key)
        counters = ("none" if was is None else was[COUNTER]["N"], row[COUNTER]["N"])
        if counters[0] != counters[1]:
            worker = row.get("leaseOwner", row.get("checkpointOwner", {"S": "a worker"}))["S"]
            raise RunningQueryError(
                f"{table.uri}: expected every worker of the application to be stopped, found that {worker!r} renews "
                f"the lease {key}: its counter went from {counters[0]} to {counters[1]} within {APART_S:.0f} seconds. "
                "Nothing was written.",
                fix="Stop every worker, then give the same command again.",
            )
    return now
