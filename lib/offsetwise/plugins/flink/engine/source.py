"""The positions of one source of a Flink job, from the state of its readers and its coordinator.

The readers' offsets are used. The coordinator's are older, except for partitions that no reader has yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.target_position import no_position
from offsetwise.model import BOUNDED, NOWHERE, CheckpointSource, MarkedPosition, Problem, SourcePosition, TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.dynamic_kafka.enumerator import ClusterEnumerator, read_dynamic_enumerator
from offsetwise.plugins.flink.engine.kafka import (
    MARKERS,
    NO_STOP,
    NOT_SET,
    Enumerator,
    Split,
    read_enumerator,
    read_legacy,
    read_split,
)
from offsetwise.wording import many

INITIALIZER: Final = MARKERS[NOT_SET]
READER_STATE: Final = "SourceReaderState"
LEGACY_STATE: Final = "topic-partition-offset-states"
TAKE_ANOTHER: Final = "Start from another checkpoint or savepoint, or take a new one of the running job."

T = TypeVar("T")


@dataclass(frozen=True)
class SourceState:
    index: int
    id: str
    label: str
    """Name of the operator in sentences."""
    state: str
    """The name of the state that its elements are from."""
    elements: Sequence[Cursor | DamagedError]
    coordinator: Cursor | None
    complete: bool
    """Whether every subtask's state could be opened."""
    written_ms: int | None = None
    """Modification time of its file, epoch ms; None if unknown."""

    @property
    def legacy(self) -> bool:
        return self.state == LEGACY_STATE

    @cached_property
    def enumerator(self) -> Enumerator | DamagedError | None:
        """The state of a KafkaSource's coordinator, or why it is not; None if there is none."""
        if self.coordinator is None or self.legacy:
            return None
        try:
            return read_enumerator(self.coordinator)
        except DamagedError as error:
            return error

    @property
    def hybrid(self) -> bool:
        """Whether it is the state of a HybridSource that reads a KafkaSource."""
        return isinstance(self.enumerator, Enumerator) and self.enumerator.hybrid is not None


def read_source(retained: SourceState) -> tuple[CheckpointSource, list[Problem]]:
    """Return one source with its positions, and its problems. Positions that cannot be relied on are left out."""
    splits, failed = read_each(retained.elements, read_legacy if retained.legacy else read_split)
    if any(split.cluster is not None for split in splits):
        return _dynamic(retained, splits, failed)
    enumerator = retained.enumerator
    source = CheckpointSource(index=retained.index, id=retained.id, kind="other")
    known = enumerator is not None and not isinstance(enumerator, DamagedError) and bool(enumerator.splits)
    if not splits and not known and not retained.legacy:
        return source, []
    return _kafka(retained, splits, failed, enumerator)


def read_each(
    elements: Sequence[Cursor | DamagedError], read: Callable[[Cursor], T]
) -> tuple[list[T], list[DamagedError]]:
    """Parse the elements of a state, each from its beginning: another connector's parser may try them again."""
    results: list[T] = []
    failed: list[DamagedError] = []
    for element in elements:
        if isinstance(element, DamagedError):
            failed.append(element)
            continue
        begun = element.at
        try:
            results.append(read(element))
        except DamagedError as error:
            failed.append(error)
        finally:
            element.at = begun
    return results, failed


