from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    StrictInt,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from offsetwise import client_properties as allowed
from offsetwise.client_properties import Kind
from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.client_properties.sign_on import SignOn
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
from offsetwise.config.plugin_keys import JobKeys, OpenSection
from offsetwise.model import Cluster, OffsetReset
from offsetwise.registry import JOB_KEYS, STREAMS
from offsetwise.strict_yaml import Section

_K = TypeVar("_K", bound=JobKeys)
_J = TypeVar("_J", bound="JobTraits")


class ClusterConfig(Section):
    """How to reach one cluster. `properties` has librdkafka's names; secrets are references."""

    name: Label
    alias: Label = ""
    """MirrorMaker's alias of the cluster; by default the name."""
    stream: str = "kafka"
    """The name of a registered stream."""
    properties: Mapping[str, Scalar]
    _folder: str | None = PrivateAttr(default=None)

    @property
    def folder(self) -> str | None:
        """The folder of the file that states it; None without a file."""
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
    """Explicit old to new names; they override the policy."""

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
        """Return the old topic's name; None for a topic that no old one maps to.

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


class JobTraits(OpenSection, JobKeys):
    """What the operator states about the job. None means not stated."""

    registry = JOB_KEYS
    stateful: StrictBool | None = None
    auto_offset_reset: OffsetReset | None = None
    """For groups: the client's setting, which decides where it begins in a partition without a commit."""
    watermark_ms: Annotated[StrictInt, Field(ge=0)] | None = None
    sink: Label | None = None
    """The kind of the job's sink, in one word: delta, iceberg, hudi, file, kafka, …"""
    tolerates_replay: StrictBool | None = None
    new_checkpoint: Location | None = None
    """The checkpoint of the moved job, if the plan writes none from which it continues."""
    produces: tuple[TopicName, ...] = ()
    """The topics of the old cluster that the job writes, which other jobs may read."""
    commits_to: Label | None = None
    """The consumer group that the job commits its offsets to, as Flink does at every checkpoint."""
    transaction_timeout_ms: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)] | None = None
    """Flink: `transaction.timeout.ms` of the sink's producer, 32 bits in Kafka; by default an hour, as in KafkaSink."""
    sink_servers: Label | None = None
    """Flink: HOST:PORT of the cluster that the sink writes to, for the commands that read its transactions."""
    sink_cluster: Label | None = None
    """Flink: the name of that cluster here: `old`, `new`, or a name of `sinks`."""
    new_sink_cluster: Label | None = None
    """Flink: the cluster that the sink writes to once the job has moved; by default the same."""

    @classmethod
    def model(cls, key: str) -> type[JobKeys]:
        def check(kind: type[JobKeys]) -> None:
            if key not in kind.model_fields:
                raise ValueError(f"{kind.__name__} has no key {key!r}")
            for name in kind.model_fields:
                if name in JobTraits.model_fields or name not in JOB_KEYS or JOB_KEYS.load(name) is not kind:
                    raise ValueError(f"{kind.__name__} has the key {name!r}, which is not registered for it")

        return JOB_KEYS.load_class(key, JobKeys, check)

    @classmethod
    def joined(cls, models: Mapping[str, type[Section]]) -> type[Self]:
        return _joined(cls, tuple(dict.fromkeys(models.values())))

    def part(self, kind: type[_K]) -> _K:
        """Return the part of the traits with the keys of one plug-in."""
        return self if isinstance(self, kind) else kind()

    def stating(self, keys: Mapping[str, str]) -> JobTraits:
        """Return the traits with more keys of plug-ins, except those that are already stated."""
        stated = dict(keys) | {key: value for key, value in self if value is not None}
        models = JobTraits.models(stated.keys() - JobTraits.model_fields.keys())
        return JobTraits.joined(models).model_construct(**stated)

    @property
    def states_reset(self) -> bool:
        return self.auto_offset_reset not in (None, OffsetReset.NONE)


@cache
def _joined(section: type[_J], kinds: tuple[type[Any], ...]) -> type[_J]:
    return create_model(section.__name__, __base__=(*kinds, section), __module__=__name__, __doc__=section.__doc__)


class CheckpointConfig(Section):
    """One checkpoint of the migration."""

    name: Label
    uri: Location
    job: SerializeAsAny[JobTraits] = JobTraits()
    belongs_to: Cluster | None = None
    """The cluster of its offsets, if the operator states it."""


class SectionEntry(Section):
    """One entry of a top-level list of a plug-in: a job, or something that belongs to one."""

    name: Label

    @property
    def checkpoint(self) -> CheckpointConfig | None:
        """The job as a checkpoint that is moved; None if it is no job."""
        return None

    @property
    def root(self) -> str | None:
        """What may be read of the job whatever `checkpoint_roots` says; None if only these decide."""
        return None

    @property
    def address(self) -> ConnectorAddress | None:
        """The address of its Kafka Connect connector; None if it is none."""
        return None

    def sign_on_at(self, address: str) -> SignOn | None:  # noqa: ARG002 - subclasses use it
        """Return the credentials for a job's address; None if it has none."""
        return None


class GroupConfig(Section):
    """One consumer group of the migration: its name, or the name with what is stated about its job."""

    name: Label
    job: SerializeAsAny[JobTraits] = JobTraits()


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
        """The folder of the file that states it; None without a file."""
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
    """Kinesis: how much earlier than its original a copy may seem to have arrived, by the clocks of both sides."""


class TrustedKey(Section):
    """A reviewer's key, and whose it is."""

    file: Location
    """The `.pub` file."""
    issuer: PersonName
    subject: PersonName
    vouches_for: Annotated[tuple[PersonName, ...], Field(min_length=1)] | None = None
    """For a console's key: the issuers of the people it may sign for."""


class ApprovalSettings(Section):
    """Whose approval counts when a plan of this migration is applied."""

    required: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    """How many people must approve, each with a key of their own."""
    trusted_keys: Annotated[tuple[TrustedKey, ...], Field(min_length=1)] | None = None
    """With keys named on the command line too, only those in both count."""
    max_lifetime_hours: Annotated[StrictInt, Field(ge=1, le=8_784)] | None = None
    """The longest time from an approval to its expiry; 720 by default."""
    clock_skew_s: Annotated[StrictInt, Field(ge=0, le=3_600)] | None = None
    """How far an approver's clock may be ahead of the applier's; 120 by default."""

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
