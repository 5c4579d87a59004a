"""Removes the state of Kafka sources from a Flink savepoint; all other operators stay byte for byte.

Flink takes a source whose operator is not in the savepoint for a new one: it begins where the job says, as after a
change of its uid, which SQL does not allow. Pure: bytes in, bytes out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint
from offsetwise.plan.target import refuse_unfit
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.details import Saved, flink_details
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.metadata import parse_metadata
from offsetwise.plugins.flink.targets.edit import entry_of, is_of, refused, require_editable
from offsetwise.plugins.flink.targets.elements import NotEditableError, Piece, spliced
from offsetwise.plugins.flink.targets.savepoint_without_sources.spec import source_keeps_more
from offsetwise.ports.stream import has_offsets
from offsetwise.storage.memory import HeldFolder


def without_sources(contents: Mapping[str, bytes], named: Collection[str], *, uri: str) -> bytes:
    """Return `_metadata` without the operators of all Kafka sources.

    Args:
        contents: As for `edit_savepoint`.
        named: The sources of the plan: all Kafka sources, by uid or an operator's id.
        uri: The savepoint, for errors.

    Raises:
        ApplyError: It may not be edited, or the plan does not name its sources.
        OffsetwiseError: It cannot be read.
    """
    before = read_from(HeldFolder(uri=uri, files=contents))
    require_editable(before, uri)
    data = contents[METADATA]
    metadata = parse_metadata(data)
    sources = [source for source in before.sources if has_offsets(source.kind)]
    unplanned = [source.id for source in sources if not any(is_of(source, name) for name in named)]
    unused = [name for name in named if not any(is_of(source, name) for source in sources)]
    if unplanned or unused or not sources:
        raise refused(uri, f"the Kafka sources of the plan, found {', '.join(unplanned + unused) or 'none'}")
    refuse_unfit(source_keeps_more(before), uri)
    try:
        entries = [entry_of(source, metadata) for source in sources]
    except NotEditableError as error:
        raise refused(uri, f"sources whose state can be dropped, found {error}", error) from error
    count = len(metadata.operators) - len(entries)
    edited = spliced(
        data,
        [
            Piece(metadata.counted_at, metadata.counted_at + 4, count.to_bytes(4, "big")),
            *(Piece(entry.at, entry.end, b"") for entry in entries),
        ],
    )
    _prove(before, {entry.id for entry in entries}, HeldFolder(uri=uri, files={**contents, METADATA: edited}))
    return edited


def _prove(before: Checkpoint, dropped: Collection[str], folder: HeldFolder) -> None:
    """Read the savepoint as it will be, and refuse unless the sources are gone and nothing else is."""
    try:
        after = read_from(folder)
    except OffsetwiseError as error:
        raise refused(folder.uri, f"to read the savepoint without its sources, found {error.problem}") from error
    operators = tuple(operator for operator in flink_details(before).operators if operator.id not in dropped)
    others = [replace(source, index=0) for source in before.sources if not has_offsets(source.kind)]
    same = (flink_details(after).operators, after.details.transactions, _saved(after)) == (
        operators,
        before.details.transactions,
        _saved(before),
    )
    if not same or [replace(source, index=0) for source in after.sources] != others:
        raise refused(folder.uri, "only the sources to be gone, found another difference after the edit")


def _saved(read: Checkpoint) -> Saved:
    """Return the saved properties without the compression of sources: without sources it is not known."""
    return replace(flink_details(read).saved, compressed=False)
