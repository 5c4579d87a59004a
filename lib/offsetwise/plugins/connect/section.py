from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, SerializeAsAny, model_validator
from pydantic_core import PydanticCustomError

from offsetwise.client_properties import connectors
from offsetwise.client_properties.sign_on import CONNECT, SignOn
from offsetwise.config import CheckpointConfig, JobTraits, Migration, SectionEntry
from offsetwise.config.sign_on import ServiceUrl, SignedOn, covers
from offsetwise.errors import ConfigError
from offsetwise.model import Cluster


class ConnectConfig(SectionEntry, SignedOn):
    """One connector of Kafka Connect, which its workers tell about over REST.

    One of the old cluster is moved as a checkpoint of that name; one of the new cluster is what a plan writes to, by
    `--target connector:NAME`. Secrets are references.
    """

    section = CONNECT
    url: ServiceUrl | None = None
    urls: tuple[ServiceUrl, ...] = ()
    """Of several workers of one Connect cluster: the next one is asked where one is away."""
    connector: Annotated[str, Field(pattern=connectors.CONNECTOR)] | None = None
    """As Kafka Connect calls it; `name` where nothing is stated."""
    cluster: Cluster = Cluster.OLD
    """Which of the two clusters the connector reads."""
    job: SerializeAsAny[JobTraits] = JobTraits()

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        urls = self.urls if self.url is None else (self.url, *self.urls)
        if not urls or (self.url is not None and self.urls) or not connectors.one_cluster(urls):
            raise PydanticCustomError("urls", "expected url, or urls of one scheme and path, found another number")
        if not re.match(connectors.CONNECTOR, self.connector or self.name):
            raise PydanticCustomError("connector", "expected a name of up to 180 characters without a slash")
        self.require_tls(urls[0])
        object.__setattr__(self, "urls", urls)
        object.__setattr__(self, "url", None)
        return self

    @property
    def address(self) -> connectors.ConnectorAddress:
        return connectors.ConnectorAddress(
            workers=tuple(url.rstrip("/") for url in self.urls),
            connector=self.connector or self.name,
            sign_on=self.sign_on,
        )

    @property
    def root(self) -> str:
        return self.address.root

    @property
    def checkpoint(self) -> CheckpointConfig | None:
        if self.cluster is not Cluster.OLD:
            return None
        group = self.job.commits_to or f"connect-{self.connector or self.name}"
        job = self.job.model_copy(update={"commits_to": group})
        return CheckpointConfig(name=self.name, uri=self.address.uri, job=job, belongs_to=self.cluster)

    def sign_on_at(self, address: str) -> SignOn | None:
        return self.sign_on if any(covers(url, address) for url in self.urls) else None


def new_connectors(migration: Migration) -> Sequence[ConnectConfig]:
    return [config for config in migration.entries_of(ConnectConfig) if config.cluster is Cluster.NEW]


def new_connector(migration: Migration, name: str) -> ConnectConfig:
    """Return one connector of the new cluster by its name.

    Raises:
        ConfigError: The file names no such connector; the message lists those it names.
    """
    known = {config.name: config for config in new_connectors(migration)}
    if name in known:
        return known[name]
    raise ConfigError(
        f"Migration {migration.name!r}: expected a connector of the new cluster named {name!r}, the file has: "
        f"{', '.join(known) or 'none'}.",
        fix="Use one of these names, or add the connector under `connect`, with cluster: new.",
    )
