"""The begin and end of many partitions' logs, with a limited number of calls, however many partitions.

librdkafka sends one ListOffsets request per leader and call. Its negative values for "none" are converted here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from math import ceil
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as RequestedPartition

from offsetwise.client_properties import AddressedCluster
from offsetwise.client_properties.kafka_python import ONLY_LIBRDKAFKA
from offsetwise.errors import ClusterError
from offsetwise.findings.logs import topic_missing
from offsetwise.model import LogWriter, TopicPartition
from offsetwise.plugins.kafka.stream.client import NO_LEADER, Client, Failure, failure
from offsetwise.ports.log_observations import LogEnd, LogsLook, SeenLog
from offsetwise.transactions.observed import UnsupportedBrokerError

Key: TypeAlias = tuple[str, int]
"""Topic and partition. A tuple, because there may be many thousands."""
Call: TypeAlias = tuple[Sequence[Key], Future[Any]]
Asked: TypeAlias = tuple[Call, ...]

EARLIEST: Final = -2
"""Requests the log start instead of a timestamp: Kafka's own number in a ListOffsets request."""
LATEST: Final = -1
"""Requests the high watermark, or with read_committed the last stable offset."""
CALLS: Final = 16
"""Maximum calls per request: librdkafka searches the partitions of a call once for each of its answers, so that one
call for 10,000 partitions takes a third of a second, and 16 for 625 each a twentieth of that."""
PARTITIONS_PER_CALL: Final = 500
"""Minimum partitions of a call."""


class LogAnswer(NamedTuple):
    """A leader's answer for one partition. `offset` None without `error`: there is no such record."""

    offset: int | None = None
    leader_epoch: int | None = None
    error: Failure | None = None


_NOTHING: Final = LogAnswer()
_SILENT: Final = LogAnswer(error=failure(TimeoutError()))


def ask_logs(client: Client, topics: Mapping[str, Any]) -> dict[str, Asked]:
    """Request log start, high watermark and last stable offset of every partition that has a leader.

    Args:
        client: A client that has been in contact.
        topics: Topic names to librdkafka's metadata.

    Returns:
        The pending requests: `earliest`, `latest` (high watermark) and `stable` (last stable offset).
    """
    # One partition without a leader would delay the answers for all others until the time-out.
    led = [
        (name, number)
        for name, metadata in topics.items()
        for number, partition in metadata.partitions.items()
        if partition.leader >= 0
    ]
    return _ask_range(client, led)


def _ask_range(client: Client, keys: Sequence[Key]) -> dict[str, Asked]:
    return {
        "earliest": list_offsets(client, dict.fromkeys(keys, EARLIEST)),
        "latest": list_offsets(client, dict.fromkeys(keys, LATEST)),
        "stable": list_offsets(client, dict.fromkeys(keys, LATEST), committed=True),
    }


def list_offsets(client: Client, requested: Mapping[Key, int], *, committed: bool = False, calls: int = CALLS) -> Asked:
    """Request EARLIEST, LATEST, or the offset at a timestamp (epoch ms), of many partitions in up to `calls` calls."""
    return tuple(
        (
            keys,
            client.admin.list_offsets_together(
                [RequestedPartition(topic, number, requested[topic, number]) for topic, number in keys],
                committed=committed,
                timeout_s=client.deadline.left_s(),
            ),
        )
        for keys in shares(tuple(requested), calls)
    )


def shares(keys: Sequence[Key], calls: int = CALLS) -> list[Sequence[Key]]:
    size = max(PARTITIONS_PER_CALL, ceil(len(keys) / calls))
    return [keys[first : first + size] for first in range(0, len(keys), size)]


def take_logs(client: Client, requests: Mapping[str, Asked]) -> dict[str, dict[Key, LogAnswer]]:
    """Wait for the answers, until the client's deadline. Every requested partition has one."""
    results = {}
    for kind, calls in requests.items():
        results[kind] = answers = dict[Key, LogAnswer]()
        for keys, future in calls:
            answers |= _answers(client, keys, future)
    return results


def offsets_for_times(
    config: AddressedCluster, times: Mapping[TopicPartition, int], *, timeout_s: float = 20
) -> dict[TopicPartition, int | None]:
    """Return, per partition, the first offset whose timestamp is at or after the given one (epoch ms).

    None if there is no such record, or the broker did not answer. Control markers and records dated in the future
    count, so this is where to search, not a result.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs refused it.
    """
    # Kafka takes a negative timestamp for an end of the log.
    (results,) = _offsets(config, [{partition: max(time, 0) for partition, time in times.items()}], timeout_s)
    return results


def log_ranges(
    config: AddressedCluster, partitions: Iterable[TopicPartition], *, timeout_s: float = 20
) -> dict[TopicPartition, SeenLog]:
    """Return the current begin and end of each partition's log, and its identity; None values if nobody answered.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs refused it.
    """
    requested = [*partitions]
    if not requested:
        return {}
    client = Client(config, timeout_s=timeout_s)
    contacted = client.contact()
    there = [at for at in requested if at.partition in _numbers(contacted.topics.get(at.topic))]
    ids = describe_topics(client, sorted({at.topic for at in there}))
    answers = take_logs(client, _ask_range(client, there))
    names = {topic: topic_id(client, described)[0] for topic, described in ids.items()}
    return {at: _seen_log(at, answers, names, contacted.cluster_id or None) for at in requested}


