"""What the cluster of a job's sinks said, as it is kept in a file: from it is decided again, without a cluster."""

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
    """None where they were too many to be counted, or could not be."""

    @property
    def start(self) -> TransactionPlace:
        return TransactionPlace(TopicPartition(self.topic, self.partition), self.producer_id, self.start_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSnapshot:
    """What one cluster said of the transactions of sinks, and what its brokers are set to."""

    name: str
    """What the migration file calls the cluster."""
    looks: LookPair
    topics: tuple[str, ...] = ()
    """Those that were looked at beside those that open transactions name."""
    facts: tuple[TransactionFacts, ...] = ()
    """Of this cluster, and of those that the sinks move to; what is not there is not known."""
    records: tuple[HeldRecords, ...] = ()
    """Of open transactions, where they were counted."""

    def looks_of(self, pending: HeldTransactions) -> LookPair:
        """Return what concerns the sinks of one checkpoint: others of the same snapshot may write to other topics."""
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
        """Return what a cluster is set to, by what the migration file calls it."""
        return next((fact for fact in self.facts if fact.name == name), TransactionFacts(name=name, brokers=()))

    def counts(self) -> Mapping[TransactionPlace, int | None]:
        """Return how many records transactions hold, by where they begin."""
        return {record.start: record.records for record in self.records}
