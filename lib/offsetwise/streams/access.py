from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.model import Cluster


class StepName(StrEnum):
    """The steps of a connection test, in this order."""

    RESOLVE = "resolve"
    CONNECT = "connect"
    TLS = "TLS"
    AUTHENTICATE = "authenticate"
    METADATA = "metadata"
    OFFSETS = "offsets"
    GROUPS = "groups"


class StepResult(StrEnum):
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a connection test. A step that is `ok` may still have a `fix`, for a side finding."""

    name: StepName
    state: StepResult
    said: str
    """The result; for a skipped step, why."""
    fix: str = ""
    took_ms: int = 0


class Resource(StrEnum):
    CLUSTER = "cluster"
    TOPIC = "topic"
    GROUP = "group"


NEEDED: Final[Mapping[Resource, frozenset[str]]] = {
    Resource.CLUSTER: frozenset(),
    Resource.TOPIC: frozenset({"READ", "DESCRIBE", "DESCRIBE_CONFIGS"}),
    Resource.GROUP: frozenset({"DESCRIBE"}),
}
"""The rights that reading a migration needs, by resource."""

WRITING: Final[Mapping[Resource, frozenset[str]]] = {
    Resource.CLUSTER: frozenset({"CREATE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}),
    Resource.TOPIC: frozenset({"WRITE", "CREATE", "ALTER", "DELETE", "ALTER_CONFIGS"}),
    # Kafka lets a user commit for a group that it may READ.
    Resource.GROUP: frozenset({"READ", "DELETE", "ALTER_CONFIGS"}),
}
"""The rights that change a cluster, by resource. Never needed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    resource: Resource
    name: str
    """The topic or group; empty for the cluster itself."""
    operations: tuple[str, ...] = ()
    error: str | None = None
    """Why the broker did not answer."""

    @property
    def writing(self) -> tuple[str, ...]:
        return tuple(operation for operation in self.operations if operation in WRITING[self.resource])

    @property
    def missing(self) -> tuple[str, ...]:
        """Operations that reading needs and the broker does not authorise; empty if it did not answer."""
        return () if self.error else tuple(sorted(NEEDED[self.resource] - set(self.operations)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    cluster: Cluster
    user: str | None
    """As in the migration file; None if the broker needs none."""
    authorizer: bool | None
    """Whether the broker checks ACLs at all; None if it did not answer."""
    granted: tuple[Granted, ...]

    @property
    def writable(self) -> tuple[Granted, ...]:
        return tuple(granted for granted in self.granted if granted.writing)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclCommand:
    purpose: str
    command: str
    optional: bool = False
