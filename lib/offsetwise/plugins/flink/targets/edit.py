"""Replaces positions in a Flink savepoint; everything else stays byte for byte.

If a topic keeps its name, eight bytes change per partition and the length stays. If not, elements grow or shrink, and
the offsets and sizes in `_metadata` follow. The result is read again with the reader of positions, and refused unless
exactly the planned ones changed. Pure: bytes in, bytes out.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Final

from offsetwise.apply.writing import NumberChange
from offsetwise.errors import ApplyError, OffsetwiseError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.findings.target_position import chosen_at_start, no_position
from offsetwise.model import Checkpoint, CheckpointSource, TopicPartition
from offsetwise.plan.target import refuse_unfit
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.elements import StateBlob, element_bounds, is_compressed
from offsetwise.plugins.flink.engine.findings import checkpoint_unaligned
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.handles import StreamHandle
from offsetwise.plugins.flink.engine.metadata import Metadata, OperatorEntry, OperatorHandle, parse_metadata
from offsetwise.plugins.flink.engine.opened import Opened
from offsetwise.plugins.flink.engine.source import LEGACY_STATE, READER_STATE
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.dynamic import MovedCluster, dynamic_element, dynamic_pieces
from offsetwise.plugins.flink.targets.dynamic import begins_new_at_earliest as dynamic_begins_new_at_earliest
from offsetwise.plugins.flink.targets.elements import (
    Moves,
    NotEditableError,
    Piece,
    edited_element,
    enumerator_pieces,
    kafka_element,
    spliced,
)
from offsetwise.plugins.flink.targets.elements import begins_new_at_earliest as kafka_begins_new_at_earliest
from offsetwise.plugins.flink.targets.spec import several_clusters
from offsetwise.ports.stream import has_offsets
from offsetwise.position import offset_of
from offsetwise.storage.memory import HeldFolder
from offsetwise.targets.moves import Move, by_place

_REFUSED: Final = frozenset(kind.code for kind in (checkpoint_damaged, checkpoint_unaligned, no_position))
_OUTSIDE: Final = frozenset({"absolute", "segment"})
_TAKE: Final = (
    "Take a savepoint of the job in the canonical format: flink stop --type canonical --savepointPath DIR JOB."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedSavepoint:
    files: Mapping[str, bytes]
    """`_metadata`, and every state file with other bytes."""
    changes: Mapping[str, tuple[NumberChange, ...]]
    """One per partition, by the file that contains its position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    state: str
    """The name of the state of its readers."""
    element: Callable[[bytes], tuple[TopicPartition, bytes]]
    """Returns the partition of an element, and the edited element."""
    coordinator: Callable[[Cursor], list[Piece]] | None
    """Returns the edits of its coordinator's state; None if there are none."""
    needs_coordinator: bool = False
    """Whether the source cannot be moved without an edit of its coordinator."""
    begins_new_at_earliest: Callable[[Cursor | None], bool] = kafka_begins_new_at_earliest
    """Returns whether its coordinator begins unknown partitions at their earliest record."""


@dataclass(slots=True)
class Making:
    opened: Opened
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    """By the file that they are in."""
    kept_in: dict[tuple[str, str, int], str] = field(default_factory=dict)
    """By operator, topic and partition: the file with the position in a reader's state."""

    def add(self, file: str, pieces: Iterable[Piece]) -> None:
        self.pieces.setdefault(file, []).extend(pieces)

    def files(self, contents: Mapping[str, bytes]) -> dict[str, bytes]:
        results = {name: spliced(contents[name], pieces) for name, pieces in self.pieces.items() if pieces}
        return {METADATA: contents[METADATA], **results}


