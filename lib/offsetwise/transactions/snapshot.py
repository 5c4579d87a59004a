"""A snapshot of the cluster of a job's sinks in a file, from which transactions are decided without a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from offsetwise.model import Count, Offset
from offsetwise.position import TopicPartition
from offsetwise.transactions.ended import TransactionPlace
from offsetwise.transactions.observed import Described, HeldTransactions
from offsetwise.transactions.report import LookPair
from offsetwise.transactions.upgrade import TransactionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRecords:
    """How many records an open transaction holds in one partition."""

    topic: str
    partition: int
    producer_id: Count
    start_offset: Offset
    records: Count | None
    """None if there were too many to count, or they could not be counted."""

    @property
    def start(self) -> TransactionPlace:
        return TransactionPlace(TopicPartition(self.topic, self.partition), self.producer_id, self.start_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSnapshot:
    """What one cluster said of the transactions of sinks, and what its brokers are set to."""

    name: str
    """The name of the cluster in the migration file."""
    looks: LookPair
    topics: tuple[str, ...] = ()
    """Topics that were searched besides those that open transactions name."""
    facts: tuple[TransactionFacts, ...] = ()
    """Of this cluster, and of those that the sinks move to; missing ones are unknown."""
    records: tuple[HeldRecords, ...] = ()
    """Of open transactions, if they were counted."""

    def looks_of(self, pending: HeldTransactions) -> LookPair:
        """Return the part about the sinks of one checkpoint: others of the same snapshot may write to other topics."""
        both = self.looks.first, self.looks.second
        described = (observation.answers[name] for observation in both for name in pending.own(observation.answers))
        topics = {at.topic for answer in described if isinstance(answer, Described) for at in answer.partitions}
        topics |= set(self.topics)
        first, second = (
            replace(observation, writes=tuple(write for write in observation.writes if write.partition.topic in topics))
            for observation in both
        )
        ends = tuple(partition for partition in self.looks.partitions if partition.topic in topics)
        return replace(self.looks, first=first, second=second, partitions=ends)

    def facts_of(self, name: str) -> TransactionFacts:
        """Return the settings of a cluster, by its name in the migration file."""
        return next((fact for fact in self.facts if fact.name == name), TransactionFacts(name=name, brokers=()))

    def counts(self) -> Mapping[TransactionPlace, int | None]:
        return {record.start: record.records for record in self.records}
