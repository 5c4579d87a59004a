"""The migration file: two clusters, the topics' names, the checkpoints, and what the job tolerates.

YAML, parsed strictly: unknown and repeated keys are rejected. Relative paths are relative to the file. Secrets are in
it only as references (`${NAME}`, `file:PATH`), and stay references until a client is created, so a `Migration` can be
printed and logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import BeforeValidator, create_model, model_validator

from offsetwise import client_properties as allowed
from offsetwise.client_properties import ClientProperties, client_properties, connectors
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.config.fields import (
    Label,
    Location,
    repeated,
)
from offsetwise.config.plugin_keys import OpenSection
from offsetwise.config.sections import (
    ApprovalSettings,
    CheckpointConfig,
    ClusterConfig,
    ContentSettings,
    GroupConfig,
    JobTraits,
    SectionEntry,
    SparkSettings,
    TopicSettings,
)
from offsetwise.config.sign_on import JobsConfig, covers
from offsetwise.config.sinks import check_names
from offsetwise.config.waves import WaveConfig, check_waves
from offsetwise.errors import ConfigError
from offsetwise.model import Cluster, IsolationLevel, Link, Subject, SubjectKind, Writers
from offsetwise.ports.stream import spec_of, terms_between
from offsetwise.registry import SECTIONS
from offsetwise.strict_yaml import FileNoun, Section, read

_FILE: Final = FileNoun(
    name="a migration file",
    keys="name, source and target",
    described="`offsetwise schema migration` describes the file.",
    start="Give the path of a migration file; `offsetwise lab sample` writes one to start from.",
)


_E = TypeVar("_E", bound=SectionEntry)
_M = TypeVar("_M", bound="Migration")


def _by_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Migration(OpenSection):
    """One migration, as its file states it, with paths absolute."""

    registry = SECTIONS
    name: Label
    source: ClusterConfig
    target: ClusterConfig
    link: Link = Link.MIRRORMAKER
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    topics: TopicSettings = TopicSettings()
    checkpoint_roots: tuple[Location, ...] = ()
    """Where checkpoints may be read from; by default only the listed checkpoints."""
    checkpoints: tuple[CheckpointConfig, ...] = ()
    """After parsing, including the jobs in sections of plug-ins."""
    jobs: tuple[JobsConfig, ...] = ()
    sinks: tuple[ClusterConfig, ...] = ()
    """Clusters that jobs write to, besides these two."""
    writers: Writers = Writers.UNKNOWN
    write_roots: tuple[Location, ...] = ()
    groups: tuple[Annotated[GroupConfig, BeforeValidator(_by_name)], ...] = ()
    spark: SparkSettings = SparkSettings()
    content: ContentSettings = ContentSettings()
    approval: ApprovalSettings = ApprovalSettings()
    waves: tuple[WaveConfig, ...] = ()
    """Jobs that move together; waves begin in this order unless `after` says otherwise."""

    @classmethod
    def model(cls, key: str) -> type[SectionEntry]:
        return SECTIONS.load_class(key, SectionEntry)

    @classmethod
    def joined(cls, models: Mapping[str, type[Section]]) -> type[Self]:
        return _joined(cls, tuple(models.items()))

    @property
    def entries(self) -> tuple[SectionEntry, ...]:
        keys = [key for key in type(self).model_fields if key not in Migration.model_fields]
        return tuple(entry for key in keys for entry in getattr(self, key))

    def entries_of(self, kind: type[_E]) -> tuple[_E, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, kind))

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

    def model_post_init(self, _context: object) -> None:
        self._whole()

    def _whole(self) -> None:
        self._without_services()
        jobs: list[tuple[CheckpointConfig, str | None]] = [(checkpoint, None) for checkpoint in self.checkpoints]
        jobs += [(entry.checkpoint, entry.root) for entry in self.entries if entry.checkpoint is not None]
        roots = self.checkpoint_roots or tuple(checkpoint.uri for checkpoint, root in jobs if root is None)
        object.__setattr__(self, "checkpoints", tuple(checkpoint for checkpoint, _ in jobs))
        object.__setattr__(self, "checkpoint_roots", (*roots, *(root for _, root in jobs if root is not None)))
        entries = [("source", self.source), ("target", self.target)]
        entries += [(f"sinks.{index}", sink) for index, sink in enumerate(self.sinks)]
        for where, cluster in entries:
            spec_of(cluster.stream).check(cluster.properties, where=f"{where}.properties")
        _check_two_clusters(self.source, self.target)
        check_names(
            [sink.name for sink in self.sinks],
            clusters=(self.source.name, self.target.name),
            requested={
                (checkpoint.name, key): getattr(checkpoint.job, key)
                for checkpoint in self.checkpoints
                for key in ("sink_cluster", "new_sink_cluster")
            },
        )
        others = (entry.name for entry in self.entries if entry.checkpoint is None)
        twice = repeated((*(checkpoint.name for checkpoint in self.checkpoints), *others))
        if twice:
            raise ConfigError(
                f"checkpoints: expected a name of its own for each, found {min(twice)!r} twice, "
                "so a command could mean either.",
                fix="Rename one of them.",
            )
        several = repeated({group: group.name for group in self.groups}.values())
        if several:
            raise ConfigError(
                f"groups: expected one entry for each group, found several that differ for {min(several)!r}, so a "
                "command could mean either.",
                fix="Remove all of them but one.",
            )
        check_waves(self.waves, self.all_jobs)

    def _without_services(self) -> None:
        """Raise unless services are named only in the section with their credentials.

        Raises:
            ConfigError: A checkpoint or a root is a service.
        """
        named = (*(checkpoint.uri for checkpoint in self.checkpoints), *self.checkpoint_roots)
        services = [uri for uri in named if connectors.is_connector(uri)]
        if services:
            raise ConfigError(
                "checkpoints and checkpoint_roots: expected folders, files and tables, found a connector of Kafka "
                f"Connect, {services[0].partition('?')[0][:200]}.",
                fix="Name it under `connect`: name, url and connector.",
            )

    @property
    def may_be_one(self) -> bool:
        """Whether both clusters may be the same, in which jobs change their position or their engine."""
        return self.source.stream == self.target.stream and spec_of(self.source.stream).may_be_one

    @property
    def terms(self) -> Mapping[str, str]:
        """The terms of its streams by Kafka's terms topic, partition, offset and cluster."""
        return terms_between(*(spec_of(config.stream).terms for config in (self.source, self.target)))

    @property
    def is_one(self) -> bool:
        return self.may_be_one and self.source.properties == self.target.properties

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.name for group in self.groups))

    @property
    def all_jobs(self) -> tuple[Subject, ...]:
        """Every job, in the order of the file: the checkpoints, then the groups."""
        checkpoints = (Subject(kind=SubjectKind.CHECKPOINT, name=checkpoint.name) for checkpoint in self.checkpoints)
        return (*checkpoints, *(Subject(kind=SubjectKind.GROUP, name=name) for name in self.group_names))

    def wave(self, name: str) -> WaveConfig:
        """Return one wave by its name.

        Raises:
            ConfigError: The file has no such wave; the message lists its waves.
        """
        known = {wave.name: wave for wave in self.waves}
        if name in known:
            return known[name]
        raise ConfigError(
            f"Migration {self.name!r}: expected a wave named {name!r}, the file has: {', '.join(known) or 'none'}.",
            fix="Use one of these names, or add the wave under `waves`.",
        )

    def job_traits(self, job: Subject) -> JobTraits:
        """Return what the file states about a job; nothing about a group that it does not name.

        Raises:
            ConfigError: It has no such checkpoint.
        """
        return self.group_job(job.name) if job.checkpoint is None else self.checkpoint(job.name).job

    def group_job(self, name: str | None) -> JobTraits:
        return next((group.job for group in self.groups if group.name == name), JobTraits())

    def cluster(self, side: Cluster) -> ClusterConfig:
        return self.source if side is Cluster.OLD else self.target

    def named(self, name: str) -> ClusterConfig:
        """Return any cluster by its name.

        Raises:
            ConfigError: The file has no such cluster; the message lists its clusters.
        """
        every = (self.source, self.target, *self.sinks)
        for cluster in every:
            if cluster.name == name:
                return cluster
        raise ConfigError(
            f"Migration {self.name!r}: expected a cluster named {name!r}, the file has: "
            f"{', '.join(cluster.name for cluster in every)}. Nothing was asked.",
            fix="Give the migration file that the plan was drafted with.",
        )

    def sink(self, checkpoint: CheckpointConfig, *, moved: bool = False) -> ClusterConfig | None:
        """Return the cluster that a checkpoint's sink writes to; None if the file does not state it.

        Args:
            checkpoint: The checkpoint.
            moved: Whether to return the cluster after the job has moved, instead of the one of its present
                transactions.
        """
        job = checkpoint.job
        name = (job.new_sink_cluster if moved else None) or job.sink_cluster
        named = {"old": self.source, "new": self.target} | {sink.name: sink for sink in self.sinks}
        return None if name is None else named[name]

    def checkpoint(self, name: str) -> CheckpointConfig:
        """Return one checkpoint by its name.

        Raises:
            ConfigError: The file has no such checkpoint; the message lists its checkpoints.
        """
        for checkpoint in self.checkpoints:
            if checkpoint.name == name:
                return checkpoint
        known = ", ".join(checkpoint.name for checkpoint in self.checkpoints) or "none"
        raise ConfigError(
            f"Migration {self.name!r}: expected a checkpoint named {name!r}, the file has: {known}.",
            fix="Use one of these names, or add the checkpoint under `checkpoints`.",
        )

    def job_sign_on(self, address: str) -> SignOn:
        """Return the credentials for a job's address, from the entry for the same service; empty without one.

        Of several entries the one with the longest path counts. Entries of plug-ins count for the addresses that they
        name.
        """
        jobs = [entry for entry in self.jobs if covers(entry.url, address)]
        if jobs:
            return max(jobs, key=lambda entry: len(entry.url)).sign_on
        named = (entry.sign_on_at(address) for entry in self.entries)
        return next(filter(None, named), SignOn(section="jobs"))

    def with_positions(self, added: CheckpointConfig) -> Migration:
        """Return the migration with a positions file that a person named, under a new name.

        Raises:
            ConfigError: A checkpoint has the name.
        """
        if any(checkpoint.name == added.name for checkpoint in self.checkpoints):
            raise ConfigError(
                f"Migration {self.name!r}: expected a positions file that it does not name, found a checkpoint named "
                f"{added.name!r}. Nothing was compared.",
                fix=f"Compare it by its name: --checkpoint {added.name}",
            )
        return self.model_copy(
            update={
                "checkpoints": (*self.checkpoints, added),
                "checkpoint_roots": (*self.checkpoint_roots, added.uri),
            }
        )

    def new_topic(self, old_topic: str) -> str:
        return self.topics.rename(old_topic, self.source.alias)

    def old_topic(self, new_topic: str) -> str | None:
        """Return the old topic's name of a new topic; None if no old one maps to it."""
        return self.topics.origin(new_topic, self.source.alias)


