"""The whole state of one Kafka cluster: topics, logs, groups, and MirrorMaker's own topics.

Requests are batched: their number depends on brokers and groups, not on partitions. What is not answered in time is in
the snapshot's `problems`; only a cluster that does not answer at all is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    ConfigResource,
    ResourceType,
)

from offsetwise.client_properties import AddressedCluster
from offsetwise.errors import ClusterAuthError
from offsetwise.findings.logs import topic_missing
from offsetwise.findings.reading import config_unreadable, partition_unreadable, topic_unreadable
from offsetwise.garbage import collected_seldom
from offsetwise.model import (
    Cluster,
    GroupState,
    MirrorState,
    PartitionState,
    Problem,
    Snapshot,
    TopicPartition,
    TopicState,
    time_of,
)
from offsetwise.plugins.kafka.stream.client import NO_LEADER, NOT_THERE, Client, Failure, RequestCounter, failure
from offsetwise.plugins.kafka.stream.groups import read_groups
from offsetwise.plugins.kafka.stream.logs import Asked, Key, LogAnswer, ask_logs, describe_topics, take_logs, topic_id
from offsetwise.plugins.kafka.stream.mirror import read_mirror

CONFIGS: Final = (
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""The topic configurations that matter for a migration."""

_INTERNAL_PREFIX: Final = "__"
_NOTHING: Final = LogAnswer()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReading:
    cluster: Cluster
    config: AddressedCluster
    cluster_id: str | None
    taken_at: str
    topics: Mapping[str, TopicState]
    failures: Mapping[str, Failure | None]
    """Why a topic could not be read, for every requested topic; None if it was read."""
    config_failures: Mapping[str, Failure]
    groups: tuple[GroupState, ...]
    group_problems: tuple[tuple[str | None, Problem], ...]
    mirror: MirrorState
    mirror_problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        return self.config.name

    def snapshot(
        self, topics: Collection[str] | None, groups: Collection[str] | None, *, if_there: Collection[str] = ()
    ) -> Snapshot:
        """Return a part of the reading, as if nothing else had been requested.

        Args:
            topics: The requested topics; None for all that were read.
            groups: The requested groups; None for all that were read.
            if_there: Those of `topics` whose absence is not a problem.

        Raises:
            ClusterAuthError: The user may read none of the topics.
        """
        names = sorted(self.failures if topics is None else set(topics))
        failures = {name: self.failures[name] for name in names}
        if topics and all(why is not None and why.denied for why in failures.values()):
            raise self._not_authorised(topics)
        states = tuple(self.topics[name] for name in names)
        missing = {state.name for state in states if _is_missing(state, failures[state.name])}
        results = {name: why for name, why in failures.items() if not (name in missing and name in if_there)}
        name = self.config.name
        return Snapshot(
            cluster=self.cluster,
            name=name,
            alias=self.config.alias,
            cluster_id=self.cluster_id,
            taken_at=self.taken_at,
            topics=tuple(state for state in states if state.name not in missing),
            groups=tuple(group for group in self.groups if groups is None or group.name in groups),
            mirror=self.mirror,
            problems=(
                *_topic_problems(name, results, missing, asked_for_all=topics is None),
                *_partition_problems(name, states),
                *_config_problems(name, {topic: self.config_failures.get(topic) for topic in names}),
                *self._problems_of(groups),
                *self.mirror_problems,
            ),
        )

    def _problems_of(self, groups: Collection[str] | None) -> Iterator[Problem]:
        for group, problem in self.group_problems:
            if groups is None or group is None or group in groups:
                yield problem

    def _not_authorised(self, topics: Collection[str]) -> ClusterAuthError:
        return ClusterAuthError(
            f"Cluster {self.config.name!r}: expected to read {len(topics):,} topics, but the user is authorised for "
            f"none of them: {', '.join([*topics][:5])}. Nothing was read from it.",
            fix="Grant DESCRIBE and DESCRIBE_CONFIGS on the topics to the user in the properties.",
        )


