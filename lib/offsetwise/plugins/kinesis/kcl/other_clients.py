"""Tables with positions of other Kinesis clients, recognised by their attributes, and the remedy for each.

The names of the attributes are those of vmware-go-kcl (`clientlibrary/checkpoint/checkpointer.go`), kinsumer
(`checkpoints.go`), kinesis-consumer (`store/ddb/ddb.go`), Spring's `DynamoDbMetadataStore` and awslabs'
`DynamodbMetadataCommitter`. Each number is that of the last processed record, as in a lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.errors import NotACheckpointError
from offsetwise.storage.dynamodb import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    name: str
    shard: str
    """The attribute with the shard's id."""
    position: str
    """The attribute with the sequence number."""
    part: str = ""
    """The pattern of the shard's id within the first attribute; "" if it is the whole value."""


_CLIENTS: Final = (
    _Client(name="vmware-go-kcl", shard="ShardID", position="Checkpoint"),
    _Client(name="kinsumer", shard="Shard", position="SequenceNumber"),
    _Client(name="kinesis-consumer", shard="shard_id", position="sequence_number"),
    _Client(
        name="Spring's metadata store",
        shard="metadataKey",
        position="metadataValue",
        part=", what follows its last colon",
    ),
)
_COMMITTER: Final = {"metadataKey", "metadataSortKey"}
_COMMITTERS: Final = "the table of a Spark query's DynamoDB committer"


def no_lease_table(uri: str, key: str, tables: Sequence[Table]) -> NotACheckpointError:
    """Return the error for tables that are not lease tables, with a next step for the client that wrote them.

    Args:
        uri: What was read.
        key: The key of a lease table.
        tables: The tables that were found.
    """
    result = ", ".join(f"{table.name} keyed by {keys_of(table)}" for table in tables)
    expected = f"{uri}: expected a lease table of the KCL, keyed by {key}, found {result}"
    if any(table.key_names >= _COMMITTER for table in tables):
        return NotACheckpointError(
            f"{expected}. That is {_COMMITTERS}. No position was read.",
            fix="Name the checkpoint of that query, and this table with --committer-table.",
        )
    client = next((client for table in tables if (client := _client_of(table)) is not None), None)
    if client is not None:
        return NotACheckpointError(
            f"{expected}. That is a table of {client.name}, whose positions are not read.",
            fix=f'Write its positions to a JSON file in the form of a lease table, {{"Items": [{{"{key}": {{"S": the '
            f'shard}}, "checkpoint": {{"S": the number}}}}, …]}}, with the shard from {client.shard}{client.part} and '
            f"the number from {client.position}, and name that file.",
        )
    return NotACheckpointError(
        f"{expected}. No position was read.",
        fix=f"Name the lease table of the application: it has the application's name, and the key {key}.",
    )


def keys_of(table: Table) -> str:
    return " and ".join(sorted(table.key_names)) or "nothing"


def other_use(table: Table) -> str | None:
    """Return the client whose positions are in a table, as part of a sentence; None if it is unknown."""
    if table.key_names >= _COMMITTER:
        return _COMMITTERS
    client = _client_of(table)
    return None if client is None else f"a table of {client.name}"


def _client_of(table: Table) -> _Client | None:
    names = table.key_names.union(*table.items)
    return next((client for client in _CLIENTS if {client.shard, client.position} <= names), None)
