"""Where the logs of many partitions begin and end: one call per question, whatever the number of partitions.

librdkafka sends one ListOffsets request per leader and call. Its negative words for "none" end here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import confluent_kafka
from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # re-exported without saying so

from offsetwise.sources.kafka_client import Client, reason

Key: TypeAlias = tuple[str, int]
"""Topic and partition. A tuple, because there may be many thousands."""
Asked: TypeAlias = dict[Key, Future[Any]]

_SPECS: Final[Any] = OffsetSpec
EARLIEST: Final = _SPECS.earliest()
LATEST: Final = _SPECS.latest()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """What a leader answered for one partition. `offset` None without `error`: there is no such record."""

    offset: int | None = None
    leader_epoch: int | None = None
    error: str | None = None


def ask_logs(client: Client, topics: Mapping[str, Any]) -> dict[str, Asked]:
    """Ask for log start, high watermark and last stable offset of every partition that has a leader.

    Args:
        client: A client that has been in contact.
        topics: Topic names to librdkafka's metadata.

    Returns:
        The questions under way: `earliest`, `latest` (high watermark) and `stable` (last stable offset).
    """
    # One partition without a leader would hold up the answers for all others until the time-out.
    led = [
        (name, number)
        for name, metadata in topics.items()
        for number, partition in metadata.partitions.items()
        if partition.leader >= 0
    ]
    return {
        "earliest": list_offsets(client, dict.fromkeys(led, EARLIEST)),
        "latest": list_offsets(client, dict.fromkeys(led, LATEST)),
        "stable": list_offsets(client, dict.fromkeys(led, LATEST), committed=True),
    }


def list_offsets(client: Client, wanted: Mapping[Key, Any], *, committed: bool = False) -> Asked:
    """Put one question for many partitions: EARLIEST, LATEST, or confluent-kafka's OffsetSpec for a time."""
    if not wanted:
        return {}
    keys = {confluent_kafka.TopicPartition(*key): spec for key, spec in wanted.items()}
    futures = client.admin.list_offsets(
        keys,
        isolation_level=IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
        request_timeout=client.deadline.left_s(),
    )
    return {(key.topic, key.partition): future for key, future in futures.items()}


def take_logs(client: Client, asked: Mapping[str, Asked]) -> dict[str, dict[Key, LogAnswer]]:
    """Wait for the answers, until the client's deadline."""
    return {kind: dict(_answers(client, futures.items())) for kind, futures in asked.items()}


def _answers(client: Client, futures: Iterable[tuple[Key, Future[Any]]]) -> Iterable[tuple[Key, LogAnswer]]:
    for partition, future in futures:
        try:
            result = future.result(timeout=client.deadline.grace_s())
        except (KafkaException, TimeoutError) as error:
            yield partition, LogAnswer(error=reason(error))
            continue
        if result.offset == confluent_kafka.OFFSET_INVALID:
            # How librdkafka says that this leader did not answer, while others did.
            yield partition, LogAnswer(error=reason(TimeoutError()))
            continue
        yield (
            partition,
            LogAnswer(
                offset=result.offset if result.offset >= 0 else None,
                leader_epoch=result.leader_epoch if (result.leader_epoch or 0) >= 0 else None,
            ),
        )
