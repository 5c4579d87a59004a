"""The positions of one source of a Flink job, from what its readers and its coordinator keep.

The readers' offsets count. The coordinator's are older, except for partitions that no reader has yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from offsetwise.findings.place import no_position
from offsetwise.findings.reading import checkpoint_damaged
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


@dataclass(frozen=True, slots=True)
class Kept:
    """What a checkpoint keeps for one source."""

    index: int
    id: str
    called: str
    """What to call the operator in sentences."""
    state: str
    """The name of the state that its elements are of."""
    elements: Sequence[Cursor | DamagedError]
    coordinator: Cursor | None
    complete: bool
    """Whether every subtask's state could be opened."""
    written_ms: int | None = None
    """What its file is dated, since the epoch; None where nothing says that."""

    @property
    def legacy(self) -> bool:
        """Whether it is the legacy Kafka consumer's."""
        return self.state == LEGACY_STATE


def read_source(kept: Kept) -> tuple[CheckpointSource, list[Problem]]:
    """Return one source with its positions, and what is wrong with them. What cannot be relied on is left out."""
    splits, failed = read_each(kept.elements, read_legacy if kept.legacy else read_split)
    if any(split.cluster is not None for split in splits):
        return _dynamic(kept, splits, failed)
    enumerator = None if kept.legacy else _enumerator(kept.coordinator)
    source = CheckpointSource(index=kept.index, id=kept.id, kind="other")
    known = enumerator is not None and not isinstance(enumerator, DamagedError) and bool(enumerator.splits)
    if not splits and not known and not kept.legacy:
        return source, []
    return _kafka(kept, splits, failed, enumerator)


def read_each(
    elements: Sequence[Cursor | DamagedError], read: Callable[[Cursor], T]
) -> tuple[list[T], list[DamagedError]]:
    """Read the elements of a state, each from its beginning: another connector's reader may try them again."""
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


def _enumerator(coordinator: Cursor | None) -> Enumerator | DamagedError | None:
    if coordinator is None:
        return None
    try:
        return read_enumerator(coordinator)
    except DamagedError as error:
        return error


def _kafka(
    kept: Kept,
    splits: Sequence[Split],
    failed: Sequence[DamagedError],
    enumerator: Enumerator | DamagedError | None,
) -> tuple[CheckpointSource, list[Problem]]:
    problems = _failed(kept, failed) if failed else []
    if isinstance(enumerator, DamagedError):
        problems.append(damaged(f"The coordinator of {kept.called} cannot be read: {enumerator}."))
        enumerator = None
    held, twice = _once(kept, splits, problems)
    waiting: list[Split] = []
    unread: list[TopicPartition] = []
    if enumerator is not None:
        listed, _ = _once(kept, enumerator.splits, problems)
        seen = held.keys() | twice
        waiting = [split for key, split in listed.items() if not split.assigned and key not in seen]
        problems += _strangers(kept, listed, seen)
        if kept.complete and not failed:
            unread = _without_reader(listed, seen)
    if unread:
        problems.append(_unread(kept, unread))
    if kept.legacy and kept.complete and not splits and not failed:
        problems.append(_nothing_kept(kept))
    of_splits = sorted((*held.values(), *waiting), key=lambda each: each.topic_partition)
    positions, marked = _positions(of_splits)
    if marked:
        problems.append(_marked(kept, marked))
    if stops := [split for split in of_splits if split.stop != NO_STOP]:
        problems.append(_stops(kept, stops))
    source = CheckpointSource(
        index=kept.index,
        id=kept.id,
        kind="kafka",
        positions=tuple(positions),
        marked=(*marked, *(MarkedPosition(**key._asdict(), starts_at=NOWHERE) for key in unread)),
    )
    return source, problems


def _once(
    kept: Kept, splits: Sequence[Split], problems: list[Problem]
) -> tuple[dict[TopicPartition, Split], frozenset[TopicPartition]]:
    """Return the splits by partition, and the partitions that stand there twice, which become a problem."""
    held: dict[TopicPartition, Split] = {}
    twice: dict[TopicPartition, tuple[Split, Split]] = {}
    for split in splits:
        first = held.setdefault(split.topic_partition, split)
        if first is not split:
            twice.setdefault(split.topic_partition, (first, split))
    for key in twice:
        del held[key]
    if twice:
        problems.append(_twice(kept, twice))
    return held, frozenset(twice)


def _strangers(kept: Kept, listed: dict[TopicPartition, Split], seen: set[TopicPartition]) -> Iterator[Problem]:
    """Check that the coordinator knows every partition that a reader keeps."""
    strange = sorted(seen - listed.keys())
    if strange:
        yield damaged(
            f"The readers of {kept.called} keep {_several(strange)}, which its coordinator does not know: one of the "
            "two is damaged."
        )


