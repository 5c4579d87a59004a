"""The migration file: two clusters, the topics' names, the checkpoints, and what the job tolerates.

YAML, read strictly: unknown and repeated keys are refused. Relative paths are relative to the file. Secrets stand in
it only as references (`${NAME}`, `file:PATH`), and stay references until a client is made, so a `Migration` can be
printed and logged.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from offsetwise import client_properties as allowed
from offsetwise.client_properties import ClientProperties, Kind
from offsetwise.errors import ConfigError
from offsetwise.lookalikes import code_points, invisible
from offsetwise.model import Cluster, IsolationLevel, Link, Writers
from offsetwise.strict_yaml import FileNoun, Section, read

_FILE: Final = FileNoun(
    name="a migration file",
    keys="name, source and target",
    described="`offsetwise schema migration` describes the file.",
    start="Give the path of a migration file; `offsetwise lab sample` writes one to start from.",
)
_SCHEME: Final = re.compile(r"(?!file:[^/])[A-Za-z][A-Za-z0-9+.-]*:")
"""Of a URI. `file:` without a slash behind it names a relative path."""


def _text_of_scalar(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _absolute(value: str, info: ValidationInfo) -> str:
    return value if _SCHEME.match(value) else _beside_the_file(value.removeprefix("file:"), info)


def _beside_the_file(path: str, info: ValidationInfo) -> str:
    base = (info.context or {}).get("base")
    return path if base is None else os.path.normpath(Path(base, path))


def _located_reference(value: str, info: ValidationInfo) -> str:
    """Give a reference to a file with its path absolute, and anything else as it is."""
    if not value.startswith("file:"):
        return value
    return f"file:{_beside_the_file(value.removeprefix('file:').removeprefix('//'), info)}"


def _seen(value: str) -> str:
    if unseen := invisible(value):
        raise PydanticCustomError(
            "invisible",
            "expected a name whose characters can all be seen, found {found} in it",
            {"found": code_points(unseen)},
        )
    return value


def _repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Visible: Final = AfterValidator(_seen)
PersonName = Annotated[Label, Visible]
"""An issuer or a subject."""
TopicName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Location = Annotated[str, Field(min_length=1), AfterValidator(_absolute)]
"""A path or URI; absolute after loading."""
Scalar = Annotated[str, BeforeValidator(_text_of_scalar), WithJsonSchema({"type": ["string", "integer", "boolean"]})]


class ClusterConfig(Section):
    """How to reach one cluster. `properties` has librdkafka's names; secrets are references."""

    name: Label
    alias: Label = ""
    """The alias MirrorMaker uses for the cluster; the name where none is given."""
    properties: Mapping[str, Scalar]

    @model_validator(mode="before")
    @classmethod
    def _alias_is_name(cls, value: Any) -> Any:
        return {"alias": value.get("name"), **value} if isinstance(value, Mapping) and value.get("name") else value

    @model_validator(mode="after")
    def _paths_from_file(self, info: ValidationInfo) -> Self:
        made = {name: _located(name, value, info) for name, value in self.properties.items()}
        object.__setattr__(self, "properties", made)
        return self


