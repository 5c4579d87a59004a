from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from offsetwise.plugins.kinesis.kcl.kinesis import KEY
from offsetwise.plugins.kinesis.stream.spec import Place, ShardPlace
from offsetwise.plugins.kinesis.targets.kcl.spec import COUNTER
from offsetwise.storage.dynamodb import Item

HELD: Final = (COUNTER, "checkpoint", "checkpointSubSequenceNumber")
"""Attributes that must be unchanged when a row is written: the version of the lease, and the position."""
_GONE: Final = frozenset(
    {
        "leaseOwner",
        "checkpointOwner",
        "pendingCheckpoint",
        "pendingCheckpointSubSequenceNumber",
        "pendingCheckpointState",
    }
)
"""Attributes removed from a moved lease: its owner, and a checkpoint that was prepared for the position before."""


def dumped(item: Item) -> str:
    """Return a row as text that does not depend on the order of its attributes and sets."""
    return json.dumps({name: _shown(value) for name, value in item.items()}, sort_keys=True, separators=(",", ":"))


def loaded(text: str) -> Item:
    """Return the row that a text describes.

    Raises:
        ValueError: It is not a row.
    """
    body = json.loads(text)
    if not isinstance(body, dict) or not all(isinstance(value, dict) and len(value) == 1 for value in body.values()):
        raise ValueError("expected a row in DynamoDB's JSON")
    return {name: _whole(value) for name, value in body.items()}


def _shown(value: Mapping[str, Any]) -> Mapping[str, Any]:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: base64.b64encode(content).decode()}
        case "BS":
            return {kind: sorted(base64.b64encode(raw).decode() for raw in content)}
        case "SS" | "NS":
            return {kind: sorted(content)}
    return value


def _whole(value: Mapping[str, Any]) -> Mapping[str, Any]:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "BS":
            return {kind: [base64.b64decode(encoded) for encoded in content]}
    return value


def moved(before: Item, position: ShardPlace) -> Item:
    """Return a lease that begins at another position: free, with its counter increased by one."""
    text, sub = words(position)
    retained = {name: value for name, value in before.items() if name not in _GONE}
    return retained | {
        "checkpoint": {"S": text},
        "checkpointSubSequenceNumber": {"N": sub},
        COUNTER: {"N": str(int(before[COUNTER]["N"]) + 1)},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
    }


def added(key: str, position: ShardPlace, *, low: int, high: int, parents: tuple[str, ...], typed: bool) -> Item:
    """Return a new lease; `typed` if the other leases have an entity type, as since KCL 3.5."""
    text, sub = words(position)
    results: dict[str, Mapping[str, Any]] = {
        KEY: {"S": key},
        "checkpoint": {"S": text},
        "checkpointSubSequenceNumber": {"N": sub},
        COUNTER: {"N": "0"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "startingHashKey": {"S": str(low)},
        "endingHashKey": {"S": str(high)},
    }
    if parents:
        results["parentShardId"] = {"SS": list(parents)}
    return results | ({"entityType": {"S": "LEASE"}} if typed else {})


def words(position: ShardPlace) -> tuple[str, str]:
    if position.place is Place.AFTER:
        return str(position.sequence), str(position.sub or 0)
    return position.place.value, "0"
