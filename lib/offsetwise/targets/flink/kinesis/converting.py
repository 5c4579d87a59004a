"""The `_metadata` of a savepoint whose legacy consumers of Kinesis have become KinesisStreamsSources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from offsetwise.engines.flink.binary import DamagedError
from offsetwise.engines.flink.checkpoint import read_from
from offsetwise.engines.flink.details import flink_details
from offsetwise.engines.flink.folder import METADATA
from offsetwise.engines.flink.kinesis import LEGACY_STATE
from offsetwise.engines.flink.metadata import parse_metadata
from offsetwise.engines.flink.opened import Opened
from offsetwise.engines.flink.operators import states_of
from offsetwise.engines.flink.uid import operator_id
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint, Plan
from offsetwise.storage.memory import HeldFolder
from offsetwise.streams.kinesis.spec import SHARD_END, shard_id
from offsetwise.targets.flink.edit import refused, require_editable
from offsetwise.targets.flink.elements import NotEditableError, spliced
from offsetwise.targets.flink.kinesis.convert import converted
from offsetwise.targets.flink.kinesis.spec import arn_of, place_of

__all__ = ["METADATA", "converted_metadata"]


def converted_metadata(plan: Plan, held: Mapping[str, bytes], *, uri: str) -> bytes:
    """Give `_metadata` with the planned positions in the state of the new source, all else byte for byte.

    Args:
        plan: Its sources are legacy consumers.
        held: `_metadata`, and the state files in its folder that sources and sinks keep their state in.
        uri: The savepoint, for errors.

    Raises:
        ApplyError: It may not be converted, or the plan does not fit it.
        OffsetwiseError: It cannot be read.
    """
    folder = HeldFolder(uri=uri, files=held)
    before = read_from(folder)
    require_editable(before, uri)
    data = held[METADATA]
    metadata = parse_metadata(data)
    opened = Opened.of(folder, data, metadata, None)
    pieces, ids = [], set()
    for source in sorted({one.source for one in plan.positions}):
        mine = [one for one in plan.positions if one.source == source]
        places = {shard_id(one.partition): place for one in mine if (place := place_of(one)) is not None}
        arn = arn_of(plan, mine[0].new_topic) or ""
        found = [each for each in metadata.operators if each.id in (source, operator_id(source))]
        if len(found) != 1 or LEGACY_STATE not in {state.name for state in states_of(found[0])}:
            raise refused(uri, f"the legacy consumer {source!r}, found none")
        try:
            pieces.append(converted(found[0], metadata, opened, arn, places))
        except (NotEditableError, DamagedError) as error:
            raise refused(uri, f"a legacy consumer that can be converted, found {error}") from error
        ids.add(found[0].id)
    made = spliced(data, pieces)
    _prove(plan, before, HeldFolder(uri=uri, files={**held, METADATA: made}), ids)
    return made


def _prove(plan: Plan, before: Checkpoint, folder: HeldFolder, ids: Collection[str]) -> None:
    """Read the savepoint as it will be, and refuse unless it has the planned positions and all else as it was."""
    try:
        after = read_from(folder)
    except OffsetwiseError as error:
        raise refused(folder.uri, f"to read the converted savepoint again, found {error.problem}") from error
    found = {(each.id, at.shard): at.position for each in after.sources for at in each.shards if _of(each.id, ids)}
    wanted = {
        (_named(one.source, after), shard_id(one.partition)): place
        for one in plan.positions
        if (place := place_of(one)) not in (None, SHARD_END)
    }
    others = [[each for each in flink_details(read).operators if each.id not in ids] for read in (before, after)]
    untouched = [[each for each in read.sources if not _of(each.id, ids)] for read in (before, after)]
    if (
        found != wanted
        or others[0] != others[1]
        or [replace(each, index=0) for each in untouched[0]] != [replace(each, index=0) for each in untouched[1]]
        or before.details.transactions != after.details.transactions
    ):
        raise refused(folder.uri, "the planned positions and everything else as it was, found another difference")


def _of(source: str, ids: Collection[str]) -> bool:
    return source in ids or operator_id(source) in ids


def _named(source: str, read: Checkpoint) -> str:
    """Give what a checkpoint calls a source that a plan names by its uid or its operator's id."""
    return source if any(each.id == source for each in read.sources) else operator_id(source)
