from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from offsetwise import client_properties as allowed
from offsetwise.client_properties import Kind, connectors
from offsetwise.client_properties.sign_on import CONNECT
from offsetwise.config.fields import (
    Label,
    Location,
    PersonName,
    Scalar,
    TopicName,
    beside_the_file,
    folder_of,
    located_reference,
    repeated,
)
from offsetwise.config.sign_on import ServiceUrl, SignedOn
from offsetwise.model import Cluster, OffsetReset
from offsetwise.registry import STREAMS
from offsetwise.strict_yaml import Section


class ClusterConfig(Section):
    """How to reach one cluster. `properties` has librdkafka's names; secrets are references."""

    name: Label
    alias: Label = ""
    """The alias MirrorMaker uses for the cluster; the name where none is given."""
    stream: str = "kafka"
    """What it holds: the name of a registered stream."""
    properties: Mapping[str, Scalar]
    _folder: str | None = PrivateAttr(default=None)

    @property
    def folder(self) -> str | None:
        """Where the file is that states it; None where no file does."""
        return self._folder

    @field_validator("stream")
    @classmethod
    def _is_registered(cls, value: str) -> str:
        if value not in STREAMS:
            raise PydanticCustomError(
                "stream",
                "expected one of {known}, found {found}",
                {"known": ", ".join(sorted(STREAMS)), "found": repr(value[:80])},
            )
        return value

    @model_validator(mode="before")
    @classmethod
    def _alias_is_name(cls, value: Any) -> Any:
        return {"alias": value.get("name"), **value} if isinstance(value, Mapping) and value.get("name") else value

    @model_validator(mode="after")
    def _paths_from_file(self, info: ValidationInfo) -> Self:
        results = {name: _located(name, value, info) for name, value in self.properties.items()}
        object.__setattr__(self, "properties", results)
        self._folder = folder_of(info)
        return self


def _located(name: str, value: str, info: ValidationInfo) -> str:
    known = allowed.ALLOWED.get(name)
    if known is not None and known.kind is Kind.PATH and not allowed.is_reference(value):
        return beside_the_file(value, info)
    return located_reference(value, info)


class NamingPolicy(StrEnum):
    """MirrorMaker's replication policies."""

    IDENTITY = "identity"
    DEFAULT = "default"


class TopicSettings(Section):
    """What the new topics are called."""

    policy: NamingPolicy = NamingPolicy.IDENTITY
    separator: Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,20}$")] = "."
    map: Mapping[TopicName, TopicName] = {}
    """Explicit old to new names; they win over the policy."""

    @model_validator(mode="after")
    def _one_to_one(self) -> Self:
        twice = repeated(self.map.values())
        if twice:
            raise PydanticCustomError("merged", "two old topics map to {name}", {"name": min(twice)})
        return self

    @cached_property
    def _old_names(self) -> dict[str, str]:
        return {new: old for old, new in self.map.items()}

    def rename(self, old_topic: str, source_alias: str) -> str:
        """Return the new topic's name.

        >>> TopicSettings(policy=NamingPolicy.DEFAULT).rename("orders", "old")
        'old.orders'
        """
        if old_topic in self.map:
            return self.map[old_topic]
        if self.policy is NamingPolicy.DEFAULT:
            return f"{source_alias}{self.separator}{old_topic}"
        return old_topic

    def origin(self, new_topic: str, source_alias: str) -> str | None:
        """Return the old topic's name, None for a topic that no old one maps to.

        >>> TopicSettings(policy=NamingPolicy.DEFAULT).origin("clicks", "old") is None
        True
        """
        if new_topic in self._old_names:
            return self._old_names[new_topic]
        prefix = f"{source_alias}{self.separator}" if self.policy is NamingPolicy.DEFAULT else ""
        old_topic = new_topic.removeprefix(prefix)
        if not new_topic.startswith(prefix) or not old_topic or old_topic in self.map:
            return None
        return old_topic


