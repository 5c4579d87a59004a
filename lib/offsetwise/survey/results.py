from __future__ import annotations

from dataclasses import dataclass

from offsetwise.config import NamingPolicy
from offsetwise.model import Cluster, Link
from offsetwise.model.offsets import Time


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCluster:
    """One cluster as it was given, and what it said. The numbers are null where it gave no answer."""

    properties: tuple[tuple[str, str], ...]
    """Of a client, by librdkafka's names; secrets are references."""
    left_out: tuple[tuple[str, str], ...]
    """Properties of the file given that a migration file does not have, by name, and why."""
    alias: str
    """What MirrorMaker calls it; `old` or `new` where nothing says."""
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
    """Old topics that the new cluster has under no name that could be told."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCheckpoint:
    """One checkpoint below a root."""

    name: str
    """What it is called in the file: its path below the root."""
    uri: str
    left_out: str | None = None
    """Why no comparison of it is possible, so that it is a comment in the file; None where one is."""
    engine: str | None = None
    job_id: str | None = None
    belongs_to: Cluster | None = None
    reason: str = ""
    """Why it belongs there, or why that cannot be told."""
    problems: tuple[str, ...] = ()
    """What blocks a move of it, as `inspect` says."""
    sources: int = 0
    """Of the job, of any kind."""
    topics: tuple[str, ...] = ()
    partitions: int = 0
    shards: int = 0
    """How many positions it has in shards of a stream, which a survey of clusters does not compare."""
    stateful: bool | None = None
    watermark: bool = False
    """Whether it works with one; its delay is not told."""
    transactional_id_prefixes: tuple[str, ...] = ()
    """Of the Kafka sinks that write in transactions."""
    commits_to: str | None = None
    """The consumer group that holds exactly its positions."""
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
    """Why it is no job of its own, so that it is a comment in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedConnector:
    """One connector of Kafka Connect."""

    name: str
    """What it is called in the file."""
    connector: str
    """As Kafka Connect calls it."""
    urls: tuple[str, ...]
    """Of the workers."""
    kind: str
    """`sink` or `source`."""
    state: str
    """In Kafka Connect's words, when the workers were asked."""
    topics: str
    """Of a sink, or their pattern, as its configuration states them."""
    evidence: str
    """What shows which cluster it reads."""
    sign_on: tuple[tuple[str, str], ...] = ()
    """How to sign on there, by the keys of the migration file; secrets are references."""
    cluster: Cluster | None = None
    group: str | None = None
    """The consumer group that holds the offsets of a sink; None where nobody asked."""
    partitions: int = 0
    """How many offsets it has; none where they are not known."""
    problems: tuple[str, ...] = ()
    """What blocks a move of it, as `inspect` says."""
    left_out: str | None = None
    """Why it cannot be moved, so that it is a comment in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValue:
    """What nobody but a person can say."""

    key: str
    """Of the migration file."""
    write: str
    """What to write there, and what for."""


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
    """Groups of the old cluster that have committed nothing in a mirrored topic."""
    variables: tuple[str, ...]
    """Variables of the environment that the file refers to and that are not set."""
    missing: tuple[MissingValue, ...]
    problems: tuple[Trouble, ...]
    file: str | None = None
    written: bool = False
    schema_file: str | None = None
    """The JSON Schema beside a new file, by which editors complete it; null where another file has its name."""
    differences: tuple[str, ...] = ()
    """Of an update: where the file says something else than was found. It keeps what it says."""
    diff: str = ""
    """Of an update: what is added, as a unified diff."""
