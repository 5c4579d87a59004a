"""The state of transactions that were ended, or are to be ended, in logs and at coordinators. Nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from offsetwise.client_properties import AddressedCluster
from offsetwise.model import PlannedTransaction
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.stream.logs import EARLIEST, LATEST, list_offsets, take_logs
from offsetwise.position import TopicPartition
from offsetwise.transactions.ended import Ends, ShownTransaction, TransactionPlace, places_of
from offsetwise.transactions.observed import LoggedTransaction, LogSearch

if TYPE_CHECKING:
    from offsetwise.plugins.kafka.stream.batches import BatchHeader, Fetched
    from offsetwise.plugins.kafka.stream.wire import Wire

_ONE_BATCH: Final = 1
"""Requested bytes: a leader returns the first batch whole."""
_MOST_BYTES: Final = 1 << 20
_NOT_ALLOWED: Final = 29
"""TOPIC_AUTHORIZATION_FAILED."""
COUNTED_BYTES: Final = 64 << 20
"""Bytes of one partition that are read to count a transaction's records, or to find its end."""
_GONE: Final = "retention has taken its records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacted:
    cluster_id: str | None
    leaders: Mapping[TopicPartition, int]
    """The node id of every partition's leader; a partition without one is missing."""


def contact(config: AddressedCluster, *, timeout_s: float) -> Contacted:
    """Reach a cluster, and return its identity and the leaders of its partitions.

    Raises:
        ClusterError: It did not answer in a usable way.
    """
    return _contacted(Client(config, timeout_s=timeout_s))


def _contacted(client: Client) -> Contacted:
    metadata = client.contact()
    return Contacted(
        cluster_id=metadata.cluster_id,
        leaders={
            TopicPartition(name, number): partition.leader
            for name, topic in metadata.topics.items()
            for number, partition in topic.partitions.items()
            if partition.leader >= 0
        },
    )


def read_ends(
    config: AddressedCluster, transactions: Sequence[PlannedTransaction], *, count: bool = False, timeout_s: float = 20
) -> Ends:
    from offsetwise.plugins.kafka.stream.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second

    client = Client(config, timeout_s=timeout_s)
    contacted = _contacted(client)
    with Wire(config, client.properties, client.deadline) as wire:
        return Ends(
            cluster_id=contacted.cluster_id,
            answers=wire.describe(
                {transaction.transactional_id for transaction in transactions if transaction.transactional_id}
            ),
            logs=read_logs(wire, contacted.leaders, transactions, count=count),
        )


def read_logs(
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    transactions: Iterable[PlannedTransaction],
    *,
    count: bool = False,
) -> Mapping[TransactionPlace, ShownTransaction]:
    """Read the state of transactions in the logs.

    Args:
        wire: A connection.
        leaders: The node id of the leader of each partition that has one.
        transactions: The transactions.
        count: Whether to count their records as well.
    """
    results: dict[TransactionPlace, ShownTransaction] = {}
    led = {
        position: leaders.get(position.partition) for transaction in transactions for position in places_of(transaction)
    }
    held_open = _held_open(wire, led)
    for position, leader in led.items():
        fetched = None
        if leader is not None:
            fetched = wire.fetch(
                leader, position.partition, position.start_offset, committed=True, most_bytes=_ONE_BATCH
            )
        shown = replace(_shown(position, fetched), held_open=None if held_open is None else position in held_open)
        if count and leader is not None:
            shown = replace(shown, records=_counted(wire, leader, position))
        results[position] = shown
    return results


def _held_open(wire: Wire, leaders: Mapping[TransactionPlace, int | None]) -> set[TransactionPlace] | None:
    """Return the open transactions of the leaders; None if not all of them answered."""
    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, leader in {(position.partition, leader) for position, leader in leaders.items()}:
        if leader is not None:
            by_leader[leader].append(partition)
    writes, silent = wire.producers(by_leader)
    return (
        None
        if silent
        else {TransactionPlace(write.partition, write.producer_id, write.start_offset) for write in writes}
    )