def edit_savepoint(
    contents: Mapping[str, bytes], moves: Mapping[str, tuple[Move, ...]], *, uri: str, moved: MovedCluster | None = None
) -> EditedSavepoint:
    """Edit a savepoint.

    Args:
        contents: `_metadata`, and the state files of sources and sinks in its folder.
        moves: By the source's id, a uid or an operator's id. They include every position of every Kafka source.
        uri: The savepoint, for errors.
        moved: The cluster of a DynamicKafkaSource that the moves are of; None if no such source is edited.

    Raises:
        ApplyError: It may not be edited, or the moves do not fit it.
        OffsetwiseError: It cannot be read.
    """
    before, metadata, opened = open_savepoint(contents, uri, moved)
    making = Making(opened=opened)
    changes: defaultdict[str, list[NumberChange]] = defaultdict(list)
    expected: dict[str, dict[TopicPartition, int]] = {}
    try:
        for source in (candidate for candidate in before.sources if has_offsets(candidate.kind)):
            given = _moves_of(source, moves, uri)
            entry = entry_of(source, metadata)
            rewrite = _rewrite(source, entry, given, moved)
            edit_source(entry, rewrite, making)
            for change in _changes(source, given, uri):
                file = making.kept_in.get((entry.id, change.topic, change.partition), METADATA)
                changes[file].append(change)
            named = _offsets_of(source).keys()
            legacy = READER_STATE not in _names(entry)
            begins_new_at_earliest = rewrite.begins_new_at_earliest
            if not (given.keys() <= named or legacy or begins_new_at_earliest(making.opened.coordinator(entry))):
                raise NotEditableError("a new partition, while the source has not finished its first discovery")
            expected[source.id] = {move.new_topic_partition: move.new for key, move in given.items() if key in named}
    except (NotEditableError, DamagedError) as error:
        raise refused(uri, f"positions that can be edited, found {error}", error) from error
    _check_used(before, moves, uri)
    files = making.files(contents)
    _prove(before, HeldFolder(uri=uri, files={**contents, **files}), expected, moved)
    return EditedSavepoint(files=files, changes={name: tuple(changes[name]) for name in files})


def _check_used(before: Checkpoint, moves: Mapping[str, tuple[Move, ...]], uri: str) -> None:
    unused = [move for move in moves if not any(is_of(source, move) for source in before.sources)]
    if unused:
        raise refused(uri, f"a Kafka source {unused[0]!r}, found none")


def open_savepoint(
    contents: Mapping[str, bytes], uri: str, moved: MovedCluster | None = None
) -> tuple[Checkpoint, Metadata, Opened]:
    """Open a savepoint for an edit: its positions, its parsed metadata, and the bytes of its state.

    Raises:
        ApplyError: It may not be edited.
        OffsetwiseError: It cannot be read.
    """
    folder = HeldFolder(uri=uri, files=contents)
    before = on_cluster(read_from(folder), moved and moved.cluster)
    require_editable(before, uri)
    metadata = parse_metadata(contents[METADATA])
    return before, metadata, Opened.of(folder, contents[METADATA], metadata, None)


def require_editable(before: Checkpoint, uri: str) -> None:
    """Require a reliable savepoint, without records in flight, and with all its state in its folder.

    Raises:
        ApplyError: It is not such a savepoint.
    """
    for problem in before.problems:
        if problem.code in _REFUSED and not chosen_at_start(problem):
            raise ApplyError(f"{uri}: {problem.message} Nothing was written.", fix=problem.fix)
    for operator in flink_details(before).operators:
        for state in operator.states:
            outside = _OUTSIDE.intersection(state.places)
            if outside:
                raise ApplyError(
                    f"{uri}: expected all state in its own folder, found {state.name} of operator "
                    f"{operator.uid or operator.name or operator.id!r} in files elsewhere ({min(outside)}): a copy "
                    "would share them with the job that owns them. Nothing was written.",
                    fix=_TAKE,
                )
    refuse_unfit(several_clusters(before), uri)


