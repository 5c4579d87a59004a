"""Requests that librdkafka lacks, about transactions and producers, sent with kafka-python. It only reads by itself.

kafka-python's own methods raise for a whole batch if one id is unknown, keep using a coordinator that has moved, and do
not retry. So its requests are sent directly, answers are kept by id, and retriable errors are retried until the
deadline.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import TracebackType
from typing import Any, Final, Self

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from offsetwise.client_properties import AddressedCluster, ClientProperties, masked
from offsetwise.client_properties.kafka_python import configuration
from offsetwise.errors import ClusterUnreachableError
from offsetwise.model import MAX_TIME_MS, LogWriter
from offsetwise.plugins.kafka.stream.batches import Fetched, headers
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.stream.nulls import is_whole
from offsetwise.position import TopicPartition
from offsetwise.transactions.observed import (
    Answer,
    Described,
    ListedTransaction,
    Missing,
    OpenWrite,
    UnsupportedBrokerError,
)

_LOG: Final = logging.getLogger("kafka")
_LOG.addHandler(logging.NullHandler())
_LOG.setLevel(logging.WARNING)  # below it, kafka-python logs its whole configuration, including passwords

AGAIN: Final = (14, 15, 16, 51)
"""Coordinator loading, coordinator not available, not coordinator; concurrent transactions."""
UNKNOWN_TOPIC: Final = 3
DENIED: Final = (29, 31, 53)
"""Topic, cluster, or transactional id authorization failed."""
NOT_FOUND: Final = 105
IDS_PER_REQUEST: Final = 1_000
_FETCH_BY_NAME: Final = 12
"""The last version of Fetch that names topics; later ones use their ids."""
_PAUSE_S: Final = 0.2


class Wire:
    """Requests to the brokers of one cluster, which the product's first client has reached already.

    Raises:
        ConfigError: A property that this client cannot use.
        ClusterUnreachableError: No broker answered.
    """

    def __init__(self, config: AddressedCluster, properties: ClientProperties, deadline: Deadline) -> None:
        self.deadline = deadline
        self._coordinators: dict[str, int] = {}
        results = configuration(config, properties)
        self._timeout_ms = int(deadline.left_s() * 1000)
        try:
            self._client = KafkaAdminClient(**results, bootstrap_timeout_ms=self._timeout_ms)
        except errors.KafkaError as error:
            raise ClusterUnreachableError(
                f"Cluster {config.name!r} at {config.properties.get('bootstrap.servers')}: expected the second "
                f"client (kafka-python) to connect as the first did, but {masked(str(error))}. Nothing was done.",
                fix="Check the certificates and sasl.mechanism: docs/transactions.md says what both clients take.",
            ) from error
        self.manager: Any = self._client._manager

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def list_transactions(self) -> tuple[dict[str, ListedTransaction], bool]:
        """List the transactional ids that each broker coordinates.

        Returns:
            The ids that the user may see with their state, and whether every broker answered.

        Raises:
            UnsupportedBrokerError: The brokers are older than Kafka 3.0.
        """
        results: dict[str, ListedTransaction] = {}
        remaining = {broker.node_id for broker in self.manager.cluster.brokers()}
        while remaining:
            for node, response in self._ask({node: ListTransactionsRequest() for node in remaining}).items():
                if response is None or response.error_code in AGAIN:
                    continue
                remaining.discard(node)
                for state in response.transaction_states:
                    results[state.transactional_id] = ListedTransaction(
                        producer_id=state.producer_id, state=str(state.transaction_state)
                    )
                    self._coordinators[state.transactional_id] = node
            if remaining and not self.may_go_on():
                return results, False
        return results, True

    def has_topic(self, name: str) -> bool | None:
        """Return whether a topic exists, without creating it; None if the user may not know, or nobody answered."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
        )
        for broker in self.manager.cluster.brokers():
            response = self._ask({broker.node_id: request})[broker.node_id]
            if response is not None:
                codes = [topic.error_code for topic in response.topics if topic.name == name]
                if len(codes) != 1:
                    continue  # it is about another topic
                return None if codes[0] in DENIED else codes[0] != UNKNOWN_TOPIC
        return None

    def describe(self, ids: Iterable[str]) -> dict[str, Answer]:
        """Ask the coordinators about transactional ids.

        An unlisted id makes a cluster create its topic of transactions.
        """
        results: dict[str, Answer] = {}
        remaining = set(ids)
        while remaining:
            refused = self._find(sorted(remaining - self._coordinators.keys()))
            results |= refused
            remaining -= refused.keys()
            by_node: dict[int, list[str]] = defaultdict(list)
            for transactional_id in sorted(remaining & self._coordinators.keys()):
                by_node[self._coordinators[transactional_id]].append(transactional_id)
            answers = self._described(by_node)
            results |= answers
            remaining -= answers.keys()
            if remaining and not self.may_go_on():
                break
        return results | dict.fromkeys(remaining, Missing.UNAVAILABLE)

    def producers(self, led: Mapping[int, Sequence[TopicPartition]]) -> tuple[list[OpenWrite], list[TopicPartition]]:
        """Return the open transactions that leaders know.

        Returns:
            Those of all partitions, and the partitions that no leader answered for.
        """
        silent = dict.fromkeys(partition for partitions in led.values() for partition in partitions)
        writes = []
        for at, part in self._producers(led):
            if part.error_code == 0:
                silent.pop(at, None)
            writes += [
                OpenWrite(
                    partition=at,
                    producer_id=producer.producer_id,
                    epoch=producer.producer_epoch,
                    start_offset=producer.current_txn_start_offset,
                    last_sequence=producer.last_sequence,
                    last_timestamp_ms=producer.last_timestamp,
                    coordinator_epoch=producer.coordinator_epoch,
                )
                for producer in part.active_producers
                if producer.current_txn_start_offset >= 0
            ]
        return writes, list(silent)

    def writers(self, led: Mapping[int, Sequence[TopicPartition]]) -> dict[TopicPartition, tuple[LogWriter, ...]]:
        """Return the producers that leaders remember, the last writer first; partitions with an error are left out."""
        return {
            at: tuple(
                LogWriter(
                    producer_id=producer.producer_id,
                    last_timestamp_ms=producer.last_timestamp if 0 <= producer.last_timestamp <= MAX_TIME_MS else None,
                )
                for producer in sorted(part.active_producers, key=attrgetter("last_timestamp"), reverse=True)
            )
            for at, part in self._producers(led)
            if part.error_code == 0
        }

    def _producers(self, led: Mapping[int, Sequence[TopicPartition]]) -> Iterator[tuple[TopicPartition, Any]]:
        requested = frozenset(partition for partitions in led.values() for partition in partitions)
        requests = {leader: _producers_request(partitions) for leader, partitions in led.items()}
        for response in self._ask(requests).values():
            for topic in () if response is None else response.topics:
                for part in topic.partitions:
                    at = TopicPartition(topic.name, part.partition_index)
                    if at in requested:
                        yield at, part

    def committed(self, group: str) -> dict[TopicPartition, tuple[int, str]] | None:
        """Read a consumer group's offsets with the metadata of each; None if there was no answer about it."""
        answer = None
        while answer is None:
            try:
                answer = self._client.list_group_offsets(group).get(group, {})
            except (errors.KafkaError, TypeError) as error:  # a TypeError: it has met a null (`nulls`)
                if getattr(error, "errno", None) not in AGAIN or not self.may_go_on():
                    return None
        return {
            TopicPartition(at.topic, at.partition): (number, metadata or "")
            for at, (number, metadata, _) in answer.items()
            if number >= 0
        }

    def brokers(self) -> tuple[int, ...]:
        return tuple(sorted(broker.node_id for broker in self.manager.cluster.brokers()))

    def fetch(
        self, leader: int, at: TopicPartition, offset: int, *, committed: bool, most_bytes: int
    ) -> Fetched | None:
        """Fetch a partition from an offset on, without waiting for more; None if there was no answer.

        Args:
            leader: The node id of the partition's leader.
            at: The partition.
            offset: The first offset.
            committed: Whether as a read_committed reader; such a fetch ends at the last stable offset.
            most_bytes: Maximum size; the first batch is complete.
        """
        topic = FetchRequest.FetchTopic
        part = topic.FetchPartition(
            partition=at.partition, current_leader_epoch=-1, fetch_offset=offset, partition_max_bytes=most_bytes
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=most_bytes,
            isolation_level=int(committed),
            session_epoch=-1,
            topics=[topic(topic=at.topic, partitions=[part])],
            max_version=_FETCH_BY_NAME,
        )
        response = self.ask(leader, request)
        return None if response is None else _fetched(response, at)

    def coordinator(self, transactional_id: str) -> int | None:
        """Look up the coordinator of an id again; None if the user may not know it, or nobody answered."""
        self._coordinators.pop(transactional_id, None)
        self._find([transactional_id])
        return self._coordinators.get(transactional_id)

    def highest(self, api_key: int) -> int | None:
        versions: Any = self.manager.broker_version_data.api_versions.get(api_key)
        return None if versions is None else int(versions[1])

    def ask(self, node: int, request: Any) -> Any | None:
        """Send one request to one broker. None if there was no answer: it may have arrived nevertheless.

        Raises:
            UnsupportedBrokerError: The broker does not support it.
        """
        return self._ask({node: request})[node]

    def _find(self, ids: Sequence[str]) -> dict[str, Missing]:
        refused: dict[str, Missing] = {}
        brokers = [broker.node_id for broker in self.manager.cluster.brokers()]
        for first in range(0, len(ids), IDS_PER_REQUEST):
            request = FindCoordinatorRequest(
                key_type=CoordinatorType.TRANSACTION.value,
                coordinator_keys=list(ids[first : first + IDS_PER_REQUEST]),
                min_version=4,
            )
            response = next(
                (answer for node in brokers if (answer := self._ask({node: request})[node]) is not None), None
            )
            for answer in () if response is None else response.coordinators:
                if answer.error_code == 0:
                    self._coordinators[answer.key] = answer.node_id
                elif answer.error_code in DENIED:
                    refused[answer.key] = Missing.DENIED
        return refused

    def _described(self, by_node: Mapping[int, Sequence[str]]) -> dict[str, Answer]:
        results: dict[str, Answer] = {}
        longest = max(map(len, by_node.values()), default=0)
        for first in range(0, longest, IDS_PER_REQUEST):
            share = {node: ids[first : first + IDS_PER_REQUEST] for node, ids in by_node.items()}
            requests = {
                node: DescribeTransactionsRequest(transactional_ids=list(ids)) for node, ids in share.items() if ids
            }
            for node, response in self._ask(requests).items():
                if response is None:
                    for entry in share[node]:
                        self._coordinators.pop(entry, None)
                    continue
                for entry in response.transaction_states:
                    if entry.transactional_id not in share[node]:
                        continue  # it was not requested
                    answer = _answer(entry)
                    if answer is None:
                        # It may have moved. Its next coordinator is looked up again.
                        self._coordinators.pop(entry.transactional_id, None)
                    else:
                        results[entry.transactional_id] = answer
        return results

    def _ask(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """Send a request to each of some brokers concurrently; None for a broker without an answer that can be read.

        Raises:
            UnsupportedBrokerError: A broker does not support it.
        """

        async def sent() -> dict[int, Any]:
            waiting: dict[int, Any] = {}
            results: dict[int, Any] = {}
            timeout_ms = max(int(self.deadline.left_s() * 1000), 1)
            for node, request in requests.items():
                try:
                    waiting[node] = self.manager.send(request, node_id=node, request_timeout_ms=timeout_ms)
                except errors.UnsupportedVersionError:
                    raise
                except errors.KafkaError:
                    results[node] = None
            for node, future in waiting.items():
                try:
                    results[node] = await future
                except errors.UnsupportedVersionError:
                    raise
                except errors.KafkaError:
                    results[node] = None
            return results

        try:
            answered: dict[int, Any] = self.manager.run(sent)
        except errors.UnsupportedVersionError as error:
            raise UnsupportedBrokerError(str(error)) from error
        return {node: None if answer is None or not is_whole(answer) else answer for node, answer in answered.items()}

    def may_go_on(self) -> bool:
        """Wait a moment before a retry; return False once the deadline has passed."""
        if self.deadline.passed:
            return False
        time.sleep(min(_PAUSE_S, self.deadline.left_s()))
        return not self.deadline.passed


def _answer(transaction: Any) -> Answer | None:
    """Parse a coordinator's answer about one id; None if it is to be retried."""
    if transaction.error_code == 0:
        partitions = sorted(
            TopicPartition(topic.topic, number) for topic in transaction.topics for number in topic.partitions
        )
        return Described(
            producer_id=transaction.producer_id,
            epoch=transaction.producer_epoch,
            state=str(transaction.transaction_state),
            timeout_ms=transaction.transaction_timeout_ms,
            start_ms=transaction.transaction_start_time_ms if transaction.transaction_start_time_ms >= 0 else None,
            partitions=tuple(partitions),
        )
    if transaction.error_code == NOT_FOUND:
        return Missing.ABSENT
    return Missing.DENIED if transaction.error_code in DENIED else None


def _fetched(response: Any, at: TopicPartition) -> Fetched | None:
    """Return a response's data of a partition; None if it is about another one."""
    answers = [
        partition
        for topic in response.responses
        for partition in topic.partitions
        if (topic.topic, partition.partition_index) == (at.topic, at.partition)
    ]
    if len(answers) != 1:
        return None
    (answer,) = answers
    aborted = answer.aborted_transactions or ()
    return Fetched(
        error_code=answer.error_code,
        log_start=answer.log_start_offset,
        last_stable_offset=answer.last_stable_offset,
        high_watermark=answer.high_watermark,
        aborted=frozenset((transaction.producer_id, transaction.first_offset) for transaction in aborted),
        batches=tuple(headers(bytes(answer.records or b""))),
    )


def _producers_request(partitions: Iterable[TopicPartition]) -> DescribeProducersRequest:
    numbers: dict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        numbers[partition.topic].append(partition.partition)
    request = DescribeProducersRequest.TopicRequest
    return DescribeProducersRequest(
        topics=[request(name=name, partition_indexes=indexes) for name, indexes in numbers.items()]
    )