@cache
def _joined(section: type[_M], models: tuple[tuple[str, type[Section]], ...]) -> type[_M]:
    lists: dict[str, Any] = {key: (tuple[kind, ...], ()) for key, kind in models}  # type: ignore[valid-type]
    return create_model(section.__name__, __base__=section, __module__=__name__, __doc__=section.__doc__, **lists)


def _check_two_clusters(source: ClusterConfig, target: ClusterConfig) -> None:
    old, new = spec_of(source.stream), spec_of(target.stream)
    if source.stream != target.stream and not (old.matches_records and new.holds_copies):
        raise ConfigError(
            f"source and target: expected two clusters of one stream, found {source.stream!r} and {target.stream!r}, "
            "between which no position can be translated.",
            fix="Correct `stream` of one of them.",
        )
    addresses = old.addresses
    shared = addresses(source.properties) & new.addresses(target.properties)
    if shared:
        raise ConfigError(
            f"source and target: expected two clusters, found {min(shared)} in the bootstrap.servers of both, "
            "so everything would be compared with itself.",
            fix="Correct bootstrap.servers of one of them.",
        )
    for what, value, other in (("name", source.name, target.name), ("alias", source.alias, target.alias)):
        if value == other:
            raise ConfigError(
                f"source.{what} and target.{what}: expected two different ones, found {value!r} twice, "
                "so nobody could tell the clusters apart.",
                fix=f"Change one {what}.",
            )


def load_migration(path: Path) -> Migration:
    """Read a migration file.

    Raises:
        ConfigError: Unreadable, not YAML, or not a migration; the message names file, key and remedy.
        ForbiddenPropertyError: A client property that is not on the allow-list.
    """
    return read(path, Migration, _FILE)


def java_properties(cluster: ClusterConfig) -> ClientProperties:
    """Return the Java client's properties of a cluster, without Spark's `kafka.` prefix, secrets resolved.

    Raises:
        SecretError: A reference cannot be resolved.
        ConfigError: A property that the Java client has no equivalent for.
    """
    return allowed.to_java(client_properties(cluster), where=f"cluster {cluster.name!r}: properties")


def spark_properties(migration: Migration) -> Mapping[Cluster, ClientProperties]:
    """Return Spark's properties for each cluster; called first, so that an unmappable property stops everything.

    Raises:
        SecretError: A reference cannot be resolved.
        ConfigError: A property that the Java client has no equivalent for.
    """
    return {side: java_properties(migration.cluster(side)) for side in Cluster}
