"""Replaces positions in the checkpoint of a Spark query of Kinesis.

The line of a batch records where it starts, and a file for each shard where it ends. Both are compact JSON that is
parsed and written again; a file that would not be written back identically is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from offsetwise.apply.edits import FileEdit
from offsetwise.apply.fitting import unfit
from offsetwise.apply.writing import NumberChange
from offsetwise.comparison.subjects import positions_of
from offsetwise.model import AnyPosition, Checkpoint, CheckpointSource, Plan, PlannedPosition
from offsetwise.plugins.kinesis.stream.spec import ShardPlace, shard_id
from offsetwise.plugins.kinesis.targets.spec import is_to_another_stream, stands_elsewhere
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_offsets
from offsetwise.plugins.spark.engine.overlay import read_file
from offsetwise.plugins.spark.targets.edit import line_spans, replaced
from offsetwise.plugins.spark.targets.kinesis.spec import added_ends, entry_of, place_of
from offsetwise.storage.folders import FolderReader
from offsetwise.strict_json import parse
from offsetwise.targets.moves import refused

_METADATA: Final = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    planned: PlannedPosition
    begins: ShardPlace
    ends: ShardPlace | None
    """The recorded end of a pending batch."""
    changed: bool
    """Whether it begins at another position than the recorded one."""
    added: bool
    """Whether the checkpoint does not name it."""

    @property
    def shard(self) -> str:
        return shard_id(self.planned.partition)

    def change(self, before: AnyPosition | None, after: AnyPosition) -> NumberChange:
        position = self.planned
        return NumberChange(
            source=position.source,
            topic=position.topic,
            partition=position.partition,
            before=before,
            new_topic=position.new_topic,
            after=after,
        )


def shard_edits(
    plan: Plan, folder: FolderReader, checkpoint: Checkpoint, batch: int, *, pending: bool
) -> Iterator[FileEdit]:
    """Yield the edits that give the newest batch the planned positions.

    Args:
        plan: The plan.
        folder: The checkpoint it was drafted from.
        checkpoint: The same, as it was read.
        batch: The newest batch.
        pending: Whether it is planned and not committed: then it starts at the positions, else it ends there.

    Raises:
        ApplyError: The plan does not fit it, or it is in a form that no connector writes.
        StorageError: It cannot be read.
    """
    if plan.rewind_to is not None or plan.dropped_batch is not None:
        raise unfit("positions after the newest batch, found a plan that goes back behind it")
    path = f"offsets/{batch}"
    data = read_file(folder, path)
    try:
        head, lines = parse_offsets(data)
    except GarbledError as error:
        raise unfit(f"{path} to be an offset file, found it garbled: {error}") from error
    text = data.decode("utf-8")
    spans = line_spans(text, head.version, [*lines])
    pieces, numbers = [], []
    for source, moves in _moves(plan, checkpoint, path).items():
        start, end = spans[source]
        pieces.append((start, end, _line(text[start:end], moves, path)))
        ends = [*_ends(plan, folder, checkpoint, source, moves, pending=pending)]
        yield from ends
        edited_partitions = {change.partition for edit in ends for change in edit.numbers}
        numbers += [
            move.change(move.planned.old_offset, move.begins)
            for move in moves
            if pending or move.planned.partition not in edited_partitions
        ]
    yield FileEdit(path=path, before=data, after=replaced(text, pieces).encode("utf-8"), numbers=tuple(numbers))


def _moves(plan: Plan, checkpoint: Checkpoint, path: str) -> dict[str, list[_Move]]:
    sources = {source.id: source for source in checkpoint.sources if source.shards}
    planned: dict[str, list[PlannedPosition]] = {source: [] for source in sources}
    for position in plan.positions:
        if position.source not in planned:
            raise refused(path, f"shards of source {position.source!r}, found none")
        planned[position.source].append(position)
    return {source: _of_source(sources[source], mine, path) for source, mine in planned.items()}


def _of_source(source: CheckpointSource, planned: list[PlannedPosition], path: str) -> list[_Move]:
    positions = {at.topic_partition: at for at in positions_of(source)}
    elsewhere = is_to_another_stream(planned)
    if elsewhere and (message := stands_elsewhere(planned, {at.partition: at for at in positions.values()})):
        raise refused(path, message)
    moves = []
    for position in planned:
        at, (begin, end) = positions.pop(position.topic_partition, None), _restart(position)
        if not elsewhere and (begin, end) != ((None, None) if at is None else (at.offset, at.planned_offset)):
            current = "no such shard" if at is None else at.offset
            raise refused(path, f"{position.topic_partition} at {begin} as in the plan, found {current}")
        new_position, ends = place_of(position), position.restart[1].new if len(position.restart) > 1 else None
        if new_position is None or (ends is not None and not isinstance(ends, ShardPlace)):
            raise refused(path, f"a position of {position.topic_partition} that the connectors have a word for")
        moves.append(
            _Move(
                planned=position,
                begins=new_position,
                ends=ends,
                changed=at is None or new_position != at.offset,
                added=at is None,
            )
        )
    if positions:
        raise refused(path, f"a position for {min(positions)} in the plan, found none")
    return moves


def _restart(position: PlannedPosition) -> tuple[AnyPosition | None, AnyPosition | None]:
    if position.restart and (position.restart[0].old, position.restart[0].new) != (
        position.old_offset,
        position.new_offset,
    ):
        named = position.topic_partition
        raise unfit(f"one new and one old position of {named} in the plan, found that it contradicts itself")
    return position.old_offset, position.restart[1].old if len(position.restart) > 1 else None


def _line(text: str, moves: list[_Move], path: str) -> str:
    body = _as_written(text, path)
    (body[_METADATA]["streamName"],) = {move.planned.new_topic for move in moves}
    example = next(value for name, value in body.items() if name != _METADATA)
    for move in moves:
        if move.changed and (move.shard in body or move.added):
            body[move.shard] = _with(body.get(move.shard, example), move.begins)
    return _written(body)


def _ends(
    plan: Plan, folder: FolderReader, checkpoint: Checkpoint, source: str, moves: list[_Move], *, pending: bool
) -> Iterator[FileEdit]:
    """Yield the files with the ends of the newest batch; for a committed batch also those of new shards."""
    folder_of_ends = f"sources/{source}/shard-"
    files = {path.rpartition("/")[2]: path for path, _ in checkpoint.pins if path.startswith(folder_of_ends)}
    example: dict[str, Any] = {}
    for move in moves:
        path, position = files.get(move.shard), move.ends if pending else move.begins
        if path is None or position is None:
            continue
        data = read_file(folder, path)
        body = example = _as_written(data.decode("utf-8"), path)
        before = move.planned.restart[1].old if pending else move.planned.old_offset
        after = data if position == before else _written(_with(body, position)).encode("utf-8")
        yield FileEdit(path=path, before=data, after=after, numbers=(move.change(before, position),))
    for path, move in ((path, move) for path, move in _added(plan, moves).items() if not pending):
        body = {**_with(example, move.begins), "shardId": move.shard}
        yield FileEdit(
            path=path, before=None, after=_written(body).encode("utf-8"), numbers=(move.change(None, move.begins),)
        )


def _added(plan: Plan, moves: list[_Move]) -> dict[str, _Move]:
    paths = added_ends(plan)
    return {path: move for move in moves if (path := paths.get((move.planned.source, move.planned.partition)))}


def _with(body: Mapping[str, Any], position: ShardPlace) -> dict[str, Any]:
    """Set a position in the existing keys, each with a value of its existing type."""
    entry = entry_of(position)
    results = dict(body)
    for key in body.keys() & entry.keys():
        kind = type(body[key])
        results[key] = entry[key] == "true" if kind is bool else kind(entry[key])
    return results


def _as_written(text: str, path: str) -> dict[str, Any]:
    body: dict[str, Any] = parse(text.encode("utf-8"))
    if _written(body) != text:
        raise refused(path, "JSON as the connectors write it, found another form of it")
    return body


def _written(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)
