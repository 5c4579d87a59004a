from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from offsetwise.engines.engine import CheckpointEngine
from offsetwise.model import Checkpoint
from offsetwise.plugins.positions.engine.details import PositionsDetails
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, Tree

NAME: Final = "positions"


def _is_positions_file(part: str, data: bytes) -> bool:
    from offsetwise.plugins.positions.engine.reading import is_positions_file  # noqa: PLC0415 - only needed for such files

    return is_positions_file(part, data)


def _read(
    uri: str,
    folder: Tree | None,  # noqa: ARG001 - it is opened by its URI
    entries: tuple[Entry, ...] | None,  # noqa: ARG001 - as above
    *,
    roots: Sequence[str] | None,
    batches: int,  # noqa: ARG001 - a file has none
    uids: Sequence[str],  # noqa: ARG001 - as above
    committer: Table | None,  # noqa: ARG001 - as above
) -> Checkpoint:
    from offsetwise.plugins.positions.engine.reading import read_positions  # noqa: PLC0415 - as above

    return read_positions(uri, NAME, roots=roots)


POSITIONS: Final = CheckpointEngine(
    name=NAME,
    label="positions file",
    what="a positions file",
    holds="no folder, but offsets of Kafka in a file",
    job="group",
    source_name=re.compile(r"[a-z-]{1,40}(:[^/\\\x00-\x1f\x7f]{1,255})?"),  # a shape, and a group
    read=_read,
    details=PositionsDetails,
    reads_files=True,
    recognises_file=_is_positions_file,
)
