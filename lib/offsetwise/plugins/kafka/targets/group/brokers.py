"""Reads and changes groups on brokers, in a separate process: see `KafkaGroups`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from offsetwise.client_properties import AddressedCluster
from offsetwise.client_properties.kafka_python import ONLY_LIBRDKAFKA
from offsetwise.model import GroupOffset, GroupState, TopicPartition
from offsetwise.plugins.kafka.stream.client import Client, reason
from offsetwise.plugins.kafka.stream.groups import read_groups
from offsetwise.plugins.kafka.targets.group.checks import lost, nothing_committed, other_cluster
from offsetwise.plugins.kafka.targets.group.port import Reply

if TYPE_CHECKING:
    from offsetwise.plugins.kafka.targets.group.requests import GroupRequests

_UNSENT: Final = frozenset({KafkaError._INVALID_ARG, KafkaError._AUTHENTICATION, KafkaError._UNSUPPORTED_FEATURE})
"""The client's own errors, before anything is sent."""


def read(
    config: AddressedCluster, groups: tuple[str, ...], cluster_id: str | None, timeout_s: float
) -> Mapping[str, GroupState]:
    client = _contacted(config, cluster_id, timeout_s)
    states, _ = read_groups(client, groups)
    after = _cluster_id(client)
    if after is not None:
        _require_same(config, after, cluster_id)
    return {state.name: state for state in states}


def commit(
    config: AddressedCluster, requested: Mapping[str, tuple[GroupOffset, ...]], cluster_id: str | None, timeout_s: float
) -> Mapping[str, Reply]:
    client = _contacted(config, cluster_id, timeout_s)
    if ONLY_LIBRDKAFKA.keys().isdisjoint(client.properties):
        with _requests(client, cluster_id) as requests:
            return requests.commit(requested)
    futures = {group: _ask(client, group, offsets) for group, offsets in requested.items()}
    replies = {group: _reply(client, group, len(requested[group]), future) for group, future in futures.items()}
    led_away = _led_away(client, cluster_id)
    return replies if led_away is None else {group: lost(group, led_away) for group in replies}


def remove(config: AddressedCluster, group: str, cluster_id: str | None, timeout_s: float) -> str | None:
    client = _contacted(config, cluster_id, timeout_s)
    if ONLY_LIBRDKAFKA.keys().isdisjoint(client.properties):
        with _requests(client, cluster_id) as requests:
            return requests.remove(group)
    future = client.admin.delete_consumer_groups([group], request_timeout=client.deadline.beyond_s())[group]
    try:
        future.result(timeout=client.deadline.grace_s())
    except TimeoutError as error:
        raise lost(group, reason(error)) from error
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return None
        if _may_have_arrived(error):
            raise lost(group, reason(error)) from error
        return reason(error)
    led_away = _led_away(client, cluster_id)
    if led_away is not None:
        raise lost(group, led_away)
    return None


def _contacted(config: AddressedCluster, cluster_id: str | None, timeout_s: float) -> Client:
    client = Client(config, timeout_s=timeout_s)
    _require_same(config, client.contact().cluster_id, cluster_id)
    return client


def _require_same(config: AddressedCluster, actual_id: str | None, cluster_id: str | None) -> None:
    if actual_id is None or actual_id != cluster_id:
        effect = "No group was read or changed over this connection."
        raise other_cluster(f"Cluster {config.name!r}", cluster_id, actual_id, effect)


@contextmanager
def _requests(client: Client, cluster_id: str | None) -> Iterator[GroupRequests]:
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second
    from offsetwise.plugins.kafka.targets.group.requests import GroupRequests  # noqa: PLC0415 - as above

    with Wire(client.config, client.properties, client.deadline) as wire:
        yield GroupRequests(wire, cluster_id)


def _cluster_id(client: Client) -> str | None:
    try:
        answer = client.admin.describe_cluster(request_timeout=client.deadline.left_s())
        result: str | None = answer.result(timeout=client.deadline.grace_s()).cluster_id
    except (KafkaException, TimeoutError):
        return None
    return result


def _led_away(client: Client, cluster_id: str | None) -> str | None:
    """Explain why it is not known which cluster a change by librdkafka reached; None if the address is as before."""
    after = _cluster_id(client)
    if after == cluster_id:
        return None
    return f"behind it the address led to {'no cluster that answers' if after is None else f'cluster {after}'}"


def _ask(client: Client, group: str, offsets: tuple[GroupOffset, ...]) -> Future[Any]:
    request = [ConsumerGroupTopicPartitions(group, [_partition(offset) for offset in offsets])]
    return client.admin.alter_consumer_group_offsets(request, request_timeout=client.deadline.beyond_s())[group]


def _reply(client: Client, group: str, count: int, future: Future[Any]) -> Reply:
    try:
        answer = future.result(timeout=client.deadline.grace_s())
    except TimeoutError as error:
        return lost(group, reason(error))
    except KafkaException as error:
        if _may_have_arrived(error):
            return lost(group, reason(error))
        return nothing_committed(group, count, reason(error))
    return {
        TopicPartition(topic=partition.topic, partition=partition.partition): reason(KafkaException(partition.error))
        for partition in answer.topic_partitions
        if partition.error is not None
    }


def _may_have_arrived(error: KafkaException) -> bool:
    """Return whether the request may have been sent before the error; not for a few of the client's own errors."""
    code = error.args[0].code()
    return bool(code == KafkaError.REQUEST_TIMED_OUT or (code < 0 and code not in _UNSENT))


def _partition(offset: GroupOffset) -> KafkaPartition:
    if offset.leader_epoch is None:
        return KafkaPartition(offset.topic, offset.partition, offset.offset, offset.metadata)
    return KafkaPartition(offset.topic, offset.partition, offset.offset, offset.metadata, offset.leader_epoch)