class JobTraits(Section):
    """What the operator states about the job. None means not stated."""

    stateful: StrictBool | None = None
    auto_offset_reset: OffsetReset | None = None
    """Groups: the client's setting, which says where it begins in a partition without a commit."""
    watermark_ms: Annotated[StrictInt, Field(ge=0)] | None = None
    sink: Label | None = None
    """What the job writes to, in one word: delta, iceberg, hudi, file, kafka, …"""
    tolerates_replay: StrictBool | None = None
    new_checkpoint: Location | None = None
    """The checkpoint that the job makes once it has moved, where the plan writes none that it goes on from."""
    produces: tuple[TopicName, ...] = ()
    """The topics of the old cluster that the job writes, which other jobs may read."""
    stream: Label | None = None
    """Kinesis: the name of the stream that it reads, where its lease table names none."""
    application: Label | None = None
    """Kinesis: the name of a checkpoint here, the lease table of an application that reads the same stream."""
    commits_to: Label | None = None
    """The consumer group that the job commits its offsets to, as Flink does at every checkpoint."""
    sql: StrictBool | None = None
    """Flink: whether it is a SQL job, whose operators get no uids."""
    uids: StrictBool | None = None
    """Flink: whether every operator with state has a uid of its own."""
    subscription_changeable: StrictBool | None = None
    """Flink: whether the topics that the job reads can be given other names."""
    needs_retained_data: StrictBool | None = None
    """Flink: whether records that lie on the old cluster only still matter."""
    transaction_timeout_ms: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)] | None = None
    """Flink: `transaction.timeout.ms` of the sink's producer, 32 bits in Kafka; an hour, KafkaSink's default, where
    nothing is stated."""
    sink_servers: Label | None = None
    """Flink: HOST:PORT of the cluster that the sink writes to, for the commands that ask it about transactions."""
    sink_cluster: Label | None = None
    """Flink: that cluster, to ask it here: `old`, `new`, or a name of `sinks`."""
    new_sink_cluster: Label | None = None
    """Flink: the one that the sink writes to once the job has moved; the same where nothing is stated."""
    dynamic_cluster: Label | None = None
    """Flink: the id by which a DynamicKafkaSource calls the old cluster, and will call the new one."""
    dynamic_servers: Label | None = None
    """Flink: `bootstrap.servers` of the new cluster, as the metadata service of that source will name them."""

    @model_validator(mode="after")
    def _whole_cluster(self) -> Self:
        if (self.dynamic_cluster is None) != (self.dynamic_servers is None):
            raise ValueError("dynamic_cluster and dynamic_servers are stated together, or neither of them")
        return self

    @property
    def states_reset(self) -> bool:
        return self.auto_offset_reset not in (None, OffsetReset.NONE)


class CheckpointConfig(Section):
    """One checkpoint of the migration."""

    name: Label
    uri: Location
    job: JobTraits = JobTraits()
    belongs_to: Cluster | None = None
    """Which cluster its offsets belong to, where the operator states it."""


class PositionsConfig(Section):
    """One positions file of the migration, which is moved as a checkpoint of that name."""

    name: Label
    file: Location
    shape: Label | None = None
    """`SHAPE` or `SHAPE:WORD`; recognised where none is given."""
    job: JobTraits = JobTraits()
    belongs_to: Cluster | None = None
    """As of a checkpoint."""

    @property
    def checkpoint(self) -> CheckpointConfig:
        part = "positions" if self.shape is None else f"positions:{self.shape}"
        return CheckpointConfig(name=self.name, uri=f"{self.file}#{part}", job=self.job, belongs_to=self.belongs_to)


class ConnectConfig(SignedOn):
    """One connector of Kafka Connect, which its workers tell about over REST.

    One of the old cluster is moved as a checkpoint of that name; one of the new cluster is what a plan writes to, by
    `--target connector:NAME`. Secrets are references.
    """

    section = CONNECT
    name: Label
    url: ServiceUrl | None = None
    urls: tuple[ServiceUrl, ...] = ()
    """Of several workers of one Connect cluster: the next one is asked where one is away."""
    connector: Annotated[str, Field(pattern=connectors.CONNECTOR)] | None = None
    """As Kafka Connect calls it; `name` where nothing is stated."""
    cluster: Cluster = Cluster.OLD
    """Which of the two clusters the connector reads."""
    job: JobTraits = JobTraits()

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
    def checkpoint(self) -> CheckpointConfig:
        group = self.job.commits_to or f"connect-{self.connector or self.name}"
        job = self.job.model_copy(update={"commits_to": group})
        return CheckpointConfig(name=self.name, uri=self.address.uri, job=job, belongs_to=self.cluster)