def _moves_of(source: CheckpointSource, moves: Mapping[str, tuple[Move, ...]], uri: str) -> Moves:
    results = [given for name, given in moves.items() if is_of(source, name)]
    if len(results) != 1:
        raise refused(uri, f"the positions of source {source.id!r} once in the plan, found them {len(results):,} times")
    return by_place(results[0], uri)


def is_of(source: CheckpointSource, named: str) -> bool:
    return named == source.id or operator_id(named) == source.id


def entry_of(source: CheckpointSource, metadata: Metadata) -> OperatorEntry:
    """Return the operator of a source.

    Raises:
        NotEditableError: Two sources have its name.
    """
    entries = [operator for operator in metadata.operators if source.id in (operator.uid, operator.id)]
    if len(entries) != 1 or {READER_STATE, LEGACY_STATE} <= _names(entries[0]):
        raise NotEditableError(f"two sources that are both called {source.id!r}")
    return entries[0]


def _names(entry: OperatorEntry) -> set[str]:
    return {state.name for subtask in entry.subtasks if subtask.managed is not None for state in subtask.managed.states}


def _rewrite(source: CheckpointSource, entry: OperatorEntry, moves: Moves, moved: MovedCluster | None) -> Rewrite:
    if source.cluster is not None and moved is not None:
        return Rewrite(
            state=READER_STATE,
            element=partial(dynamic_element, moves=moves, moved=moved),
            coordinator=partial(dynamic_pieces, moves=moves, moved=moved),
            needs_coordinator=True,
            begins_new_at_earliest=partial(dynamic_begins_new_at_earliest, moved=moved),
        )
    legacy = LEGACY_STATE in _names(entry)
    return Rewrite(
        state=LEGACY_STATE if legacy else READER_STATE,
        element=partial(kafka_element, moves=moves, legacy=legacy),
        coordinator=None if legacy else partial(enumerator_pieces, moves=moves),
    )


def edit_source(entry: OperatorEntry, rewrite: Rewrite, making: Making) -> None:
    """Record the edits of one source's state.

    Raises:
        DamagedError: Its state is damaged.
        NotEditableError: It may not be edited.
    """
    for subtask in entry.subtasks:
        blob, handle = making.opened.blobs.get((entry.id, subtask.index)), subtask.managed
        if blob is not None and handle is not None:
            for key in _edit_state(blob, handle, rewrite, making):
                making.kept_in[entry.id, *key] = blob.file
    cursor = making.opened.coordinator(entry)
    if rewrite.needs_coordinator and cursor is None:
        raise NotEditableError("a DynamicKafkaSource without its coordinator's state, which keeps its addresses")
    if rewrite.coordinator is None or cursor is None or entry.coordinator is None:
        return
    pieces = rewrite.coordinator(cursor)
    making.add(METADATA if entry.coordinator.kind == "inline" else entry.coordinator.path, pieces)
    _resize(entry.coordinator, sum(map(_growth, pieces)), making)


def _edit_state(blob: StateBlob, handle: OperatorHandle, rewrite: Rewrite, making: Making) -> list[TopicPartition]:
    bounds = element_bounds(handle).get(rewrite.state, ())
    if not bounds or handle.handle is None:
        return []
    framed = is_compressed(blob)
    keys: list[TopicPartition] = []
    pieces: list[Piece] = []
    for start, end in bounds:
        begun, ended = blob.at + start, blob.at + end
        key, element = edited_element(blob.data, begun, ended, rewrite.element, framed=framed)
        keys.append(key)
        if element != blob.data[begun:ended]:
            pieces.append(Piece(begun, ended, element))
    making.add(blob.file, pieces)
    if any(map(_growth, pieces)):
        making.add(METADATA, _moved(handle, blob.at, pieces))
        _resize(handle.handle, sum(map(_growth, pieces)), making)
    return keys


def _growth(piece: Piece) -> int:
    return len(piece.data) - (piece.end - piece.start)


