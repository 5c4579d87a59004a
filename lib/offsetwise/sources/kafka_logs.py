"""Where the logs of many partitions begin and end.

A consumer that joins no group asks every leader, which is quick, but its calls wait for one another. So each waits a
moment only: what is silent or in error is asked about again through the admin client, which asks all leaders at once
and tells partitions apart. librdkafka's negative words for "none" end here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition
from confluent_kafka import IsolationLevel as KafkaIsolation
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # re-exported without saying so

from offsetwise.model import IsolationLevel
from offsetwise.sources.kafka_client import Client, is_silence, reason

Key: TypeAlias = tuple[str, int]
"""Topic and partition. A tuple, because there may be many thousands."""
Asked: TypeAlias = dict[Key, Future[Any]]

_SPECS: Final[Any] = OffsetSpec
EARLIEST: Final = _SPECS.earliest()
LATEST: Final = _SPECS.latest()
LOG_START: Final = -2
"""Asks for the log start in place of a time: the number Kafka's ListOffsets request has for it."""
LOG_END: Final = -1
"""Asks for the high watermark, or with read_committed the last stable offset."""
AT_ONCE: Final = 1_000
"""Partitions in one request. librdkafka searches its list of partitions once per partition, which takes 0.35 s of
processor time for 10,000 at once, and 0.05 s for 1,000 ten times."""

_NO_PARTITION: Final = 2**31 - 1
_PATIENCE_S: Final = 1.0
"""How long the consumer waits for an answer, and all other questions with it."""


