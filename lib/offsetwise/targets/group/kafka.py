"""Groups of a real cluster, read and written through Kafka's admin client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from offsetwise.config import ClusterConfig
from offsetwise.errors import ApplyError, LostReplyError
from offsetwise.model import GroupOffset, GroupState, TopicPartition
from offsetwise.streams.kafka.client import Client, reason
from offsetwise.streams.kafka.groups import read_groups
from offsetwise.targets.group.port import Reply

TIMEOUT_S: Final = 20.0
_UNSENT: Final = frozenset({KafkaError._INVALID_ARG, KafkaError._AUTHENTICATION, KafkaError._UNSUPPORTED_FEATURE})
"""The client's own refusals, before anything is sent."""


class KafkaGroups:
    """The groups of one cluster, asked through one client that lasts as long as this does."""

    def __init__(self, config: ClusterConfig, *, timeout_s: float = TIMEOUT_S) -> None:
        self._config = config
        self._timeout_s = timeout_s
        self._client: Client | None = None

    def read(self, groups: Sequence[str]) -> Mapping[str, GroupState]:
        """Give groups as they are now, all their commits included.

        Raises:
            ClusterError: The cluster gave no answer.
        """
        found, _ = read_groups(self._contacted(), tuple(groups))
        if any(one.error is not None for one in found):
            self._client = None
        return {one.name: one for one in found}

    def commit(self, wanted: Mapping[str, tuple[GroupOffset, ...]]) -> Mapping[str, Reply]:
        """Commit offsets, one request for each group, all under way together; give each group's reply.

        Raises:
            ClusterError: The cluster gave no answer; nothing was sent.
        """
        client = self._contacted()
        asked = {group: _ask(client, group, offsets) for group, offsets in wanted.items()}
        replies = {group: _reply(client, group, len(wanted[group]), future) for group, future in asked.items()}
        if any(isinstance(reply, LostReplyError) for reply in replies.values()):
            self._client = None  # with it ends what nobody waits for any more
        return replies

    def remove(self, group: str) -> str | None:
        """Delete a group with all its commits; give the reason where that is refused.

        Raises:
            ClusterError: The cluster gave no answer; nothing was sent.
            LostReplyError: It was sent, and no reply came.
        """
        client = self._contacted()
        asked = client.admin.delete_consumer_groups([group], request_timeout=client.deadline.beyond_s())[group]
        try:
            asked.result(timeout=client.deadline.grace_s())
        except TimeoutError as error:
            raise _lost(group, reason(error)) from error
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return None
            if _may_have_arrived(error):
                raise _lost(group, reason(error)) from error
            return reason(error)
        return None

    def _contacted(self) -> Client:
        """Give the client, in contact and with all its time."""
        if self._client is None:
            self._client = Client(self._config, timeout_s=self._timeout_s)
        self._client.begin_anew(self._timeout_s)
        self._client.contact()
        return self._client


def _ask(client: Client, group: str, offsets: tuple[GroupOffset, ...]) -> Future[Any]:
    request = [ConsumerGroupTopicPartitions(group, [_partition(one) for one in offsets])]
    return client.admin.alter_consumer_group_offsets(request, request_timeout=client.deadline.beyond_s())[group]


def _reply(client: Client, group: str, count: int, asked: Future[Any]) -> Reply:
    try:
        answer = asked.result(timeout=client.deadline.grace_s())
    except TimeoutError as error:
        return _lost(group, reason(error))
    except KafkaException as error:
        if _may_have_arrived(error):
            return _lost(group, reason(error))
        return ApplyError(
            f"Group {group!r}: expected to commit {count} partitions, but {reason(error)}. Nothing was committed.",
            fix="Grant READ on the group and its topics, and stop every member, then give the same command again.",
        )
    return {
        TopicPartition(topic=one.topic, partition=one.partition): reason(KafkaException(one.error))
        for one in answer.topic_partitions
        if one.error is not None
    }


def _may_have_arrived(error: KafkaException) -> bool:
    """Everything but a few that the client itself reports (a negative number) may come after the request was sent."""
    code = error.args[0].code()
    return bool(code == KafkaError.REQUEST_TIMED_OUT or (code < 0 and code not in _UNSENT))


def _partition(one: GroupOffset) -> KafkaPartition:
    if one.leader_epoch is None:
        return KafkaPartition(one.topic, one.partition, one.offset, one.metadata)
    return KafkaPartition(one.topic, one.partition, one.offset, one.metadata, one.leader_epoch)


def _lost(group: str, why: str) -> LostReplyError:
    return LostReplyError(
        f"Group {group!r}: the reply to a change was lost, because {why}. Whether it was done is not known.",
        fix="Read the group again before anything else.",
    )
