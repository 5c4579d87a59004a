"""Looks up the transactions of a job's sinks on their cluster. Nothing is written or created."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from offsetwise.client_properties import AddressedCluster
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.stream.logs import ask_logs, take_logs
from offsetwise.plugins.kafka.stream.transaction_ends import search_logs
from offsetwise.position import TopicPartition
from offsetwise.transactions.hanging import uncoordinated
from offsetwise.transactions.observed import (
    PROBE,
    Answer,
    Described,
    HeldTransactions,
    LogSearch,
    Missing,
    OpenWrite,
    TransactionLook,
    TransactionState,
    UnsupportedBrokerError,
    to_describe,
    to_search,
)
from offsetwise.transactions.report import LogEnds, LookPair

if TYPE_CHECKING:
    from offsetwise.plugins.kafka.stream.wire import Wire

STATE_TOPIC: Final = "__transaction_state"
END_TXN: Final = 26
"""Kafka's API key of the request."""
CHECKPOINT_MS: Final = 600_000
"""Maximum time from a checkpoint's barriers until it is written: Flink's default time-out."""


def look_at_transactions(
    config: AddressedCluster,
    pending: HeldTransactions,
    *,
    topics: Sequence[str] = (),
    apart_s: float = 2,
    timeout_s: float = 20,
) -> LookPair:
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second

    client = Client(config, timeout_s=timeout_s)
    # librdkafka reports what is wrong with a connection; the second client only that there is none.
    contacted = client.contact()
    with Wire(config, client.properties, client.deadline) as wire:
        looking = _Looking(wire, pending, contacted, tuple(topics))
        first = looking.observe()
        time.sleep(apart_s)
        client.begin_anew(timeout_s)
        wire.deadline = client.deadline
        looking.problems.clear()
        second = looking.observe()
        end_txn_version = wire.highest(END_TXN)
        search = _search(client, wire, looking, second, timeout_s)
    return LookPair(
        cluster_id=contacted.cluster_id,
        brokers=frozenset(f"{broker.host}:{broker.port}".lower() for broker in contacted.brokers.values()),
        first=first,
        second=second,
        partitions=_log_ends(client, contacted, looking.sink_topics),
        problems=tuple(dict.fromkeys(looking.problems)),
        end_txn_version=end_txn_version,
        search=search,
    )


def _search(
    client: Client, wire: Wire, looking: _Looking, observation: TransactionLook, timeout_s: float
) -> LogSearch | None:
    transactions, producers = looking.pending, to_search(looking.pending, observation.answers)
    topics = looking.sink_topics & looking.contacted.topics.keys()
    if not producers or not topics:
        return None
    client.begin_anew(timeout_s)
    wire.deadline = client.deadline
    timeouts = [answer.timeout_ms for answer in observation.answers.values() if isinstance(answer, Described)]
    # Transactions that were open when the checkpoint was written had not timed out, which limits when they began.
    since_ms = (
        None if transactions.written_ms is None else max(0, transactions.written_ms - max(timeouts) - CHECKPOINT_MS)
    )
    return search_logs(client, wire, looking.contacted, producers=producers, topics=topics, since_ms=since_ms)


