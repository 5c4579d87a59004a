"""What coordinators and logs say of transactions that a plan ends. Nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from offsetwise.config import ClusterConfig
from offsetwise.model import PlannedTransaction
from offsetwise.position import TopicPartition
from offsetwise.streams.kafka.client import Client
from offsetwise.transactions.ended import Ends, Place, Shown, places_of

if TYPE_CHECKING:
    from offsetwise.streams.kafka.batches import Fetched
    from offsetwise.streams.kafka.wire import Wire

_ONE_BATCH: Final = 1
"""Bytes asked for: a leader gives the first batch whole."""
_MOST_BYTES: Final = 1 << 20
COUNTED_BYTES: Final = 64 << 20
"""Of one partition, how much is read to count a transaction's records."""
_GONE: Final = "retention has taken its records"


def read_ends(
    config: ClusterConfig, transactions: Sequence[PlannedTransaction], *, count: bool = False, timeout_s: float = 20
) -> Ends:
    """Read what became of transactions; see `streams.reader.Reader`."""
    from offsetwise.streams.kafka.wire import Wire  # noqa: PLC0415 - imports a second client, a quarter of a second

    client = Client(config, timeout_s=timeout_s)
    contacted = client.contact()
    with Wire(config, client.properties, client.deadline) as wire:
        return Ends(
            cluster_id=contacted.cluster_id,
            answers=wire.describe({each.transactional_id for each in transactions if each.transactional_id}),
            logs=read_logs(wire, contacted, transactions, count=count),
        )


def read_logs(
    wire: Wire, contacted: Any, transactions: Iterable[PlannedTransaction], *, count: bool = False
) -> Mapping[Place, Shown]:
    """Read what the logs show of transactions.

    Args:
        wire: A connection.
        contacted: librdkafka's metadata, with the leaders of the transactions' topics.
        transactions: The transactions.
        count: Whether to count their records as well.
    """
    made: dict[Place, Shown] = {}
    leaders = {place: _leader(contacted, place) for one in transactions for place in places_of(one)}
    held_open = _held_open(wire, leaders)
    for place, leader in leaders.items():
        fetched = None
        if leader is not None:
            fetched = wire.fetch(leader, place.partition, place.start_offset, committed=True, most_bytes=_ONE_BATCH)
        shown = replace(_shown(place, fetched), held_open=None if held_open is None else place in held_open)
        if count and leader is not None:
            shown = replace(shown, records=_counted(wire, leader, place))
        made[place] = shown
    return made


def _held_open(wire: Wire, leaders: Mapping[Place, int | None]) -> set[Place] | None:
    """Ask the leaders for what they hold open; None where not every one told."""
    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, leader in {(place.partition, leader) for place, leader in leaders.items()}:
        if leader is not None:
            by_leader[leader].append(partition)
    writes, whole = wire.producers(by_leader)
    return {Place(each.partition, each.producer_id, each.start_offset) for each in writes} if whole else None


def _leader(contacted: Any, place: Place) -> int | None:
    topic = contacted.topics.get(place.partition.topic)
    partition = None if topic is None else topic.partitions.get(place.partition.partition)
    return None if partition is None or partition.leader < 0 else partition.leader


def _shown(place: Place, fetched: Fetched | None) -> Shown:
    """Say whether the record at a place is the transaction's, and is given to read_committed readers.

    They are given every batch below the last stable offset, and the list of what was aborted among these by producer
    and first offset, which they leave out.
    """
    if fetched is None:
        return Shown(last_stable_offset=None, problem="the partition has no leader, or it did not answer")
    if fetched.log_start > place.start_offset:
        return Shown(last_stable_offset=fetched.last_stable_offset, problem=_GONE)
    if fetched.error_code:
        return Shown(last_stable_offset=None, problem=f"its leader answered with error {fetched.error_code}")
    stable = fetched.last_stable_offset
    if stable <= place.start_offset:
        return Shown(last_stable_offset=stable, visible=False)
    first = next((each for each in fetched.batches if each.last_offset >= place.start_offset), None)
    if first is None or first.base_offset > place.start_offset:
        return Shown(last_stable_offset=stable, problem="the log has been compacted since: its first record is gone")
    if first.producer_id != place.producer_id or not first.transactional or first.control:
        return Shown(last_stable_offset=stable, problem="another producer's record stands there")
    aborted = (place.producer_id, place.start_offset) in fetched.aborted
    return Shown(last_stable_offset=stable, visible=not aborted)


def _counted(wire: Wire, leader: int, place: Place) -> int | None:
    """Count the records of a transaction up to its end, or the end of the log."""
    offset, records, read = place.start_offset, 0, 0
    while read < COUNTED_BYTES and not wire.deadline.passed:
        fetched = wire.fetch(leader, place.partition, offset, committed=False, most_bytes=_MOST_BYTES)
        if fetched is None or fetched.error_code:
            return None
        for batch in fetched.batches:
            if batch.producer_id == place.producer_id and batch.last_offset >= place.start_offset:
                if batch.control:
                    return records
                records += batch.records
            offset = batch.last_offset + 1
        if offset >= fetched.high_watermark or not fetched.batches:
            return records if offset >= fetched.high_watermark else None
        read += _MOST_BYTES
    return None
