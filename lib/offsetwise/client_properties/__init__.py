"""The Kafka client properties that a migration file may set, and their names in the Java client.

One table serves both clients: librdkafka (the cluster reader) takes the names as they are, and they are mapped to the
Java client's for Spark's Kafka source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from offsetwise.client_properties.allowed import ALLOWED, FORBIDDEN, ClientProperties, Kind, Property, is_secret, masked
from offsetwise.client_properties.checking import check, resolve, servers
from offsetwise.client_properties.java import jaas_quote, to_java
from offsetwise.client_properties.property_files import BY_HAND, GivenCluster, given_cluster
from offsetwise.client_properties.references import is_reference, lent, lent_now, only_reference
from offsetwise.client_properties.spark import (
    check_addresses,
    check_command_line,
    redaction,
    resolve_spark,
    with_secrets,
)
from offsetwise.client_properties.spark_allowed import check_allowed, check_server, spark_names


@runtime_checkable
class AddressedCluster(Protocol):
    @property
    def name(self) -> str:
        """The name in messages."""

    @property
    def alias(self) -> str:
        """MirrorMaker's alias."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties by librdkafka's names, secrets as references."""

    @property
    def folder(self) -> str | None:
        """The folder of the file that states it; None if no file does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCluster:
    """An `AddressedCluster` that a process can deserialize without pydantic."""

    name: str
    alias: str
    properties: Mapping[str, str]
    folder: str | None

    @classmethod
    def of(cls, cluster: AddressedCluster) -> Self:
        return cls(name=cluster.name, alias=cluster.alias, properties=dict(cluster.properties), folder=cluster.folder)


def client_properties(cluster: AddressedCluster) -> ClientProperties:
    """Return librdkafka's properties of a cluster, secrets resolved. Secrets mask themselves when printed.

    Raises:
        SecretError: A reference cannot be resolved.
        ConfigError: A property that cannot be used.
    """
    return resolve(cluster.properties, where=f"cluster {cluster.name!r}: properties", folder=cluster.folder)


__all__ = [
    "ALLOWED",
    "BY_HAND",
    "FORBIDDEN",
    "AddressedCluster",
    "ClientProperties",
    "GivenCluster",
    "Kind",
    "PlainCluster",
    "Property",
    "check",
    "check_addresses",
    "check_allowed",
    "check_command_line",
    "check_server",
    "client_properties",
    "given_cluster",
    "is_reference",
    "is_secret",
    "jaas_quote",
    "lent",
    "lent_now",
    "masked",
    "only_reference",
    "redaction",
    "resolve",
    "resolve_spark",
    "servers",
    "spark_names",
    "to_java",
    "with_secrets",
]
