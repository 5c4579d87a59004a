from __future__ import annotations

from collections.abc import Mapping

from offsetwise.model import Plan
from offsetwise.plugins.flink.engine.binary import DamagedError
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.operators import states_of
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.edit import open_savepoint, refused
from offsetwise.plugins.flink.targets.elements import NotEditableError, spliced
from offsetwise.plugins.flink.targets.kinesis.convert import converted
from offsetwise.plugins.flink.targets.kinesis.proving import prove
from offsetwise.plugins.flink.targets.kinesis.spec import arn_of, place_of
from offsetwise.plugins.kinesis.stream.spec import shard_id
from offsetwise.storage.memory import HeldFolder

__all__ = ["METADATA", "converted_metadata"]


def converted_metadata(plan: Plan, contents: Mapping[str, bytes], *, uri: str) -> bytes:
    """Return `_metadata` with the planned positions in the state of the new source, all else byte for byte.

    Args:
        plan: Its sources are legacy consumers.
        contents: `_metadata`, and the state files of sources and sinks in its folder.
        uri: The savepoint, for errors.

    Raises:
        ApplyError: It may not be converted, or the plan does not fit it.
        OffsetwiseError: It cannot be read.
    """
    before, metadata, opened = open_savepoint(contents, uri)
    pieces, ids = [], set()
    for source in sorted({position.source for position in plan.positions}):
        mine = [position for position in plan.positions if position.source == source]
        positions = {
            shard_id(position.partition): new_position
            for position in mine
            if (new_position := place_of(position)) is not None
        }
        arn = arn_of(plan, mine[0].new_topic) or ""
        entries = [operator for operator in metadata.operators if operator.id in (source, operator_id(source))]
        if len(entries) != 1 or LEGACY_STATE not in {state.name for state in states_of(entries[0])}:
            raise refused(uri, f"the legacy consumer {source!r}, found none")
        try:
            pieces.append(converted(entries[0], metadata, opened, arn, positions))
        except (NotEditableError, DamagedError) as error:
            raise refused(uri, f"a legacy consumer that can be converted, found {error}", error) from error
        ids.add(entries[0].id)
    data = spliced(contents[METADATA], pieces)
    prove(plan, before, HeldFolder(uri=uri, files={**contents, METADATA: data}), ids)
    return data