def _located(name: str, value: str, info: ValidationInfo) -> str:
    known = allowed.ALLOWED.get(name)
    if known is not None and known.kind is Kind.PATH and not allowed.is_reference(value):
        return _beside_the_file(value, info)
    return _located_reference(value, info)


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
        twice = _repeated(self.map.values())
        if twice:
            raise PydanticCustomError("merged", "two old topics map to {name}", {"name": min(twice)})
        return self

    @cached_property
    def _old_names(self) -> dict[str, str]:
        return {new: old for old, new in self.map.items()}

    def rename(self, old_topic: str, source_alias: str) -> str:
        """Give the new topic's name.

        >>> TopicSettings(policy=NamingPolicy.DEFAULT).rename("orders", "old")
        'old.orders'
        """
        if old_topic in self.map:
            return self.map[old_topic]
        if self.policy is NamingPolicy.DEFAULT:
            return f"{source_alias}{self.separator}{old_topic}"
        return old_topic

    def origin(self, new_topic: str, source_alias: str) -> str | None:
        """Give the old topic's name, None for a topic that no old one maps to.

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
    watermark_ms: Annotated[StrictInt, Field(ge=0)] | None = None
    sink: Label | None = None
    """What the job writes to, in one word: delta, iceberg, hudi, file, kafka, …"""
    tolerates_replay: StrictBool | None = None
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
    transaction_timeout_ms: Annotated[StrictInt, Field(ge=1)] | None = None
    """Flink: `transaction.timeout.ms` of the sink's producer; an hour, KafkaSink's default, where nothing is stated."""
    sink_servers: Label | None = None
    """Flink: HOST:PORT of the cluster that the sink writes to, for the commands that ask it about transactions."""


class CheckpointConfig(Section):
    """One checkpoint of the migration."""

    name: Label
    uri: Location
    job: JobTraits = JobTraits()
    belongs_to: Cluster | None = None
    """Which cluster its offsets belong to, where the operator states it."""


class SparkSettings(Section):
    """The Spark session that reads records: a master, or a Spark Connect server.

    Secrets in `conf`, and the token in `remote`, are references.
    """

    master: Label | None = None
    remote: Annotated[str, Field(pattern=r"^sc://.+")] | None = None
    conf: Mapping[str, Scalar] = {}

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
            return _located_reference(allowed.only_reference(key, value), info)

        remote, conf = allowed.with_secrets(self.remote, self.conf, located)
        allowed.check_spark(conf)
        object.__setattr__(self, "remote", remote)
        object.__setattr__(self, "conf", conf)
        return self


class ContentSettings(Section):
    """How much content matching may read."""

    window_records: Annotated[StrictInt, Field(ge=1, le=100_000)] = 64
    budget_records: Annotated[StrictInt, Field(ge=1, le=1_000_000_000)] = 200_000
    """Per partition and cluster."""
    budget_bytes: Annotated[StrictInt, Field(ge=1, le=1_000_000_000_000)] = 1_000_000_000
    """Per partition and cluster."""


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


class Migration(Section):
    """One migration, as its file states it, with paths absolute."""

    name: Label
    source: ClusterConfig
    target: ClusterConfig
    link: Link = Link.MIRRORMAKER
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    topics: TopicSettings = TopicSettings()
    checkpoint_roots: tuple[Location, ...] = ()
    """Where checkpoints may be read from; the listed checkpoints themselves where nothing is given."""
    checkpoints: tuple[CheckpointConfig, ...] = ()
    writers: Writers = Writers.UNKNOWN
    write_roots: tuple[Location, ...] = ()
    groups: tuple[Label, ...] = ()
    spark: SparkSettings = SparkSettings()
    content: ContentSettings = ContentSettings()
    approval: ApprovalSettings = ApprovalSettings()

    @model_validator(mode="before")
    @classmethod
    def _names_of_clusters(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        named = {
            side: {"name": name, **value[side]}
            for side, name in (("source", "old"), ("target", "new"))
            if isinstance(value.get(side), Mapping)
        }
        return {**value, **named}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for side, cluster in (("source", self.source), ("target", self.target)):
            allowed.check(cluster.properties, where=f"{side}.properties")
        _check_two_clusters(self.source, self.target)
        twice = _repeated(checkpoint.name for checkpoint in self.checkpoints)
        if twice:
            raise ConfigError(
                f"checkpoints: expected a name of its own for each, found {min(twice)!r} twice, "
                "so a command could mean either.",
                fix="Rename one of them.",
            )
        if not self.checkpoint_roots:
            object.__setattr__(self, "checkpoint_roots", tuple(checkpoint.uri for checkpoint in self.checkpoints))
        return self

    def cluster(self, side: Cluster) -> ClusterConfig:
        """Give the old or the new cluster."""
        return self.source if side is Cluster.OLD else self.target

    def checkpoint(self, name: str) -> CheckpointConfig:
        """Give one checkpoint by its name.

        Raises:
            ConfigError: The file names no such checkpoint; those it names are listed.
        """
        for checkpoint in self.checkpoints:
            if checkpoint.name == name:
                return checkpoint
        known = ", ".join(checkpoint.name for checkpoint in self.checkpoints) or "none"
        raise ConfigError(
            f"Migration {self.name!r}: expected a checkpoint named {name!r}, the file has: {known}.",
            fix="Use one of these names, or add the checkpoint under `checkpoints`.",
        )

    def new_topic(self, old_topic: str) -> str:
        """Give the new topic's name of an old topic."""
        return self.topics.rename(old_topic, self.source.alias)

    def old_topic(self, new_topic: str) -> str | None:
        """Give the old topic's name of a new topic, None where no old one maps to it."""
        return self.topics.origin(new_topic, self.source.alias)


def _check_two_clusters(source: ClusterConfig, target: ClusterConfig) -> None:
    shared = allowed.servers(source.properties) & allowed.servers(target.properties)
    if shared:
        raise ConfigError(
            f"source and target: expected two clusters, found {min(shared)} in the bootstrap.servers of both, "
            "so everything would be compared with itself.",
            fix="Correct bootstrap.servers of one of them.",
        )
    for what, one, other in (("name", source.name, target.name), ("alias", source.alias, target.alias)):
        if one == other:
            raise ConfigError(
                f"source.{what} and target.{what}: expected two different ones, found {one!r} twice, "
                "so nobody could tell the clusters apart.",
                fix=f"Change one {what}.",
            )


def load_migration(path: Path) -> Migration:
    """Read a migration file.

    Raises:
        ConfigError: Unreadable, not YAML, or not a migration; the message names the file, the key and what to do.
        ForbiddenPropertyError: A client property that is not on the allow-list.
    """
    return read(path, Migration, _FILE)


def client_properties(cluster: ClusterConfig) -> ClientProperties:
    """Give librdkafka's properties of a cluster, secrets resolved. Secrets mask themselves when printed.

    Raises:
        SecretError: A reference leads nowhere.
        ConfigError: A property that cannot be used.
    """
    return allowed.resolve(cluster.properties, where=f"cluster {cluster.name!r}: properties")


def java_properties(cluster: ClusterConfig) -> ClientProperties:
    """Give the Java client's properties of a cluster, without Spark's `kafka.` prefix, secrets resolved.

    Raises:
        SecretError: A reference leads nowhere.
        ConfigError: A property that the Java client has no equal for.
    """
    return allowed.to_java(client_properties(cluster), where=f"cluster {cluster.name!r}: properties")


def spark_properties(migration: Migration) -> Mapping[Cluster, ClientProperties]:
    """Give what Spark reads each cluster with; asked for first, so that what cannot be mapped stops everything.

    Raises:
        SecretError: A reference leads nowhere.
        ConfigError: A property that the Java client has no equal for.
    """
    return {side: java_properties(migration.cluster(side)) for side in Cluster}


def schema() -> dict[str, Any]:
    """Give the JSON Schema of the migration file."""
    made = Migration.model_json_schema()
    cluster = made["$defs"]["ClusterConfig"]
    cluster["required"] = ["properties"]
    cluster["properties"]["properties"] = {
        "type": "object",
        "required": ["bootstrap.servers"],
        "additionalProperties": False,
        "properties": {
            name: {"description": str(known.kind), "type": ["string", "integer", "boolean"]}
            for name, known in allowed.ALLOWED.items()
        },
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | made | {"title": "offsetwise/migration"}
