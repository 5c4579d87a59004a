"""How to reach one cluster, without the models of the migration file: they take a tenth of a second to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from offsetwise.client_properties.allowed import ClientProperties
from offsetwise.client_properties.checking import resolve


@runtime_checkable
class AddressedCluster(Protocol):
    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def alias(self) -> str:
        """What MirrorMaker calls it."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Librdkafka's properties, secrets as references."""

    @property
    def folder(self) -> str | None:
        """Where the file is that states it; None where no file does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCluster:
    """An `AddressedCluster` that a process can take in without pydantic."""

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
        SecretError: A reference leads nowhere.
        ConfigError: A property that cannot be used.
    """
    return resolve(cluster.properties, where=f"cluster {cluster.name!r}: properties", folder=cluster.folder)
