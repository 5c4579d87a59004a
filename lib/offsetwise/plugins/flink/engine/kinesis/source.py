"""The shards of one source of a Flink job, from the state of its readers and its coordinator.

The readers' positions are used. Those of assigned shards in the coordinator are older; unassigned shards are only
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from offsetwise.findings.target_position import no_position
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
from offsetwise.plugins.flink.engine.source import TAKE_ANOTHER, SourceState, damaged, read_each
from offsetwise.plugins.kinesis.stream.findings import hash_range_gap, state_empty, stream_differs
from offsetwise.plugins.kinesis.stream.shards import problems_of, ranges_of
from offsetwise.wording import many, utc

_BY_ITS_OWN_STREAM: Final = (
    "A restore reads each shard in the stream that its own state names; a stream named in the job's code is read only "
    "from the shards behind the last one that the state has seen."
)


def read_source(retained: SourceState) -> tuple[CheckpointSource, list[Problem]] | None:
    """Return a source with its positions, and its problems; None if it is of another connector.

    Positions that cannot be relied on are left out.
    """
    legacy = retained.state == LEGACY_STATE
    splits, failed = read_each(retained.elements, read_legacy if legacy else read_split)
    enumerator = None if legacy or retained.coordinator is None else _enumerator_or_error(retained.coordinator)
    known = isinstance(enumerator, ShardEnumerator) and (bool(enumerator.splits) or enumerator.of_kinesis)
    if not legacy and not splits and not known:
        return None
    problems = []
    if failed:
        more = f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""
        unread = f"cannot be read, its position is left out: {failed[0]}{more}."
        problems.append(damaged(f"An element of the state of {retained.label} {unread}"))
    if isinstance(enumerator, DamagedError):
        problems.append(damaged(f"The coordinator of {retained.label} cannot be read: {enumerator}."))
        enumerator = None
    splits_by_key = _once(retained, splits, problems)
    if enumerator is not None:
        listed = _once(retained, enumerator.splits, problems)
        complete = retained.complete and not failed
        problems += _held_against(retained, listed, {split.key for split in splits}, splits_by_key, complete=complete)
        splits_by_key |= {key: split for key, split in listed.items() if split.shard.waits and key not in splits_by_key}
    every = sorted(splits_by_key.values(), key=lambda split: split.key)
    shards = tuple(split.shard for split in every)
    problems += _together(retained, every)
    if not shards and not failed:
        problems += _empty(retained)
    kinds = {split.kind for split in (*every, *(enumerator.splits if enumerator else ()))}
    kind = OF_TABLES if kinds == {OF_TABLES} else KINESIS
    rows, ranges = tuple(shard.row for shard in shards), ranges_of(shards)
    return CheckpointSource(index=retained.index, id=retained.id, kind=kind, shards=rows, ranges=ranges), problems


def _enumerator_or_error(coordinator: Cursor) -> ShardEnumerator | DamagedError:
    begun = coordinator.at
    try:
        return read_enumerator(coordinator)
    except DamagedError as error:
        return error
    finally:
        coordinator.at = begun


def _once(
    retained: SourceState, splits: Sequence[ShardSplit], problems: list[Problem]
) -> dict[tuple[str, str], ShardSplit]:
    """Return the splits by shard, without duplicated ones: it is not known which of the two counts."""
    splits_by_key: dict[tuple[str, str], ShardSplit] = {}
    twice: dict[tuple[str, str], tuple[ShardSplit, ShardSplit]] = {}
    for split in splits:
        first = splits_by_key.setdefault(split.key, split)
        if first is not split:
            twice.setdefault(split.key, (first, split))
    for key, (first, second) in twice.items():
        del splits_by_key[key]
        problems.append(
            damaged(
                f"{retained.label} keeps {key[1]} twice, at byte {first.byte_offset:,} and byte "
                f"{second.byte_offset:,}: which one counts is unknown, both are left out."
            )
        )
    return splits_by_key


def _held_against(
    retained: SourceState,
    listed: dict[tuple[str, str], ShardSplit],
    observed: set[tuple[str, str]],
    splits_by_key: dict[tuple[str, str], ShardSplit],
    *,
    complete: bool,
) -> list[Problem]:
    """Compare the readers' shards with those that the coordinator has assigned, which should be the same."""
    problems: list[Problem] = []
    strange = sorted(observed - listed.keys())
    if strange:
        problems.append(
            damaged(
                f"The readers of {retained.label} keep {_several(strange)}, which its coordinator does not know: one "
                "of the two is damaged."
            )
        )
    lost = sorted(
        key
        for key, split in listed.items()
        if key not in observed and not split.shard.waits and split.status != FINISHED
    )
    if lost and complete:
        message = (
            f"{retained.label} has handed out {_several(lost)}, and no reader keeps a position: after a restore nobody"
        )
        problems.append(no_position.problem(f"{message} would read it.", fix=TAKE_ANOTHER))
    differs = next(
        (key for key, split in listed.items() if key in splits_by_key and not _same(split, splits_by_key[key])), None
    )
    if differs is not None:
        problems.append(
            damaged(
                f"The readers of {retained.label} and its coordinator keep other hash keys or parents of {differs[1]}: "
                "one of the two is damaged."
            )
        )
    return problems


def _same(split: ShardSplit, other: ShardSplit) -> bool:
    return (split.shard.low, split.shard.high, split.shard.parents) == (
        other.shard.low,
        other.shard.high,
        other.shard.parents,
    )


def _together(retained: SourceState, splits: Sequence[ShardSplit]) -> list[Problem]:
    problems: list[Problem] = []
    streams = sorted({split.key[0] for split in splits})
    if len(streams) > 1:
        problems += stream_differs(retained.label, streams, _BY_ITS_OWN_STREAM)
    for stream in streams:
        mine = [split.shard for split in splits if split.key[0] == stream and split.kind == KINESIS]
        # A part of a stream's shards is left over from a restore with another stream, which is reported above.
        stream_problems = problems_of(mine, knows_children=True)
        problems += [problem for problem in stream_problems if len(streams) == 1 or problem.code != hash_range_gap.code]
    return problems


def _several(keys: Sequence[tuple[str, str]]) -> str:
    return keys[0][1] + (f" and {many(len(keys) - 1, 'more shard')}" if len(keys) > 1 else "")


def _empty(retained: SourceState) -> Iterable[Problem]:
    effect = (
        "A restore begins new shards at their oldest record and none that the state has seen before: a shard that "
        "was gone counts as finished, and connectors before 4.3.0 could lose the state when stopped."
    )
    if retained.written_ms is not None:
        effect += f" Of such a shard nothing is read that came since this was written, at {utc(retained.written_ms)}."
    return state_empty(retained.label, effect)
