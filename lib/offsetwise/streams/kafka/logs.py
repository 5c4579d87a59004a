"""Where the logs of many partitions begin and end: a bounded number of calls per question, however many partitions.

librdkafka sends one ListOffsets request per leader and call. Its negative words for "none" end here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from math import ceil
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from offsetwise.streams.kafka.client import Client, Failure, failure

Key: TypeAlias = tuple[str, int]
"""Topic and partition. A tuple, because there may be many thousands."""
Call: TypeAlias = tuple[Sequence[Key], Future[Any]]
Asked: TypeAlias = tuple[Call, ...]

EARLIEST: Final = -2
"""Asks for the log start in place of a time: Kafka's own number in a ListOffsets request."""
LATEST: Final = -1
"""Asks for the high watermark, or with read_committed the last stable offset."""
CALLS: Final = 16
"""The most calls per question: librdkafka searches the partitions of a call once for each of its answers, so that one
call for 10,000 partitions takes a third of a second, and 16 for 625 each a twentieth of that."""
PARTITIONS_PER_CALL: Final = 500
"""Fewer are not worth a call of their own."""


class LogAnswer(NamedTuple):
    """What a leader answered for one partition. `offset` None without `error`: there is no such record."""

    offset: int | None = None
    leader_epoch: int | None = None
    error: Failure | None = None


_SILENT: Final = LogAnswer(error=failure(TimeoutError()))


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


def list_offsets(client: Client, wanted: Mapping[Key, int], *, committed: bool = False) -> Asked:
    """Put one question for many partitions: EARLIEST, LATEST, or a time (epoch ms)."""
    return tuple(
        (
            keys,
            client.admin.list_offsets_together(
                [TopicPartition(topic, number, wanted[topic, number]) for topic, number in keys],
                committed=committed,
                timeout_s=client.deadline.left_s(),
            ),
        )
        for keys in shares(tuple(wanted))
    )


def shares(keys: Sequence[Key]) -> list[Sequence[Key]]:
    """Cut partitions into those of each call, at most `CALLS`, in their order."""
    size = max(PARTITIONS_PER_CALL, ceil(len(keys) / CALLS))
    return [keys[first : first + size] for first in range(0, len(keys), size)]


def take_logs(client: Client, asked: Mapping[str, Asked]) -> dict[str, dict[Key, LogAnswer]]:
    """Wait for the answers, until the client's deadline. Every partition asked about has one."""
    made = {}
    for kind, calls in asked.items():
        made[kind] = answers = dict[Key, LogAnswer]()
        for keys, future in calls:
            answers |= _answers(client, keys, future)
    return made


def _answers(client: Client, keys: Sequence[Key], future: Future[Any]) -> dict[Key, LogAnswer]:
    try:
        told = future.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return dict.fromkeys(keys, LogAnswer(error=failure(error)))
    return dict.fromkeys(keys, _SILENT) | {(at.topic, at.partition): _answer(result) for at, result in told.items()}


def _answer(result: Any) -> LogAnswer:
    if isinstance(result, KafkaError):
        return LogAnswer(error=failure(KafkaException(result)))
    offset, epoch = result.offset, result.leader_epoch
    if offset == OFFSET_INVALID:
        # How librdkafka says that this leader did not answer, while others did.
        return _SILENT
    return LogAnswer(offset if offset >= 0 else None, epoch if epoch is not None and epoch >= 0 else None)