def _without_reader(listed: dict[TopicPartition, Split], seen: set[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions that are assigned and that no reader keeps.

    A split with an end is not among them: a reader drops it once it is read to that end.
    """
    return sorted(key for key, split in listed.items() if split.assigned and key not in seen and split.stop == NO_STOP)


def _unread(kept: Kept, unread: Sequence[TopicPartition]) -> Problem:
    several = len(unread) > 1
    return no_position.problem(
        f"{kept.called} has handed out {_several(unread)}, and no reader keeps a position: after a restore nobody "
        f"would read {'them' if several else 'it'}.",
        fix=TAKE_ANOTHER,
    )


def _nothing_kept(kept: Kept) -> Problem:
    return no_position.problem(
        f"The state of {kept.called} keeps 0 partitions: a restore begins every partition of its topics at earliest, "
        "whatever the job's code says, and reads again every record that they retain. The state names no topic, so how "
        "many that are is not known.",
        fix=TAKE_ANOTHER,
    )


def _failed(kept: Kept, failed: Sequence[DamagedError]) -> list[Problem]:
    more = f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""
    return [
        damaged(
            f"An element of the state of {kept.called} cannot be read, its position is left out: {failed[0]}{more}."
        )
    ]


def _twice(kept: Kept, twice: dict[TopicPartition, tuple[Split, Split]]) -> Problem:
    twofold, (first, second) = next(iter(twice.items()))
    more = f" (and {many(len(twice) - 1, 'more partition')})" if len(twice) > 1 else ""
    return damaged(
        f"{kept.called} keeps {twofold} twice, at byte {first.place:,} and byte {second.place:,}{more}: "
        "which one counts is unknown, both are left out."
    )


def _marked(kept: Kept, marked: Sequence[MarkedPosition]) -> Problem:
    keys = [position.topic_partition for position in marked]
    words = sorted({position.starts_at for position in marked})
    return no_position.problem(
        f"{kept.called} has no offset for {_several(keys)} ({', '.join(words)}): where it begins is chosen when the "
        "job starts, and is not translated.",
    )


def _stops(kept: Kept, stops: Sequence[Split]) -> Problem:
    end = stops[0].stop if stops[0].stop >= 0 else MARKERS[stops[0].stop]
    return no_position.problem(
        f"{kept.called} is bounded: {_several([stop.topic_partition for stop in stops])} ends at {end}, an end on "
        "the old cluster, which is not translated.",
        fix="Let the bounded job finish on the old cluster.",
    )


def _dynamic(
    kept: Kept, splits: Sequence[Split], failed: Sequence[DamagedError]
) -> tuple[CheckpointSource, list[Problem]]:
    """Return a DynamicKafkaSource, with its positions by cluster, and what is wrong with them."""
    problems = _failed(kept, failed) if failed else []
    shown = {cluster: list(its) for cluster, its in _by_cluster(splits).items()}
    for cluster, its in shown.items():
        held, _ = _once(kept, its, problems)
        shown[cluster] = [*held.values()]
    unread: list[tuple[str, Split]] = []
    for each in _enumerators(kept, problems):
        listed, _ = _once(kept, each.splits, problems)
        seen = {split.topic_partition for split in shown.get(each.cluster, ())}
        problems += _strangers(kept, listed, seen)
        waiting = [split for key, split in listed.items() if not split.assigned and key not in seen]
        shown.setdefault(each.cluster, []).extend(waiting)
        if kept.complete and not failed:
            unread += [(each.cluster, listed[key]) for key in _without_reader(listed, seen)]
    raw = _shown(shown, unread)
    return CheckpointSource(index=kept.index, id=kept.id, kind="dynamic-kafka", raw=raw), problems


def _by_cluster(splits: Sequence[Split]) -> dict[str, list[Split]]:
    results: dict[str, list[Split]] = {}
    for split in splits:
        results.setdefault(split.cluster or "", []).append(split)
    return results


def _enumerators(kept: Kept, problems: list[Problem]) -> tuple[ClusterEnumerator, ...]:
    """Return what a DynamicKafkaSource's coordinator knows of each cluster; nothing where it cannot be read."""
    if kept.coordinator is None:
        return ()
    begun = kept.coordinator.at
    try:
        return read_dynamic_enumerator(kept.coordinator).clusters
    except DamagedError as error:
        problems.append(damaged(f"The coordinator of {kept.called} cannot be read: {error}."))
        return ()
    finally:
        kept.coordinator.at = begun


def _shown(by_cluster: Mapping[str, Sequence[Split]], unread: Sequence[tuple[str, Split]]) -> str:
    """Return a DynamicKafkaSource's positions as text: cluster, topic, partition."""
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
    """Report that a checkpoint cannot be relied on."""
    return checkpoint_damaged.problem(message, fix=TAKE_ANOTHER)


def _positions(splits: Sequence[Split]) -> tuple[list[SourcePosition], list[MarkedPosition]]:
    """Return the splits that start at an offset, and those that start at a marker such as the latest record."""
    positions: list[SourcePosition] = []
    marked: list[MarkedPosition] = []
    for split in splits:
        if split.start >= 0:
            positions.append(SourcePosition(topic=split.topic, partition=split.partition, offset=split.start))
        else:
            marked.append(MarkedPosition(topic=split.topic, partition=split.partition, starts_at=MARKERS[split.start]))
    return positions, marked
