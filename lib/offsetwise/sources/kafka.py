"""Everything one Kafka cluster says: topics, logs, groups, and MirrorMaker's own topics.

Asks in batches: the number of requests depends on brokers and groups, not on partitions. Whatever is not answered in
time is named in the snapshot's `problems`; only a cluster that says nothing at all is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    ConfigResource,
    ResourceType,
)

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterAuthError
from offsetwise.garbage import collected_seldom
from offsetwise.model import Cluster, MirrorState, PartitionState, Problem, Snapshot, TopicPartition, TopicState
from offsetwise.sources.kafka_client import Client, RequestCounter, reason
from offsetwise.sources.kafka_groups import read_groups
from offsetwise.sources.kafka_logs import EARLIEST, Key, LogAnswer, ask_logs, list_offsets, take_logs
from offsetwise.sources.kafka_mirror import read_mirror

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
_NAMED_PARTITIONS: Final = 12
_NOTHING: Final = LogAnswer()


@collected_seldom()
def read_cluster(
    cluster: Cluster,
    config: ClusterConfig,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...],
    if_there: tuple[str, ...] = (),
    mirror: bool = True,
    timeout_s: float = 20,
    counter: RequestCounter | None = None,
) -> Snapshot:
    """Take a snapshot of one cluster.

    Args:
        cluster: Which side of the migration it is.
        config: How to reach it.
        topics: The topics wanted; None for all that are not internal to Kafka.
        groups: The consumer groups wanted.
        if_there: Those of `topics` whose absence is no problem.
        mirror: Whether to read MirrorMaker's own topics.
        timeout_s: When to stop waiting. What is missing by then is named in `problems`.
        counter: Counts the requests of the admin client, for those who measure.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs said no to everything.
        ConfigError: Properties that cannot be used, a secret that is not there.
    """
    taken_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    client = Client(config, timeout_s=timeout_s, counter=counter)
    contacted = client.contact()
    metadata = contacted.topics
    wanted = _wanted(metadata, topics)
    found = {name: metadata[name] for name in wanted if name in metadata}

    asked_logs = ask_logs(client, found)
    asked_ids = client.admin.describe_topics(TopicCollection(wanted), **_within(client)) if wanted else {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in found]
    asked_configs = client.admin.describe_configs(resources, **_within(client)) if found else {}

    group_states, group_problems = read_groups(client, groups)
    mirror_state, mirror_problems = read_mirror(client, metadata) if mirror else (MirrorState(), ())
    logs = take_logs(client, asked_logs)
    states = tuple(
        _topic_state(client, name, found.get(name), logs=logs, ids=asked_ids, configs=asked_configs) for name in wanted
    )
    client.count_requests()
    if topics and all(state.error and "authoris" in state.error for state in states):
        raise ClusterAuthError(
            f"Cluster {config.name!r}: expected to read {len(topics)} topics, but the user is authorised for none of "
            f"them: {', '.join(topics[:5])}. Nothing was read from it.",
            fix="Grant DESCRIBE and DESCRIBE_CONFIGS on the topics to the user in the properties.",
        )
    return Snapshot(
        cluster=cluster,
        name=config.name,
        alias=config.alias,
        cluster_id=contacted.cluster_id or None,
        taken_at=taken_at,
        topics=tuple(state for state in states if not _is_missing(state)),
        groups=group_states,
        mirror=mirror_state,
        problems=(
            *_topic_problems(
                config.name,
                tuple(state for state in states if not (_is_missing(state) and state.name in if_there)),
                asked_for_all=topics is None,
            ),
            *_partition_problems(config.name, states),
            *_config_problems(client, config.name, asked_configs),
            *group_problems,
            *mirror_problems,
        ),
    )


def offsets_for_times(
    config: ClusterConfig, times: Mapping[TopicPartition, int], *, timeout_s: float = 20
) -> dict[TopicPartition, int | None]:
    """Give, per partition, the first offset whose timestamp is at or after the given one (epoch ms).

    None where there is no such record, or the broker gave no answer. Control markers and future-dated records count,
    so this is where to look, never an answer.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs said no.
    """
    # A negative time would be Kafka's word for an end of the log.
    return _offsets(config, {partition: max(time, 0) for partition, time in times.items()}, timeout_s)


def log_starts(
    config: ClusterConfig, partitions: Iterable[TopicPartition], *, timeout_s: float = 20
) -> dict[TopicPartition, int | None]:
    """Give the log start of each partition now; None where the broker gave no answer.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs said no.
    """
    return _offsets(config, dict.fromkeys(partitions, EARLIEST), timeout_s)


def _offsets(
    config: ClusterConfig, wanted: Mapping[TopicPartition, int], timeout_s: float
) -> dict[TopicPartition, int | None]:
    if not wanted:
        return {}
    client = Client(config, timeout_s=timeout_s)
    metadata = client.contact().topics
    known = {
        (partition.topic, partition.partition): spec
        for partition, spec in wanted.items()
        if partition.topic in metadata and partition.partition in metadata[partition.topic].partitions
    }
    answers = take_logs(client, {"asked": list_offsets(client, known)})
    return {at: answers["asked"].get((at.topic, at.partition), _NOTHING).offset for at in wanted}


def _wanted(metadata: Mapping[str, Any], topics: tuple[str, ...] | None) -> list[str]:
    if topics is not None:
        return sorted(set(topics))
    return sorted(name for name in metadata if not name.startswith(_INTERNAL_PREFIX))


def _within(client: Client) -> dict[str, float]:
    return {"request_timeout": client.deadline.left_s()}


def _topic_state(
    client: Client,
    name: str,
    metadata: Any | None,
    *,
    logs: Mapping[str, Mapping[Key, LogAnswer]],
    ids: Mapping[str, Future[Any]],
    configs: Mapping[ConfigResource, Future[Any]],
) -> TopicState:
    topic_id, error = None, None
    try:
        topic_id = _uuid_text(ids[name].result(timeout=client.deadline.grace_s()).topic_id)
    except (KafkaException, TimeoutError) as failed:
        error = reason(failed)
    if metadata is None:
        # A topic that the user may not see is left out of the metadata; only a question by name tells the difference.
        return TopicState(name=name, error=error or "it does not exist")
    partitions = tuple(
        _partition_state((name, number), partition, logs) for number, partition in sorted(metadata.partitions.items())
    )
    config = _config_of(client, configs, name)
    return TopicState(name=name, id=topic_id, partitions=partitions, config=config, error=error)


def _is_missing(state: TopicState) -> bool:
    return not state.partitions and state.error == "it does not exist"


def _uuid_text(topic_id: Any) -> str | None:
    # Kafka prints ids in the alphabet for URLs, librdkafka in the ordinary one.
    text = str(topic_id).replace("+", "-").replace("/", "_") if topic_id is not None else ""
    return None if text.strip("A=") == "" else text


def _partition_state(key: Key, metadata: Any, logs: Mapping[str, Mapping[Key, LogAnswer]]) -> PartitionState:
    earliest, latest, stable = (logs[kind].get(key, _NOTHING) for kind in ("earliest", "latest", "stable"))
    leader = metadata.leader if metadata.leader >= 0 else None
    error = next((answer.error for answer in (earliest, latest, stable) if answer.error), None)
    if leader is None:
        error = "it has no leader at the moment"
    return PartitionState(
        partition=key[1],
        leader=leader,
        leader_epoch=latest.leader_epoch,
        log_start=earliest.offset,
        hw=latest.offset,
        lso=stable.offset,
        error=error,
    )


def _config_of(client: Client, asked: Mapping[ConfigResource, Future[Any]], name: str) -> tuple[tuple[str, str], ...]:
    future = asked.get(ConfigResource(ResourceType.TOPIC, name))
    if future is None:
        return ()
    try:
        entries = future.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError):
        return ()
    return tuple((key, entries[key].value) for key in CONFIGS if key in entries and entries[key].value is not None)


def _topic_problems(cluster: str, states: tuple[TopicState, ...], *, asked_for_all: bool) -> list[Problem]:
    made = []
    if asked_for_all and not states:
        made.append(
            Problem(
                code="TOPIC_MISSING",
                message=f"Cluster {cluster!r} shows no topic: it is empty, or the user may not see any.",
                fix="Grant DESCRIBE on the topics, or check that this is the right cluster.",
            )
        )
    for state in states:
        if _is_missing(state):
            made.append(
                Problem(
                    code="TOPIC_MISSING",
                    message=f"Topic {state.name!r} does not exist on cluster {cluster!r}, or the user may not see it.",
                    fix="Create or mirror it, correct `topics` in the migration file, or grant DESCRIBE on it.",
                )
            )
        elif state.error:
            made.append(
                Problem(
                    code="TOPIC_UNREADABLE",
                    message=f"Topic {state.name!r} on cluster {cluster!r} was not described: {state.error}.",
                    fix="Grant DESCRIBE on it." if "authoris" in state.error else "Take the snapshot again.",
                )
            )
    return made


def _partition_problems(cluster: str, states: tuple[TopicState, ...]) -> list[Problem]:
    by_reason: dict[str, list[str]] = {}
    for state in states:
        for partition in state.partitions:
            if partition.error:
                by_reason.setdefault(partition.error, []).append(f"{state.name}-{partition.partition}")
    return [
        Problem(
            code="PARTITION_UNREADABLE",
            message=f"{len(names)} partitions of cluster {cluster!r} were not read, because {why}: {_some(names)}.",
            fix="Check the brokers that lead them, then take the snapshot again.",
        )
        for why, names in by_reason.items()
    ]


def _config_problems(client: Client, cluster: str, asked: Mapping[ConfigResource, Future[Any]]) -> list[Problem]:
    by_reason: dict[str, list[str]] = {}
    for resource, future in asked.items():
        try:
            future.result(timeout=client.deadline.grace_s())
        except (KafkaException, TimeoutError) as error:
            by_reason.setdefault(reason(error), []).append(resource.name)
    return [
        Problem(
            code="CONFIG_UNREADABLE",
            message=f"The configuration of {len(names)} topics of cluster {cluster!r} was not read, because {why}: "
            f"{_some(names)}.",
            fix="Grant DESCRIBE_CONFIGS on them." if "authoris" in why else "Take the snapshot again.",
        )
        for why, names in by_reason.items()
    ]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED_PARTITIONS} more" if len(names) > _NAMED_PARTITIONS else ""
    return ", ".join(names[:_NAMED_PARTITIONS]) + more
