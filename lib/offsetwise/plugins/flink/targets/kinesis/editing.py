"""Edits a savepoint with Kinesis sources at other positions; everything else stays byte for byte.

On the same stream, positions are replaced in the elements of the readers. Shards that the savepoint lacks and that its
source would not discover are added to the coordinator's state. On another stream the operator of a KinesisStreamsSource
is built anew, because the shards may differ; the legacy consumer's elements are renamed, and the stream has to have
shards of the same numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from offsetwise.apply.writing import NumberChange
from offsetwise.comparison.subjects import positions_of
from offsetwise.model import CheckpointSource, Plan, PlannedPosition, SourcePosition, TopicPartition
from offsetwise.plugins.flink.engine.binary import DamagedError
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.metadata import Metadata, OperatorEntry
from offsetwise.plugins.flink.engine.operators import states_of
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.targets.edit import (
    EditedSavepoint,
    Making,
    edit_source,
    entry_of,
    is_of,
    open_savepoint,
    refused,
)
from offsetwise.plugins.flink.targets.elements import NotEditableError
from offsetwise.plugins.flink.targets.kinesis.convert import anew
from offsetwise.plugins.flink.targets.kinesis.edit import ShardMove, rewrite_of
from offsetwise.plugins.flink.targets.kinesis.proving import prove
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits
from offsetwise.plugins.flink.targets.kinesis.spec import arn_of, begin_of, splits_of
from offsetwise.plugins.kinesis.stream.spec import TRIM_HORIZON, ShardPlace, in_several
from offsetwise.plugins.kinesis.targets.spec import is_to_another_stream, stands_elsewhere
from offsetwise.ports.stream import is_compared
from offsetwise.storage.memory import HeldFolder
from offsetwise.wording import number


def edited_savepoint(plan: Plan, contents: Mapping[str, bytes], *, uri: str) -> EditedSavepoint:
    """Edit a savepoint.

    Args:
        plan: It contains every shard of every Kinesis source.
        contents: `_metadata`, and the state files of sources and sinks in its folder.
        uri: The savepoint, for errors.

    Raises:
        ApplyError: It may not be edited, or the plan does not fit it.
        OffsetwiseError: It cannot be read.
    """
    before, metadata, opened = open_savepoint(contents, uri)
    making = Making(opened=opened)
    editing = _Editing(plan=plan, metadata=metadata, making=making, uri=uri)
    changes: defaultdict[str, list[NumberChange]] = defaultdict(list)
    positions, ids = [*plan.positions], set()
    for source in before.sources:
        planned = [position for position in positions if is_of(source, position.source)]
        if not source.shards or not is_compared(source.kind):
            continue
        positions = [position for position in positions if position not in planned]
        try:
            entry = entry_of(source, metadata)
            editing.edit(source, entry, planned)
        except (NotEditableError, DamagedError) as error:
            raise refused(uri, f"positions that can be edited, found {error}", error) from error
        ids.add(entry.id)
        for change in _changes(planned):
            changes[making.kept_in.get((entry.id, change.topic, change.partition), METADATA)].append(change)
    if positions:
        raise refused(uri, f"a source of Kinesis {positions[0].source!r}, found none")
    files = making.files(contents)
    prove(plan, before, HeldFolder(uri=uri, files={**contents, **files}), ids)
    return EditedSavepoint(files=files, changes={name: tuple(changes[name]) for name in files})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Editing:
    plan: Plan
    metadata: Metadata
    making: Making
    uri: str

    def edit(self, source: CheckpointSource, entry: OperatorEntry, planned: list[PlannedPosition]) -> None:
        """Record the edits of one source's state.

        Raises:
            ApplyError: The plan does not fit it.
            DamagedError: Its state is damaged.
            NotEditableError: It may not be edited.
        """
        legacy = LEGACY_STATE in {state.name for state in states_of(entry)}
        at = {position.topic_partition: position for position in positions_of(source)}
        elsewhere = is_to_another_stream(planned)
        if elsewhere and (
            message := stands_elsewhere(planned, {position.partition: position for position in at.values()})
        ):
            raise refused(self.uri, message)
        if elsewhere and not legacy:
            self._anew(source, entry, planned)
            return
        new = [position for position in planned if position.old_offset is None]
        moves = {
            position.topic_partition: self._move(position, at)
            for position in planned
            if position.old_offset is not None
        }
        lacking = sorted(at.keys() - moves.keys())
        if lacking:
            raise refused(self.uri, f"a position for {lacking[0]} in the plan, found none")
        if legacy and any(begin_of(position) != TRIM_HORIZON for position in new):
            raise NotEditableError(f"no {new[0].topic_partition}: the legacy consumer begins it at its oldest record")
        arn = next((shard.stream or "" for shard in source.shards), "")
        added = () if legacy else splits_of(_only(self.plan, new), arn)
        edit_source(entry, rewrite_of(moves, legacy=legacy, added=added), self.making)

    def _anew(self, source: CheckpointSource, entry: OperatorEntry, planned: list[PlannedPosition]) -> None:
        streams = {position.new_topic for position in planned}
        arns = {result for stream in streams if (result := arn_of(self.plan, stream)) is not None}
        if len(streams) != 1 or len(arns) != 1:
            raise refused(self.uri, f"one stream, whose ARN is known, for source {source.id!r}, found none in the plan")
        splits = Splits.of(splits_of(_only(self.plan, planned), min(arns)))
        self.making.add(METADATA, [anew(entry, self.metadata, self.making.opened, splits, state=READER_STATE)])

    def _move(self, planned: PlannedPosition, at: Mapping[TopicPartition, SourcePosition]) -> ShardMove:
        position, new_position = at.get(planned.topic_partition), begin_of(planned)
        moved = position is not None and (in_several(planned.old_offset) or position.offset == planned.old_offset)
        if position is None or not isinstance(position.offset, ShardPlace) or not moved:
            current = "no such shard" if position is None else position.offset
            raise refused(
                self.uri, f"{planned.topic_partition} at {number(planned.old_offset)} as in the plan, found {current}"
            )
        if new_position is None:
            expected = f"a position of {planned.topic_partition} that Flink can begin at"
            raise refused(self.uri, f"{expected}, found {planned.new_offset:,} in the plan")
        return ShardMove(
            topic=planned.topic,
            partition=planned.partition,
            old=position.offset,
            new_topic=planned.new_topic,
            new=new_position,
        )


def _only(plan: Plan, positions: list[PlannedPosition]) -> Plan:
    return replace(plan, positions=tuple(positions))


def _changes(planned: list[PlannedPosition]) -> list[NumberChange]:
    return [
        NumberChange(
            source=position.source,
            topic=position.topic,
            partition=position.partition,
            before=position.old_offset,
            new_topic=position.new_topic,
            after=position.new_offset,
        )
        for position in planned
    ]
