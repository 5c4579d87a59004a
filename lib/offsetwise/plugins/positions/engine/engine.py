from __future__ import annotations

import re
from typing import Final

from offsetwise.engines.engine import CheckpointEngine, ReadRequest
from offsetwise.model import Checkpoint
from offsetwise.plugins.positions.engine.details import PositionsDetails

NAME: Final = "positions"


def _is_positions_file(part: str, data: bytes) -> bool:
    from offsetwise.plugins.positions.engine.reading import is_positions_file  # noqa: PLC0415 - only needed for such files

    return is_positions_file(part, data)


def _read(request: ReadRequest) -> Checkpoint:
    from offsetwise.plugins.positions.engine.reading import read_positions  # noqa: PLC0415 - as above

    return read_positions(request.uri, NAME, roots=request.roots)


POSITIONS: Final = CheckpointEngine(
    name=NAME,
    label="positions file",
    what="a positions file",
    holds="no folder, but offsets of Kafka in a file",
    job="group",
    source_name=re.compile(r"[a-z-]{1,40}(:[^/\\\x00-\x1f\x7f]{1,255})?"),  # a shape, and a group
    reader=_read,
    details=PositionsDetails,
    reads_files=True,
    recognises_file=_is_positions_file,
)
