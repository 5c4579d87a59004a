from __future__ import annotations

from dataclasses import dataclass

from offsetwise.config import NamingPolicy
from offsetwise.model import Cluster, Link
from offsetwise.model.offsets import Time


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCluster:
    """One cluster as it was given, and what it said. The numbers are null where it gave no answer."""

    properties: tuple[tuple[str, str], ...]
    """librdkafka's properties; secrets are references."""
    left_out: tuple[tuple[str, str], ...]
    """(name, reason) of properties in the given file that a migration file does not have."""
    alias: str
    """MirrorMaker's alias; `old` or `new` if unknown."""
    cluster_id: str | None = None
    topics: int | None = None
    """Without Kafka's and MirrorMaker's own."""
    partitions: int | None = None
    groups: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedLink:
    """How records seem to come to the new cluster; None where nothing tells."""

    link: Link | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedTopics:
    """What the new topics are called."""

    policy: NamingPolicy
    separator: str
    map: tuple[tuple[str, str], ...]
    """Old and new names that the policy does not give."""
    unmatched: tuple[str, ...]
    """Old topics without a recognized name on the new cluster."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCheckpoint:
    """One checkpoint below a root."""

    name: str
    """The name in the file: its path below the root."""
    uri: str
    left_out: str | None = None
    """Why it cannot be compared, so that it is a comment in the file; None if it can."""
    engine: str | None = None
    job_id: str | None = None
    belongs_to: Cluster | None = None
    reason: str = ""
    """Why it belongs there, or why that is unknown."""
    problems: tuple[str, ...] = ()
    """The blocking problems, as `inspect` reports them."""
    sources: int = 0
    """The number of the job's sources, of any kind."""
    topics: tuple[str, ...] = ()
    partitions: int = 0
    shards: int = 0
    """How many positions it has in shards of a stream, which a survey of clusters does not compare."""
    stateful: bool | None = None
    watermark: bool = False
    """Whether it uses one; its delay is unknown."""
    transactional_id_prefixes: tuple[str, ...] = ()
    """Of the Kafka sinks that write in transactions."""
    commits_to: str | None = None
    """The consumer group with exactly its positions."""
    may_commit_to: tuple[str, ...] = ()
    """Groups with other offsets in exactly its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedGroup:
    """One consumer group of the old cluster that reads mirrored topics."""

    name: str
    topics: tuple[str, ...]
    partitions: int
    state: str | None
    left_out: str | None = None
    """Why it is no separate job, so that it is a comment in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedConnector:
    """One connector of Kafka Connect."""

    name: str
    """The name in the file."""
    connector: str
    """The name in Kafka Connect."""
    urls: tuple[str, ...]
    """Of the workers."""
    kind: str
    """`sink` or `source`."""
    state: str
    """Kafka Connect's state when the workers were read."""
    topics: str
    """The topics of a sink, or their pattern, from its configuration."""
    evidence: str
    """What shows which cluster it reads."""
    sign_on: tuple[tuple[str, str], ...] = ()
    """The credentials, by the keys of the migration file; secrets are references."""
    cluster: Cluster | None = None
    group: str | None = None
    """The consumer group with the offsets of a sink; None if it was not read."""
    partitions: int = 0
    """The number of its offsets; 0 if they are unknown."""
    problems: tuple[str, ...] = ()
    """The blocking problems, as `inspect` reports them."""
    left_out: str | None = None
    """Why it cannot be moved, so that it is a comment in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValue:
    """What nobody but a person can say."""

    key: str
    """The key in the migration file."""
    write: str
    """What to write there, and its purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What could not be read, or cannot be right. The rest was found."""

    problem: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found, what is missing, and what was written."""

    taken_at: Time
    old: SurveyedCluster
    new: SurveyedCluster
    link: SurveyedLink
    topics: SurveyedTopics
    roots: tuple[str, ...]
    checkpoints: tuple[SurveyedCheckpoint, ...]
    groups: tuple[SurveyedGroup, ...]
    connectors: tuple[SurveyedConnector, ...]
    other_groups: int
    """Groups of the old cluster without commits in mirrored topics."""
    variables: tuple[str, ...]
    """Environment variables that the file refers to and that are not set."""
    missing: tuple[MissingValue, ...]
    problems: tuple[Trouble, ...]
    file: str | None = None
    written: bool = False
    schema_file: str | None = None
    """The JSON Schema next to a new file, for completion in editors; null if another file has its name."""
    differences: tuple[str, ...] = ()
    """For an update: values of the file that differ from what was found. They are kept."""
    diff: str = ""
    """For an update: the additions, as a unified diff."""