class LogAnswer(NamedTuple):
    """What a leader answered for one partition. `offset` None without `error`: there is no such record."""

    offset: int | None = None
    leader_epoch: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask about the logs of some partitions."""

    times: Mapping[Key, int]
    """Per partition an epoch time in ms, or LOG_START, or LOG_END."""
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED


_SILENT: Final = LogAnswer(error=reason(TimeoutError()))


def log_questions(topics: Mapping[str, Any]) -> dict[str, Question]:
    """Give the questions for log start (`earliest`), high watermark (`latest`) and last stable offset (`stable`).

    Args:
        topics: Topic names to librdkafka's metadata. Partitions without a leader are left out.
    """
    led = [
        (name, number)
        for name, metadata in topics.items()
        for number, partition in metadata.partitions.items()
        if partition.leader >= 0
    ]
    ends = dict.fromkeys(led, LOG_END)
    return {
        "earliest": Question(times=dict.fromkeys(led, LOG_START)),
        "latest": Question(times=ends),
        "stable": Question(times=ends, isolation=IsolationLevel.READ_COMMITTED),
    }


def read_logs(
    client: Client, topics: Mapping[str, Any], questions: Mapping[str, Question]
) -> dict[str, dict[Key, LogAnswer]]:
    """Put questions to the leaders and wait for the answers, until the client's deadline.

    Args:
        client: A client that has been in contact.
        topics: The topics' names to librdkafka's metadata, with a leader for every partition asked about.
        questions: Any name to its question.
    """
    answers: dict[str, dict[Key, LogAnswer]] = {name: {} for name in questions}
    late: dict[str, list[Key]] = {}
    known: set[IsolationLevel] = set()
    silent = False
    for name, question in questions.items():
        for keys in _requests(question, topics):
            if silent:
                late.setdefault(name, []).extend(keys)
                continue
            consumer = client.consumer(question.isolation)
            if question.isolation not in known:
                known.add(question.isolation)
                _learn(client, consumer, topics)
            try:
                answers[name] |= _ask(client, consumer, question, keys)
            except KafkaException as error:
                # One partition in error, say because its leader moved, costs the consumer the whole answer.
                silent = is_silence(error)
                late.setdefault(name, []).extend(keys)
    asked = {name: _ask_again(client, questions[name], keys) for name, keys in late.items()}
    for name, again in take_logs(client, asked).items():
        answers[name] |= again
    return answers


def list_offsets(client: Client, wanted: Mapping[Key, Any], *, committed: bool = False) -> Asked:
    """Ask through the admin client, which takes longer, and tells the partitions' errors apart.

    Args:
        client: A client that has been in contact.
        wanted: Partitions to EARLIEST, LATEST, or confluent-kafka's OffsetSpec for a time.
        committed: Whether the end of a log is the last stable offset.
    """
    if not wanted:
        return {}
    keys = {TopicPartition(*key): spec for key, spec in wanted.items()}
    futures = client.admin.list_offsets(
        keys,
        isolation_level=KafkaIsolation.READ_COMMITTED if committed else KafkaIsolation.READ_UNCOMMITTED,
        request_timeout=client.deadline.left_s(),
    )
    return {(key.topic, key.partition): future for key, future in futures.items()}


def take_logs(client: Client, asked: Mapping[str, Asked]) -> dict[str, dict[Key, LogAnswer]]:
    """Wait for the admin client's answers, until the client's deadline."""
    return {
        kind: {partition: _listed(client, future) for partition, future in futures.items()}
        for kind, futures in asked.items()
    }


def _requests(question: Question, topics: Mapping[str, Any]) -> Iterator[list[Key]]:
    by_leader: dict[int, list[Key]] = {}
    for key in question.times:
        by_leader.setdefault(topics[key[0]].partitions[key[1]].leader, []).append(key)
    for keys in by_leader.values():
        for first in range(0, len(keys), AT_ONCE):
            yield keys[first : first + AT_ONCE]


def _learn(client: Client, consumer: Consumer, topics: Mapping[str, Any]) -> None:
    # A question about partitions that cannot exist makes librdkafka learn all leaders at once, and sends nothing else.
    # list_topics would make a Python object of every partition.
    with suppress(KafkaException):
        consumer.offsets_for_times([TopicPartition(name, _NO_PARTITION) for name in topics], _patience_s(client))


def _ask(client: Client, consumer: Consumer, question: Question, keys: Sequence[Key]) -> dict[Key, LogAnswer]:
    asked = [TopicPartition(topic, number, question.times[topic, number]) for topic, number in keys]
    answered = consumer.offsets_for_times(asked, timeout=_patience_s(client))
    return {key: _answer(given, question.times[key]) for key, given in zip(keys, answered, strict=True)}


def _patience_s(client: Client) -> float:
    return min(_PATIENCE_S, client.deadline.left_s())


def _ask_again(client: Client, question: Question, keys: Sequence[Key]) -> Asked:
    wanted = {key: _spec(question.times[key]) for key in keys}
    return list_offsets(client, wanted, committed=question.isolation is IsolationLevel.READ_COMMITTED)


def _spec(time: int) -> Any:
    words = {LOG_START: EARLIEST, LOG_END: LATEST}
    return words[time] if time in words else _SPECS.for_timestamp(time)


def _answer(given: TopicPartition, asked: int) -> LogAnswer:
    offset, epoch = given.offset, given.leader_epoch
    if given.error is not None:
        return LogAnswer(error=reason(KafkaException(given.error)))
    if offset == asked and epoch is None:
        # Where the leader left a partition out, librdkafka leaves the question in the answer's place. A real answer
        # equal to the question comes with its leader's epoch (Kafka 2.1 on).
        return _SILENT
    return LogAnswer(offset if offset >= 0 else None, epoch)


def _listed(client: Client, future: Future[Any]) -> LogAnswer:
    try:
        result = future.result(timeout=client.deadline.grace_s())
    except (KafkaException, TimeoutError) as error:
        return LogAnswer(error=reason(error))
    if result.offset == OFFSET_INVALID:
        # How librdkafka says that this leader did not answer, while others did.
        return _SILENT
    return LogAnswer(
        offset=result.offset if result.offset >= 0 else None,
        leader_epoch=result.leader_epoch if (result.leader_epoch or 0) >= 0 else None,
    )