def _shown(position: TransactionPlace, fetched: Fetched | None) -> ShownTransaction:
    """Return whether the record at an offset is the transaction's, and is returned to read_committed readers.

    They get every batch below the last stable offset, and a list of the aborted transactions among them, by producer
    and first offset, which they skip.
    """
    if fetched is None:
        return ShownTransaction(last_stable_offset=None, problem="the partition has no leader, or it did not answer")
    if fetched.log_start > position.start_offset:
        return ShownTransaction(last_stable_offset=fetched.last_stable_offset, problem=_GONE)
    if fetched.error_code:
        return ShownTransaction(last_stable_offset=None, problem=f"its leader answered with error {fetched.error_code}")
    stable = fetched.last_stable_offset
    if stable <= position.start_offset:
        return ShownTransaction(last_stable_offset=stable, visible=False)
    first = next((batch for batch in fetched.batches if batch.last_offset >= position.start_offset), None)
    if first is None or first.base_offset > position.start_offset:
        return ShownTransaction(
            last_stable_offset=stable, problem="the log has been compacted since: its first record is gone"
        )
    if first.producer_id != position.producer_id or not first.transactional or first.control:
        return ShownTransaction(last_stable_offset=stable, problem="another producer's record stands there")
    aborted = (position.producer_id, position.start_offset) in fetched.aborted
    return ShownTransaction(last_stable_offset=stable, visible=not aborted)


def _counted(wire: Wire, leader: int, position: TransactionPlace) -> int | None:
    offset, records, read = position.start_offset, 0, 0
    while read < COUNTED_BYTES and not wire.deadline.passed:
        fetched = wire.fetch(leader, position.partition, offset, committed=False, most_bytes=_MOST_BYTES)
        if fetched is None or fetched.error_code:
            return None
        for batch in fetched.batches:
            if batch.producer_id == position.producer_id and batch.last_offset >= position.start_offset:
                if batch.control:
                    return records
                records += batch.records
            offset = batch.last_offset + 1
        if offset >= fetched.high_watermark or not fetched.batches:
            return records if offset >= fetched.high_watermark else None
        read += _MOST_BYTES
    return None


Producer = tuple[int, int]
"""Producer id and epoch."""


def search_logs(
    client: Client,
    wire: Wire,
    contacted: Any,
    *,
    producers: Set[Producer],
    topics: Iterable[str],
    since_ms: int | None,
) -> LogSearch:
    """Search the logs of topics for the transactions of exactly these producers, and how each ended.

    Args:
        client: A client that has been in contact.
        wire: A connection.
        contacted: librdkafka's metadata, with the leaders of the topics.
        producers: Producers of the transactions.
        topics: The topics that the sink writes to.
        since_ms: Earliest begin of the transactions, epoch ms; None if it is not known. Records are dated by their
            producers, so if nothing is found from there on, the logs are read from their start.
    """
    leaders = {
        TopicPartition(name, number): partition.leader
        for name in sorted(topics)
        for number, partition in sorted(contacted.topics[name].partitions.items())
    }
    scans = _scans(client, wire, leaders, producers=producers, since_ms=since_ms)
    return LogSearch(
        topics=tuple(sorted(topics)),
        transactions=tuple(transaction for scan in scans for transaction in scan.transactions),
        unread=tuple(_unread(leaders, scans)),
    )


def _scans(
    client: Client,
    wire: Wire,
    leaders: Mapping[TopicPartition, int],
    *,
    producers: Set[Producer],
    since_ms: int | None,
) -> Sequence[_Scan]:
    """Scan the partitions that have a leader: from the given time on and, if that is not enough, from their start.

    Partitions are in the order of `leaders`.
    """
    led = [at for at, leader in leaders.items() if leader >= 0]
    requests = {
        "start": list_offsets(client, dict.fromkeys(led, EARLIEST)),
        "since": list_offsets(client, dict.fromkeys(led, EARLIEST if since_ms is None else since_ms)),
        "end": list_offsets(client, dict.fromkeys(led, LATEST)),
    }
    offsets = take_logs(client, requests)
    results: dict[TopicPartition, _Scan] = {}
    for kind in ("since", "start"):
        if producers <= {key for scan in results.values() for key in scan.ended}:
            break
        for at in led:
            first, end = offsets[kind][at].offset, offsets["end"][at].offset
            if end is None or (first is None and kind == "start"):
                results[at] = _Scan(at, unread="its leader did not tell where it begins and ends")
            elif at not in results or (first is not None and first < results[at].first):
                # No record has such a late timestamp: starts at the end of the log, so that nothing is read.
                results[at] = _Scan(at, end if first is None else first)
                _scan(wire, leaders[at], results[at], end, producers)
    return [*results.values()]