def _moved(handle: OperatorHandle, begun: int, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the new offsets of all elements in a handle, after some before them have grown or shrunk."""
    ordered = sorted(pieces)
    ends = [piece.end - begun for piece in ordered]
    grown = [0, *accumulate(map(_growth, ordered))]
    for state in handle.states:
        offsets = [offset + grown[bisect_right(ends, offset)] for offset in state.offsets]
        yield Piece(state.at, state.at + 8 * len(offsets), struct.pack(f">{len(offsets)}q", *offsets))


def _resize(handle: StreamHandle, grown: int, making: Making) -> None:
    if grown:
        width = 4 if handle.kind == "inline" else 8
        making.add(
            METADATA, [Piece(handle.size_at, handle.size_at + width, (handle.size + grown).to_bytes(width, "big"))]
        )


def _offsets_of(source: CheckpointSource) -> dict[TopicPartition, int | None]:
    undecided = {at.topic_partition: None for at in source.undecided}
    return {at.topic_partition: offset_of(at.offset) for at in source.positions} | undecided


def _changes(source: CheckpointSource, moves: Moves, uri: str) -> Iterator[NumberChange]:
    offsets = _offsets_of(source)
    for key, move in moves.items():
        if key not in offsets and not move.added:
            own = "" if move.old is not None else " to begin at its earliest record, as Flink begins new partitions"
            raise refused(uri, f"{move.topic_partition}{own}, found no such partition")
        if move.added and offsets.get(key) is not None:
            raise refused(uri, f"no {move.topic_partition} as in the plan, found one")
        if key in offsets:
            yield NumberChange(
                source=source.id,
                topic=move.topic,
                partition=move.partition,
                before=offsets[key],
                new_topic=move.new_topic,
                after=move.new,
            )
    lacking = sorted(offsets.keys() - moves.keys())
    if lacking:
        raise refused(uri, f"a position for {lacking[0]} in the plan, found none")


def _prove(
    before: Checkpoint,
    folder: HeldFolder,
    expected: Mapping[str, Mapping[TopicPartition, int]],
    moved: MovedCluster | None,
) -> None:
    """Read the savepoint as it will be, and refuse unless it has exactly the planned positions."""
    try:
        after = on_cluster(read_from(folder), moved and moved.cluster)
    except OffsetwiseError as error:
        raise refused(folder.uri, f"to read the edited savepoint again, found {error.problem}") from error
    if len(after.sources) != len(before.sources) or _around(after, expected) != _around(before, expected):
        raise refused(folder.uri, "only planned positions to change, found another difference after the edit")
    for was, source in zip(before.sources, after.sources, strict=True):
        results = {at.topic_partition: at.offset for at in source.positions}
        planned = expected.get(was.id)
        same = _without_positions(source) == _without_positions(was)
        if not same or (results != planned if planned is not None else source != was):
            raise refused(folder.uri, f"exactly the planned positions of {was.id!r}, found others after the edit")


def _without_positions(source: CheckpointSource) -> CheckpointSource:
    return replace(source, positions=(), marked=tuple(at for at in source.marked if at not in source.undecided))


def _around(read: Checkpoint, edited: Collection[str]) -> tuple[object, ...]:
    """Return everything but positions: the same before and after, except for the sizes of sources' own states."""
    operators = [
        replace(operator, states=tuple(replace(state, size_bytes=0) for state in operator.states))
        if operator.id in edited or operator.uid in edited
        else operator
        for operator in flink_details(read).operators
    ]
    problems = [problem for problem in read.problems if not chosen_at_start(problem)]
    return operators, problems, read.details.transactions, flink_details(read).saved


def refused(uri: str, expected: str, cause: Exception | None = None) -> ApplyError:
    problem = f"{uri}: expected {expected}. Nothing was written."
    if isinstance(cause, NotEditableError) and cause.fix:
        return ApplyError(problem, fix=cause.fix)
    return ApplyError(problem, fix="Take a savepoint, compare again and draft the plan from that.")
