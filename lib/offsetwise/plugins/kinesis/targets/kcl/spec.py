from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.errors import ApplyError, ClusterAuthError, ClusterError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.model import AnyPosition, Checkpoint, Comparison, ShardPosition
from offsetwise.plugins.kinesis.kcl.details import KclDetails
from offsetwise.plugins.kinesis.kcl.findings import lease_held, lease_table_migrates
from offsetwise.plugins.kinesis.kcl.kinesis import KEY, checkpoint_of
from offsetwise.plugins.kinesis.kcl.other_clients import keys_of, other_use
from offsetwise.plugins.kinesis.stream.findings import table_shared
from offsetwise.plugins.kinesis.stream.tables import DynamoTable
from offsetwise.storage.dynamodb import Item, Table

COUNTER: Final = "leaseCounter"
KCL_3: Final = "3"
"""The layout of KCL 3: leases have an entity type, and an index finds the leases of a worker."""
CREATE: Final = (
    "Let the plan create it: draft with --set create_table=true --set kcl=2, or kcl=3 for KCL 3; or name the "
    "application whose table is there: --target kcl-leases:APPLICATION."
)
NAME_ANOTHER: Final = (
    "Name the application that reads the stream of the plan; or a new one, whose table the plan creates: --target "
    "kcl-leases:NEW-NAME --set create_table=true --set kcl=2, or kcl=3 for KCL 3."
)
_REFUSED: Final = frozenset(kind.code for kind in (checkpoint_damaged, lease_held, lease_table_migrates, table_shared))
_COORDINATOR: Final = "-CoordinatorState"
"""Suffix of the coordinator table of KCL 3.0 to 3.4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    rows: Mapping[str, Item]
    """By lease key, without rows of other entities."""
    positions: Mapping[str, AnyPosition]

    @property
    def typed(self) -> bool:
        """Whether leases have an entity type, as since KCL 3.5."""
        return any("entityType" in row for row in self.rows.values())


class NoTableError(ClusterError):
    """There is no table of this name."""


NO_LEASES: Final = Leases(rows={}, positions={})


def leases_as_checkpoint(table: DynamoTable) -> Checkpoint | None:
    """Read the leases of an application as its checkpoint; None if there is no such table.

    Raises:
        ClusterError: The table cannot be read.
    """
    rows = table.rows_of(table.name)
    return None if rows is None else checkpoint_of(table.uri, _as_table(table.name, rows), ())


def applications(comparison: Comparison) -> tuple[str, ...]:
    """Return the application whose leases were compared; empty for a job of another engine."""
    checkpoint = comparison.checkpoint
    if checkpoint is None or not isinstance(checkpoint.details, KclDetails) or not checkpoint.job_id:
        return ()
    return (checkpoint.job_id,)


def read_leases(table: DynamoTable) -> Leases:
    """Read a table, and require that its content allows writing to it.

    Raises:
        ApplyError: It is damaged, shared, between two versions of the KCL, being handed over, of several streams, or
            not a lease table.
        NoTableError: There is none of this name.
        ClusterError: It cannot be read whole.
    """
    rows = table.rows_of(table.name)
    if rows is None:
        raise NoTableError(
            f"{table.uri}: expected a table of this name, found none in this region and account. Nothing was written.",
            fix=CREATE,
        )
    _require_lease_table(table, rows)
    coordinator = table.rows_of(f"{table.name}{_COORDINATOR}")
    other_tables = (
        [] if coordinator is None else [Table(name=f"{table.name}{_COORDINATOR}", keys=None, items=coordinator)]
    )
    read = checkpoint_of(table.uri, _as_table(table.name, rows), other_tables)
    wrong = next((problem for problem in read.problems if problem.code in _REFUSED), None)
    if wrong is not None:
        raise ApplyError(f"{table.uri}: {wrong.message} Nothing was written.", fix=wrong.fix)
    shards = read.sources[0].shards
    _require_one_stream(table, shards)
    leases = read.details.leases if isinstance(read.details, KclDetails) else ()
    keys = {lease.key for lease in leases}
    without = next((lease.key for lease in leases if lease.counter is None), None)
    if without is not None:
        raise ApplyError(
            f"{table.uri}: expected a {COUNTER} in the lease {without}, found none. Nothing was written.",
            fix="Correct the row.",
        )
    return Leases(
        rows={str(row[KEY]["S"]): row for row in rows if row.get(KEY, {}).get("S") in keys and _is_lease(row)},
        positions={shard.shard: shard.position for shard in shards},
    )


def _require_lease_table(table: DynamoTable, rows: Sequence[Item]) -> None:
    """Refuse another kind of table, by its key, or by its rows' attributes if the key may not be read."""
    try:
        state = table.state()
    except ClusterAuthError:
        if not rows:
            raise
        state = None
    keys = None if state is None else state.keys
    actual = Table(name=table.name, keys=keys, items=tuple(rows))
    if keys == ((KEY, "HASH"),) or (keys is None and KEY in actual.key_names):
        return
    use = other_use(actual)
    raise ApplyError(
        f"{table.uri}: expected a lease table of the KCL, keyed by {KEY}, found a table keyed by {keys_of(actual)}"
        f"{'' if use is None else f', which is {use}'}. Nothing was written.",
        fix=NAME_ANOTHER,
    )


def _is_lease(row: Item) -> bool:
    return row.get("entityType", {"S": "LEASE"}) == {"S": "LEASE"}


def _as_table(name: str, rows: Sequence[Item]) -> Table:
    return Table(name=name, keys=((KEY, "HASH"),), items=tuple(rows))


def _require_one_stream(table: DynamoTable, shards: Sequence[ShardPosition]) -> None:
    several = next((shard.stream for shard in shards if shard.stream is not None), None)
    if several is not None:
        raise ApplyError(
            f"{table.uri}: expected the leases of one stream, found some that name theirs, such as {several}: tables "
            "of several streams are read, and not written to. Nothing was written.",
            fix=NAME_ANOTHER,
        )