class _Looking:
    def __init__(self, wire: Wire, pending: HeldTransactions, contacted: Any, topics: tuple[str, ...]) -> None:
        self.wire = wire
        self.pending = pending
        self.contacted = contacted
        self.sink_topics = set(topics)
        self.problems: list[str] = []

    def observe(self) -> TransactionLook:
        """Look once. What could not be read is in `problems`."""
        taken_ms = time.time_ns() // 1_000_000
        try:
            listed, whole = self.wire.list_transactions()
        except UnsupportedBrokerError:
            self.problems.append(
                "The brokers are older than Kafka 3.0: they do not list transactions, so that nothing is known of them."
            )
            return TransactionLook(taken_ms=taken_ms, answers=self._all_held(Missing.UNSUPPORTED))
        if not whole:
            self.problems.append("A broker did not list the transactions that it coordinates until the deadline.")
        answers = self._answers(set(to_describe(self.pending, listed)), exists=bool(listed))
        described = [answer for answer in answers.values() if isinstance(answer, Described)]
        self.sink_topics |= {at.topic for answer in described for at in answer.partitions}
        self._require_seen(answers)
        writes, silent = self._open_writes()
        observation = TransactionLook(
            taken_ms=taken_ms,
            listed=listed,
            answers=answers,
            writes=writes,
            unlisted=None if whole else True,
            silent=silent,
        )
        # A broker that did not answer may coordinate a transaction that no other broker knows.
        return (
            replace(observation, sees_all=self._sees_all(exists=bool(listed)))
            if whole and uncoordinated(observation)
            else observation
        )

    def _open_writes(self) -> tuple[tuple[OpenWrite, ...], tuple[TopicPartition, ...]]:
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for name in sorted(self.sink_topics & self.contacted.topics.keys()):
            for number, partition in self.contacted.topics[name].partitions.items():
                by_leader[partition.leader].append(TopicPartition(name, number))
        without = by_leader.pop(-1, [])
        if without:
            self.problems.append(
                f"{without[0]}{f' and {len(without) - 1:,} more partitions' if len(without) > 1 else ''} of the sink: "
                "there is no leader that could tell what is open."
            )
        writes, silent = self.wire.producers(by_leader)
        if silent:
            self.problems.append(
                f"Not every leader told which transactions it holds open on {', '.join(sorted(self.sink_topics))}: "
                "READ on the topics is needed for that, and an answer in time."
            )
        return tuple(writes), (*without, *silent)

    def _require_seen(self, answers: Mapping[str, Answer]) -> None:
        absent = sorted(self.sink_topics - self.contacted.topics.keys())
        if absent:
            self.problems.append(
                f"Topic {', '.join(map(repr, absent))}: the cluster has none of this name that this user may see, so "
                "that what is open there is not known. Check the name; DESCRIBE and READ on the sink's topics are "
                "needed."
            )
        hidden = sorted(
            name
            for name, answer in answers.items()
            if isinstance(answer, Described) and answer.state == TransactionState.ONGOING and not answer.partitions
        )
        if hidden:
            self.problems.append(
                f"{hidden[0]}{f' and {len(hidden) - 1:,} more' if len(hidden) > 1 else ''}: open, and its partitions "
                "are not shown, so that what is open there is not known: DESCRIBE and READ on the sink's topics are "
                "needed."
            )

    def _sees_all(self, *, exists: bool) -> bool | None:
        """Return whether the user may describe an unused id, and so any; None if no coordinator answered.

        Only a user who may describe all ids can conclude that no coordinator has a transaction open: a list omits what
        the user may not see.
        """
        there = exists or self.wire.has_topic(STATE_TOPIC)
        if not there:
            return there is False  # asking would create the topic; without the topic, there are no transactions
        probe = f"{uuid4().hex}{PROBE}"
        answer = self.wire.describe({probe})[probe]
        return None if answer is Missing.UNAVAILABLE else answer is not Missing.DENIED

    def _answers(self, ids: set[str], *, exists: bool) -> dict[str, Answer]:
        # Looking up a coordinator creates the topic if there is none.
        there = exists or self.wire.has_topic(STATE_TOPIC)
        if there is False:
            return self._all_held(Missing.NOT_ASKED)
        if there is None:
            self.problems.append(
                "The cluster lists no transaction that this user may see, and the user may not know whether there is a "
                f"topic {STATE_TOPIC}, which a further question would create. Grant DESCRIBE on the sink's "
                "TransactionalIds, prefixed."
            )
            return self._all_held(Missing.DENIED)
        probes = {f"{prefix}{PROBE}": prefix for prefix in self.pending.prefixes}
        answers = self.wire.describe(ids | probes.keys())
        for probe, prefix in probes.items():
            if answers.pop(probe) is Missing.DENIED:
                self.problems.append(
                    f"The user may not describe transactional ids of the prefix {prefix!r}, so that an empty list does "
                    f"not mean that there are none: grant DESCRIBE on TransactionalId '{prefix}-', prefixed."
                )
        if any(answer is Missing.UNAVAILABLE for answer in answers.values()):
            self.problems.append("A transaction coordinator did not answer until the deadline.")
        return answers

    def _all_held(self, missing: Missing) -> dict[str, Answer]:
        return {transaction.transactional_id: missing for transaction in self.pending.transactions}


def _log_ends(client: Client, contacted: Any, topics: set[str]) -> tuple[LogEnds, ...]:
    results = take_logs(
        client, ask_logs(client, {name: contacted.topics[name] for name in topics & contacted.topics.keys()})
    )
    return tuple(
        LogEnds(
            topic=name, partition=number, last_stable_offset=stable.offset, log_end_offset=results["latest"][at].offset
        )
        for at, stable in sorted(results["stable"].items())
        for name, number in (at,)
    )