class GroupConfig(Section):
    """One consumer group of the migration: its name, or the name with what is stated about its job."""

    name: Label
    job: JobTraits = JobTraits()


class SparkSettings(Section):
    """The Spark session that reads records: a master, or a Spark Connect server.

    Secrets in `conf`, and the token in `remote`, are references. In a file, `conf` has only properties that can name no
    code, and a server is one that the user's environment names.
    """

    master: Label | None = None
    remote: Annotated[str, Field(pattern=r"^sc://.+")] | None = None
    conf: Mapping[str, Scalar] = {}
    _folder: str | None = PrivateAttr(default=None)

    @property
    def folder(self) -> str | None:
        """Where the file is that states it; None where no file does."""
        return self._folder

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.master and self.remote:
            raise PydanticCustomError("both", "master and remote")
        if not self.master and not self.remote:
            object.__setattr__(self, "master", "local[*]")
        return self

    @model_validator(mode="after")
    def _secrets_by_reference(self, info: ValidationInfo) -> Self:
        def located(key: str, value: str) -> str:
            return located_reference(allowed.only_reference(key, value), info)

        remote, conf = allowed.with_secrets(self.remote, self.conf, located)
        allowed.check_command_line(conf)
        allowed.check_addresses(conf)
        object.__setattr__(self, "remote", remote)
        object.__setattr__(self, "conf", conf)
        self._folder = folder_of(info)
        return self

    @model_validator(mode="after")
    def _runs_no_code_of_others(self) -> Self:
        if self.folder is not None:
            allowed.check_allowed(self.conf)
            allowed.check_server("spark.remote" if self.remote else "spark.master", self.remote or self.master or "")
        return self


class ContentSettings(Section):
    """How much content matching may read."""

    window_records: Annotated[StrictInt, Field(ge=1, le=100_000)] = 64
    budget_records: Annotated[StrictInt, Field(ge=1, le=1_000_000_000)] = 200_000
    """Per partition and cluster."""
    budget_bytes: Annotated[StrictInt, Field(ge=1, le=1_000_000_000_000)] = 1_000_000_000
    """Per partition and cluster."""
    clock_skew_s: Annotated[StrictInt, Field(ge=0, le=86_400)] = 300
    """Kinesis: how much earlier a copy may seem to have arrived than its original, by the clocks of both sides."""


class TrustedKey(Section):
    """A reviewer's key, and whose it is."""

    file: Location
    """The `.pub` file."""
    issuer: PersonName
    subject: PersonName
    vouches_for: Annotated[tuple[PersonName, ...], Field(min_length=1)] | None = None
    """Of a console's key: the issuers of the people it may sign for."""


class ApprovalSettings(Section):
    """Whose approval counts when a plan of this migration is applied."""

    required: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    """How many people, each with a key of their own."""
    trusted_keys: Annotated[tuple[TrustedKey, ...], Field(min_length=1)] | None = None
    """With keys named on the command line too, those in both count."""
    max_lifetime_hours: Annotated[StrictInt, Field(ge=1, le=8_784)] | None = None
    """The longest time from an approval to its expiry; 720 where nothing is given."""
    clock_skew_s: Annotated[StrictInt, Field(ge=0, le=3_600)] | None = None
    """How far an approver's clock may be ahead of the applier's; 120 where nothing is given."""

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        listed = self.trusted_keys
        alone = listed is not None and all(key.vouches_for is None for key in listed)
        if listed is not None and alone and len({key.file for key in listed}) < self.required:
            raise PydanticCustomError(
                "too_few_keys",
                "{required} people are required and the keys of {listed} are trusted, so no plan could be approved",
                {"required": self.required, "listed": len({key.file for key in listed})},
            )
        return self