def _kafka(
    retained: SourceState,
    splits: Sequence[Split],
    failed: Sequence[DamagedError],
    enumerator: Enumerator | DamagedError | None,
) -> tuple[CheckpointSource, list[Problem]]:
    problems = _failed(retained, failed) if failed else []
    if isinstance(enumerator, DamagedError):
        problems.append(damaged(f"The coordinator of {retained.label} cannot be read: {enumerator}."))
        enumerator = None
    if len({split.hybrid for split in splits} | ({enumerator.hybrid} if enumerator is not None else set())) > 1:
        problems.append(damaged(f"{retained.label} keeps the state of several sources: which one it reads is unknown."))
    splits_by_partition, twice = _once(retained, splits, problems)
    waiting: list[Split] = []
    unread: list[TopicPartition] = []
    if enumerator is not None:
        listed, _ = _once(retained, enumerator.splits, problems)
        observed = splits_by_partition.keys() | twice
        waiting = [split for key, split in listed.items() if not split.assigned and key not in observed]
        problems += _strangers(retained, listed, observed)
        if retained.complete and not failed:
            unread = _without_reader(listed, observed)
    if unread:
        problems.append(_unread(retained, unread))
    if retained.legacy and retained.complete and not splits and not failed:
        problems.append(_nothing_kept(retained))
    of_splits = sorted((*splits_by_partition.values(), *waiting), key=lambda split: split.topic_partition)
    positions, marked = _positions(of_splits)
    if marked:
        problems.append(_marked(retained, marked))
    if stops := [split for split in of_splits if split.stop != NO_STOP]:
        problems.append(_stops(retained, stops))
    source = CheckpointSource(
        index=retained.index,
        id=retained.id,
        kind="kafka",
        positions=tuple(positions),
        marked=(*marked, *(MarkedPosition(**key._asdict(), starts_at=NOWHERE) for key in unread)),
    )
    return source, problems


def _once(
    retained: SourceState, splits: Sequence[Split], problems: list[Problem]
) -> tuple[dict[TopicPartition, Split], frozenset[TopicPartition]]:
    splits_by_partition: dict[TopicPartition, Split] = {}
    twice: dict[TopicPartition, tuple[Split, Split]] = {}
    for split in splits:
        first = splits_by_partition.setdefault(split.topic_partition, split)
        if first is not split:
            twice.setdefault(split.topic_partition, (first, split))
    for key in twice:
        del splits_by_partition[key]
    if twice:
        problems.append(_twice(retained, twice))
    return splits_by_partition, frozenset(twice)


def _strangers(
    retained: SourceState, listed: dict[TopicPartition, Split], observed: set[TopicPartition]
) -> Iterator[Problem]:
    strange = sorted(observed - listed.keys())
    if strange:
        yield damaged(
            f"The readers of {retained.label} keep {_several(strange)}, which its coordinator does not know: one of "
            "the two is damaged."
        )