def _unread(leaders: Mapping[TopicPartition, int], scans: Sequence[_Scan]) -> Iterator[str]:
    yield from (f"{at}: it has no leader" for at, leader in leaders.items() if leader < 0)
    yield from (f"{scan.at}: {scan.unread}" for scan in scans if scan.unread)
    yield from (
        f"{scan.at}: the first records of producer {producer_id} with epoch {epoch} are gone"
        for scan in scans
        for producer_id, epoch in sorted(scan.cut)
    )


@dataclass(slots=True)
class _Scan:
    at: TopicPartition
    first: int = 0
    """Where reading began."""
    transactions: list[LoggedTransaction] = field(default_factory=list)
    unread: str = ""
    """Which part was not read, and why: a clause."""
    open: dict[Producer, LoggedTransaction] = field(default_factory=dict)
    newest: dict[int, int] = field(default_factory=dict)
    """The newest epoch that each producer has written with."""
    cut: set[Producer] = field(default_factory=set)
    """Producers whose first records are before the begin of reading, or deleted."""

    @property
    def ended(self) -> set[Producer]:
        return {
            (transaction.producer_id, transaction.epoch)
            for transaction in self.transactions
            if transaction.committed is not None
        } - self.cut

    def is_past(self, producers: Set[Producer]) -> bool:
        """Return whether each producer has written with a later epoch since, so that no more of its records follow."""
        return all(self.newest.get(producer_id, -1) > epoch for producer_id, epoch in producers)

    def take(self, batch: BatchHeader, producers: Set[Producer]) -> None:
        key = batch.producer_id, batch.epoch
        if batch.transactional and not batch.control:
            self.newest[batch.producer_id] = batch.epoch
        if batch.control:
            # A coordinator may raise the epoch as it ends a transaction, and one producer has one open at a time.
            for producer in [producer for producer in self.open if producer[0] == batch.producer_id]:
                self.transactions.append(replace(self.open.pop(producer), committed=batch.commits))
        elif key in producers and batch.transactional:
            if key not in self.open and batch.base_sequence > 0:
                self.cut.add(key)
            so_far = self.open.get(key) or LoggedTransaction(
                **self.at._asdict(),
                producer_id=batch.producer_id,
                epoch=batch.epoch,
                start_offset=batch.base_offset,
                records=0,
                last_timestamp_ms=-1,
                committed=None,
            )
            self.open[key] = replace(
                so_far,
                records=so_far.records + batch.records,
                last_timestamp_ms=max(so_far.last_timestamp_ms, batch.last_timestamp_ms),
            )


def _scan(wire: Wire, leader: int, scan: _Scan, end: int, producers: Set[Producer]) -> None:
    offset, read, refused = scan.first, 0, ""
    while offset < end and not refused and not scan.is_past(producers):
        fetched = None
        if wire.deadline.passed:
            refused = "the time was up"
        elif read >= COUNTED_BYTES:
            refused = f"{COUNTED_BYTES >> 20} MB of a partition are read"
        else:
            fetched = wire.fetch(leader, scan.at, offset, committed=False, most_bytes=_MOST_BYTES)
            refused = _refusal(fetched)
        for number, batch in enumerate(fetched.batches if fetched is not None else ()):
            if batch.control and batch.commits is None and number:
                break  # it may be cut off: requested as the first batch it is complete
            scan.take(batch, producers)
            offset = batch.last_offset + 1
        read += _MOST_BYTES
    if refused:
        scan.unread = f"not read from offset {offset:,} on, {refused}"
    scan.transactions += scan.open.values()


def _refusal(fetched: Fetched | None) -> str:
    if fetched is None:
        return "no answer came"
    if fetched.error_code:
        return "READ on it is needed" if fetched.error_code == _NOT_ALLOWED else f"error {fetched.error_code}"
    return "" if fetched.batches else "no batch came that tells of transactions"
