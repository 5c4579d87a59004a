"""The shards of one source of a Flink job, from what its readers and its coordinator keep.

The readers' positions count. What the coordinator has handed out is older, and shards that it has not are nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from offsetwise.findings.place import no_position
from offsetwise.model import CheckpointSource, Problem
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.kinesis.legacy import read_legacy
from offsetwise.plugins.flink.engine.kinesis.splits import (
    FINISHED,
    KINESIS,
    OF_TABLES,
    ShardEnumerator,
    ShardSplit,
    read_enumerator,
    read_split,
)
from offsetwise.plugins.flink.engine.source import TAKE_ANOTHER, Kept, damaged, read_each
from offsetwise.plugins.kinesis.stream.findings import hash_range_gap, state_empty, stream_differs
from offsetwise.plugins.kinesis.stream.shards import problems_of, ranges_of
from offsetwise.wording import many, utc

_BY_ITS_OWN_STREAM: Final = (
    "A restore reads each shard in the stream that its own state names; a stream named in the job's code is read only "
    "from the shards behind the last one that the state has seen."
)


def read_source(kept: Kept) -> tuple[CheckpointSource, list[Problem]] | None:
    """Return a source with its positions, and what is wrong with them; None where it is one of another connector.

    What cannot be relied on is left out.
    """
    legacy = kept.state == LEGACY_STATE
    splits, failed = read_each(kept.elements, read_legacy if legacy else read_split)
    enumerator = None if legacy or kept.coordinator is None else _enumerator_or_error(kept.coordinator)
    known = isinstance(enumerator, ShardEnumerator) and (bool(enumerator.splits) or enumerator.of_kinesis)
    if not legacy and not splits and not known:
        return None
    problems = []
    if failed:
        more = f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""
        message = (
            f"An element of the state of {kept.called} cannot be read, its position is left out: {failed[0]}{more}."
        )
        problems.append(damaged(message))
    if isinstance(enumerator, DamagedError):
        problems.append(damaged(f"The coordinator of {kept.called} cannot be read: {enumerator}."))
        enumerator = None
    held = _once(kept, splits, problems)
    if enumerator is not None:
        listed = _once(kept, enumerator.splits, problems)
        complete = kept.complete and not failed
        problems += _held_against(kept, listed, {split.key for split in splits}, held, complete=complete)
        held |= {key: split for key, split in listed.items() if split.shard.waits and key not in held}
    every = sorted(held.values(), key=lambda split: split.key)
    shards = tuple(split.shard for split in every)
    problems += _together(kept, every)
    if not shards and not failed:
        problems += _empty(kept)
    kinds = {split.kind for split in (*every, *(enumerator.splits if enumerator else ()))}
    kind = OF_TABLES if kinds == {OF_TABLES} else KINESIS
    source = CheckpointSource(
        index=kept.index, id=kept.id, kind=kind, shards=tuple(shard.row for shard in shards), ranges=ranges_of(shards)
    )
    return source, problems


def _enumerator_or_error(coordinator: Cursor) -> ShardEnumerator | DamagedError:
    begun = coordinator.at
    try:
        return read_enumerator(coordinator)
    except DamagedError as error:
        return error
    finally:
        coordinator.at = begun


def _once(kept: Kept, splits: Sequence[ShardSplit], problems: list[Problem]) -> dict[tuple[str, str], ShardSplit]:
    """Return the splits by shard; of one that stands there twice it is not known which counts."""
    held: dict[tuple[str, str], ShardSplit] = {}
    twice: dict[tuple[str, str], tuple[ShardSplit, ShardSplit]] = {}
    for split in splits:
        first = held.setdefault(split.key, split)
        if first is not split:
            twice.setdefault(split.key, (first, split))
    for key, (first, second) in twice.items():
        del held[key]
        problems.append(
            damaged(
                f"{kept.called} keeps {key[1]} twice, at byte {first.place:,} and byte {second.place:,}: which one "
                "counts is unknown, both are left out."
            )
        )
    return held


def _held_against(
    kept: Kept,
    listed: dict[tuple[str, str], ShardSplit],
    seen: set[tuple[str, str]],
    held: dict[tuple[str, str], ShardSplit],
    *,
    complete: bool,
) -> list[Problem]:
    """Hold the readers' shards against those that the coordinator has handed out: they are the same ones."""
    problems: list[Problem] = []
    strange = sorted(seen - listed.keys())
    if strange:
        problems.append(
            damaged(
                f"The readers of {kept.called} keep {_several(strange)}, which its coordinator does not know: one of "
                "the two is damaged."
            )
        )
    lost = sorted(
        key for key, split in listed.items() if key not in seen and not split.shard.waits and split.status != FINISHED
    )
    if lost and complete:
        message = (
            f"{kept.called} has handed out {_several(lost)}, and no reader keeps a position: after a restore nobody"
        )
        problems.append(no_position.problem(f"{message} would read it.", fix=TAKE_ANOTHER))
    differs = next((key for key, split in listed.items() if key in held and not _same(split, held[key])), None)
    if differs is not None:
        problems.append(
            damaged(
                f"The readers of {kept.called} and its coordinator keep other hash keys or parents of {differs[1]}: "
                "one of the two is damaged."
            )
        )
    return problems


def _same(one: ShardSplit, other: ShardSplit) -> bool:
    """Whether two copies are of the same shard; where it is read may differ."""
    return (one.shard.low, one.shard.high, one.shard.parents) == (
        other.shard.low,
        other.shard.high,
        other.shard.parents,
    )


def _together(kept: Kept, splits: Sequence[ShardSplit]) -> list[Problem]:
    """Report what the shards of one source show, of each stream."""
    problems: list[Problem] = []
    streams = sorted({split.key[0] for split in splits})
    if len(streams) > 1:
        problems += stream_differs(kept.called, streams, _BY_ITS_OWN_STREAM)
    for stream in streams:
        mine = [split.shard for split in splits if split.key[0] == stream and split.kind == KINESIS]
        # Part of a stream's shards is what is left of a restore with another stream, which is said above.
        found = problems_of(mine, knows_children=True)
        problems += [problem for problem in found if len(streams) == 1 or problem.code != hash_range_gap.code]
    return problems


def _several(keys: Sequence[tuple[str, str]]) -> str:
    return keys[0][1] + (f" and {many(len(keys) - 1, 'more shard')}" if len(keys) > 1 else "")


def _empty(kept: Kept) -> Iterable[Problem]:
    effect = (
        "A restore begins new shards at their oldest record and none that the state has seen before: a shard that "
        "was gone counts as finished, and connectors before 4.3.0 could lose the state when stopped."
    )
    if kept.written_ms is not None:
        effect += f" Of such a shard nothing is read that came since this was written, at {utc(kept.written_ms)}."
    return state_empty(kept.called, effect)