def _without_reader(listed: dict[TopicPartition, Split], observed: set[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions that are assigned and that no reader has.

    A split with a stopping offset is not among them: a reader drops it once it is read to that offset.
    """
    return sorted(
        key for key, split in listed.items() if split.assigned and key not in observed and split.stop == NO_STOP
    )


def _unread(retained: SourceState, unread: Sequence[TopicPartition]) -> Problem:
    several = len(unread) > 1
    return no_position.problem(
        f"{retained.label} has handed out {_several(unread)}, and no reader keeps a position: after a restore nobody "
        f"would read {'them' if several else 'it'}.",
        fix=TAKE_ANOTHER,
    )


def _nothing_kept(retained: SourceState) -> Problem:
    return no_position.problem(
        f"The state of {retained.label} keeps 0 partitions: a restore begins every partition of its topics at "
        "earliest, "
        "whatever the job's code says, and reads again every record that they retain. The state names no topic, so how "
        "many that are is not known.",
        fix=TAKE_ANOTHER,
    )


def _failed(retained: SourceState, failed: Sequence[DamagedError]) -> list[Problem]:
    more = f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""
    return [
        damaged(
            f"An element of the state of {retained.label} cannot be read, its position is left out: {failed[0]}{more}."
        )
    ]


def _twice(retained: SourceState, twice: dict[TopicPartition, tuple[Split, Split]]) -> Problem:
    twofold, (first, second) = next(iter(twice.items()))
    more = f" (and {many(len(twice) - 1, 'more partition')})" if len(twice) > 1 else ""
    return damaged(
        f"{retained.label} keeps {twofold} twice, at byte {first.byte_offset:,} and byte {second.byte_offset:,}{more}: "
        "which one counts is unknown, both are left out."
    )


def _marked(retained: SourceState, marked: Sequence[MarkedPosition]) -> Problem:
    keys = [position.topic_partition for position in marked]
    words = sorted({position.starts_at for position in marked})
    return no_position.problem(
        f"{retained.label} has no offset for {_several(keys)} ({', '.join(words)}): where it begins is chosen when the "
        "job starts, and is not translated.",
    )


def _stops(retained: SourceState, stops: Sequence[Split]) -> Problem:
    end = stops[0].stop if stops[0].stop >= 0 else MARKERS[stops[0].stop]
    return no_position.problem(
        f"{retained.label} is bounded: {_several([stop.topic_partition for stop in stops])} ends at {end}, an end on "
        "the old cluster, which is not translated.",
        fix="Let the bounded job finish on the old cluster.",
    )


def _dynamic(
    retained: SourceState, splits: Sequence[Split], failed: Sequence[DamagedError]
) -> tuple[CheckpointSource, list[Problem]]:
    problems = _failed(retained, failed) if failed else []
    shown = {cluster: list(its) for cluster, its in _by_cluster(splits).items()}
    for cluster, its in shown.items():
        splits_by_partition, _ = _once(retained, its, problems)
        shown[cluster] = [*splits_by_partition.values()]
    unread: list[tuple[str, Split]] = []
    for enumerator in _enumerators(retained, problems):
        listed, _ = _once(retained, enumerator.splits, problems)
        observed = {split.topic_partition for split in shown.get(enumerator.cluster, ())}
        problems += _strangers(retained, listed, observed)
        waiting = [split for key, split in listed.items() if not split.assigned and key not in observed]
        shown.setdefault(enumerator.cluster, []).extend(waiting)
        if retained.complete and not failed:
            unread += [(enumerator.cluster, listed[key]) for key in _without_reader(listed, observed)]
    raw = _shown(shown, unread)
    return CheckpointSource(index=retained.index, id=retained.id, kind="dynamic-kafka", raw=raw), problems


def _by_cluster(splits: Sequence[Split]) -> dict[str, list[Split]]:
    results: dict[str, list[Split]] = {}
    for split in splits:
        results.setdefault(split.cluster or "", []).append(split)
    return results


def _enumerators(retained: SourceState, problems: list[Problem]) -> tuple[ClusterEnumerator, ...]:
    """Return the enumerators of a DynamicKafkaSource's coordinator; empty if it cannot be read."""
    if retained.coordinator is None:
        return ()
    begun = retained.coordinator.at
    try:
        return read_dynamic_enumerator(retained.coordinator).clusters
    except DamagedError as error:
        problems.append(damaged(f"The coordinator of {retained.label} cannot be read: {error}."))
        return ()
    finally:
        retained.coordinator.at = begun


def _shown(by_cluster: Mapping[str, Sequence[Split]], unread: Sequence[tuple[str, Split]]) -> str:
    results: dict[str, dict[str, dict[str, str]]] = {}
    for cluster, splits in by_cluster.items():
        for split in splits:
            start = str(split.start) if split.start >= 0 else MARKERS[split.start]
            its = results.setdefault(cluster, {}).setdefault(split.topic, {})
            its[str(split.partition)] = start if split.stop == NO_STOP else f"{start}{BOUNDED}"
    for cluster, split in unread:
        results.setdefault(cluster, {}).setdefault(split.topic, {})[str(split.partition)] = NOWHERE
    return json.dumps(results, sort_keys=True)


def _several(keys: Sequence[TopicPartition]) -> str:
    return str(keys[0]) + (f" and {many(len(keys) - 1, 'more partition')}" if len(keys) > 1 else "")


def damaged(message: str) -> Problem:
    return checkpoint_damaged.problem(message, fix=TAKE_ANOTHER)


def _positions(splits: Sequence[Split]) -> tuple[list[SourcePosition], list[MarkedPosition]]:
    positions: list[SourcePosition] = []
    marked: list[MarkedPosition] = []
    for split in splits:
        if split.start >= 0:
            positions.append(SourcePosition(topic=split.topic, partition=split.partition, offset=split.start))
        else:
            marked.append(MarkedPosition(topic=split.topic, partition=split.partition, starts_at=MARKERS[split.start]))
    return positions, marked