def look_at_logs(
    config: AddressedCluster, topics: tuple[str, ...], previous: Mapping[TopicPartition, int], *, timeout_s: float = 20
) -> LogsLook:
    client = Client(config, timeout_s=timeout_s)
    contacted = client.contact()
    there = {name: contacted.topics[name] for name in topics if name in contacted.topics}
    led = [
        (name, number)
        for name, topic in there.items()
        for number, partition in topic.partitions.items()
        if partition.leader >= 0
    ]
    answers = take_logs(client, {"latest": _ask(client, led), "stable": _ask(client, led, committed=True)})
    logs = {
        TopicPartition(name, number): _log_end(answers, (name, number))
        for name, topic in there.items()
        for number in topic.partitions
    }
    moved = [at for at, log in logs.items() if at in previous and log.end is not None and log.end != previous[at]]
    return LogsLook(
        cluster_id=contacted.cluster_id or None,
        logs=logs,
        writers=_writers(client, there, moved) if moved else {},
        problems=tuple(
            topic_missing.problem(
                f"Topic {name!r} does not exist on cluster {config.name!r}, or the user may not see it.",
                fix="Correct the topic's name, or grant DESCRIBE on it.",
            )
            for name in sorted(set(topics) - there.keys())
        ),
    )


def _offsets(
    config: AddressedCluster, questions: Sequence[Mapping[TopicPartition, int]], timeout_s: float
) -> list[dict[TopicPartition, int | None]]:
    if not any(questions):
        return [{} for _ in questions]
    client = Client(config, timeout_s=timeout_s)
    metadata = client.contact().topics
    requests = {
        str(number): list_offsets(
            client,
            {
                (partition.topic, partition.partition): spec
                for partition, spec in question.items()
                if partition.topic in metadata and partition.partition in metadata[partition.topic].partitions
            },
        )
        for number, question in enumerate(questions)
    }
    answers = take_logs(client, requests)
    return [
        {at: answers[str(number)].get((at.topic, at.partition), _NOTHING).offset for at in question}
        for number, question in enumerate(questions)
    ]


def _numbers(topic: Any | None) -> Collection[int]:
    return () if topic is None else topic.partitions.keys()


def _seen_log(
    at: TopicPartition,
    answers: Mapping[str, Mapping[Key, LogAnswer]],
    ids: Mapping[str, str | None],
    cluster_id: str | None,
) -> SeenLog:
    start, end, stable = (answers[kind].get(at, _NOTHING) for kind in ("earliest", "latest", "stable"))
    return SeenLog(
        log_start=start.offset,
        hw=end.offset,
        lso=stable.offset,
        leader_epoch=end.leader_epoch,
        topic_id=ids.get(at.topic),
        cluster_id=cluster_id,
    )


def describe_topics(client: Client, names: Sequence[str]) -> dict[str, Future[Any]]:
    if not names:
        return {}
    futures = client.admin.describe_topics(TopicCollection([*names]), request_timeout=client.deadline.left_s())
    return dict(futures)


def topic_id(client: Client, described: Future[Any]) -> tuple[str | None, Failure | None]:
    try:
        return _uuid_text(described.result(timeout=client.deadline.grace_s()).topic_id), None
    except (KafkaException, TimeoutError) as failed:
        return None, failure(failed)


def _uuid_text(topic_id: Any) -> str | None:
    # Kafka prints ids in base64url, librdkafka in standard base64.
    text = str(topic_id).replace("+", "-").replace("/", "_") if topic_id is not None else ""
    return None if text.strip("A=") == "" else text


def _answers(client: Client, keys: Sequence[Key], future: Future[Any]) -> dict[Key, LogAnswer]:
    try:
        results = future.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return dict.fromkeys(keys, LogAnswer(error=failure(error)))
    return dict.fromkeys(keys, _SILENT) | {(at.topic, at.partition): _answer(result) for at, result in results.items()}


def _answer(result: Any) -> LogAnswer:
    if isinstance(result, KafkaError):
        return LogAnswer(error=failure(KafkaException(result)))
    offset, epoch = result.offset, result.leader_epoch
    if offset == OFFSET_INVALID:
        # librdkafka's value for a leader that did not answer, while others did.
        return _SILENT
    return LogAnswer(offset if offset >= 0 else None, epoch if epoch is not None and epoch >= 0 else None)


def _ask(client: Client, led: list[Key], *, committed: bool = False) -> Asked:
    return list_offsets(client, dict.fromkeys(led, LATEST), committed=committed, calls=1)


def _log_end(answers: Mapping[str, Mapping[Key, LogAnswer]], key: Key) -> LogEnd:
    latest, stable = answers["latest"].get(key), answers["stable"].get(key)
    if latest is None or stable is None:
        return LogEnd(end=None, stable=None, error=NO_LEADER.why)
    error = latest.error or stable.error
    return LogEnd(end=latest.offset, stable=stable.offset, error="" if error is None else error.why)


def _writers(
    client: Client, topics: Mapping[str, Any], moved: list[TopicPartition]
) -> dict[TopicPartition, tuple[LogWriter, ...]]:
    """Ask leaders for the producers they remember. Empty if the client or a broker cannot tell: it is only a hint."""
    if not ONLY_LIBRDKAFKA.keys().isdisjoint(client.properties):
        return {}
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second

    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for at in moved:
        by_leader[topics[at.topic].partitions[at.partition].leader].append(at)
    try:
        with Wire(client.config, client.properties, client.deadline) as wire:
            return wire.writers(by_leader)
    except (ClusterError, UnsupportedBrokerError):
        return {}