@collected_seldom()
def read_whole(
    cluster: Cluster,
    config: AddressedCluster,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...] | None,
    mirror: bool = True,
    timeout_s: float = 20,
    counter: RequestCounter | None = None,
) -> ClusterReading:
    """Read one cluster once, for snapshots of any part of it.

    Args:
        cluster: Which side of the migration it is.
        config: How to reach it.
        topics: The requested topics; None for all that are not internal to Kafka.
        groups: The requested consumer groups; None for all that the cluster lists.
        mirror: Whether to read MirrorMaker's own topics.
        timeout_s: When to stop waiting. What is missing by then is in the problems of the snapshots.
        counter: Counts the requests of the admin client, for measurements.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS or SASL refused it.
        ConfigError: Properties cannot be used, or a secret is missing.
    """
    taken_at = time_of(datetime.now(UTC))
    client = Client(config, timeout_s=timeout_s, counter=counter)
    contacted = client.contact()
    requests = _TopicRequests.send(client, contacted.topics, _requested_topics(contacted.topics, topics))
    group_states, group_problems = read_groups(client, groups, contacted.topics)
    mirror_state, mirror_problems = read_mirror(client, contacted.topics) if mirror else (MirrorState(), [])
    topic_states, failures, config_failures = requests.results()
    client.count_requests()
    return ClusterReading(
        cluster=cluster,
        config=config,
        cluster_id=contacted.cluster_id or None,
        taken_at=taken_at,
        topics=topic_states,
        failures=failures,
        config_failures=config_failures,
        groups=group_states,
        group_problems=tuple(group_problems),
        mirror=mirror_state,
        mirror_problems=tuple(mirror_problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _TopicRequests:
    client: Client
    names: Sequence[str]
    metadata: Mapping[str, Any]
    """librdkafka's metadata of the existing topics."""
    logs: Mapping[str, Asked]
    descriptions: Mapping[str, Future[Any]]
    configs: Mapping[ConfigResource, Future[Any]]

    @classmethod
    def send(cls, client: Client, metadata: Mapping[str, Any], names: Sequence[str]) -> Self:
        existing = {name: metadata[name] for name in names if name in metadata}
        logs = ask_logs(client, existing)
        ids = describe_topics(client, names)
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in existing]
        configs = client.admin.describe_configs(resources, **_within(client)) if existing else {}
        return cls(client=client, names=names, metadata=existing, logs=logs, descriptions=ids, configs=configs)

    def results(self) -> tuple[dict[str, TopicState], dict[str, Failure | None], dict[str, Failure]]:
        logs = take_logs(self.client, self.logs)
        ids = {name: topic_id(self.client, self.descriptions[name]) for name in self.names}
        failures = {name: ids[name][1] or (None if name in self.metadata else NOT_THERE) for name in self.names}
        configs = {resource.name: _config(self.client, future) for resource, future in self.configs.items()}
        states = {
            name: _topic_state(
                name,
                self.metadata.get(name),
                topic_id=ids[name][0],
                failure=failures[name],
                logs=logs,
                config=configs[name][0] if name in configs else (),
            )
            for name in self.names
        }
        return states, failures, {name: why for name, (_, why) in configs.items() if why is not None}


def _requested_topics(metadata: Mapping[str, Any], topics: tuple[str, ...] | None) -> list[str]:
    if topics is not None:
        return sorted(set(topics))
    return sorted(name for name in metadata if not name.startswith(_INTERNAL_PREFIX))


def _is_missing(state: TopicState, why: Failure | None) -> bool:
    return why is not None and why.missing and not state.partitions


def _within(client: Client) -> dict[str, float]:
    return {"request_timeout": client.deadline.left_s()}


def _topic_state(
    name: str,
    metadata: Any | None,
    *,
    topic_id: str | None,
    failure: Failure | None,
    logs: Mapping[str, Mapping[Key, LogAnswer]],
    config: tuple[tuple[str, str], ...],
) -> TopicState:
    error = None if failure is None else failure.why
    if metadata is None:
        # A topic that the user may not see is missing in the metadata; only a request by name shows the difference.
        return TopicState(name=name, error=error)
    partitions = tuple(
        _partition_state((name, number), partition, logs) for number, partition in sorted(metadata.partitions.items())
    )
    return TopicState(name=name, id=topic_id, partitions=partitions, config=config, error=error)


def _partition_state(key: Key, metadata: Any, logs: Mapping[str, Mapping[Key, LogAnswer]]) -> PartitionState:
    earliest, latest, stable = (logs[kind].get(key, _NOTHING) for kind in ("earliest", "latest", "stable"))
    leader = metadata.leader if metadata.leader >= 0 else None
    errors = (answer.error for answer in (earliest, latest, stable))
    error = NO_LEADER if leader is None else next((failure for failure in errors if failure is not None), None)
    if earliest.offset is not None and latest.offset is not None and earliest.offset > latest.offset:
        begins, ends = f"begins at {earliest.offset:,}", f"ends at {latest.offset:,}"
        error = Failure(f"its broker gave a log that {begins} and {ends}, which none does")
        earliest = latest = stable = _NOTHING
    return PartitionState(
        partition=key[1],
        leader=leader,
        leader_epoch=latest.leader_epoch,
        log_start=earliest.offset,
        hw=latest.offset,
        lso=stable.offset,
        error=None if error is None else error.why,
    )


def _config(client: Client, described: Future[Any]) -> tuple[tuple[tuple[str, str], ...], Failure | None]:
    try:
        entries = described.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return (), failure(error)
    known = tuple((key, entries[key].value) for key in CONFIGS if key in entries and entries[key].value is not None)
    return known, None


def _topic_problems(
    cluster: str, failures: Mapping[str, Failure | None], missing: Collection[str], *, asked_for_all: bool
) -> Iterator[Problem]:
    if asked_for_all and not failures:
        yield topic_missing.problem(
            f"Cluster {cluster!r} shows no topic: it is empty, or the user may not see any.",
            fix="Grant DESCRIBE on the topics, or check that this is the right cluster.",
        )
    for name, why in failures.items():
        if name in missing:
            yield topic_missing.problem(
                f"Topic {name!r} does not exist on cluster {cluster!r}, or the user may not see it.",
                fix="Create or mirror it, correct `topics` in the migration file, or grant DESCRIBE on it.",
            )
        elif why is not None:
            yield from topic_unreadable(name, cluster, why.why, denied=why.denied)


def _partition_problems(cluster: str, states: tuple[TopicState, ...]) -> Iterator[Problem]:
    by_reason: dict[str, list[str]] = {}
    for state in states:
        for partition in state.partitions:
            if partition.error:
                by_reason.setdefault(partition.error, []).append(str(TopicPartition(state.name, partition.partition)))
    for why, names in by_reason.items():
        yield from partition_unreadable(cluster, names, why)


def _config_problems(cluster: str, failures: Mapping[str, Failure | None]) -> Iterator[Problem]:
    by_reason: dict[Failure, list[str]] = {}
    for name, why in failures.items():
        if why is not None:
            by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        yield from config_unreadable(cluster, names, why.why, denied=why.denied)
