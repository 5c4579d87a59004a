from __future__ import annotations

import re
from typing import Final

from offsetwise.client_properties.connectors import SCHEMES
from offsetwise.engines.engine import CheckpointEngine, ReadRequest
from offsetwise.model import Checkpoint
from offsetwise.plugins.connect.engine.details import ConnectDetails, listings

NAME: Final = "connect"


def _read(request: ReadRequest) -> Checkpoint:
    from offsetwise.plugins.connect.engine.reading import read_connector  # noqa: PLC0415 - only needed for connectors

    return read_connector(request.uri, NAME, roots=request.roots)


CONNECT: Final = CheckpointEngine(
    name=NAME,
    label="Kafka Connect",
    what="a connector of Kafka Connect",
    holds="no folder, but offsets that workers tell at connect+http://HOST:PORT/connectors/NAME",
    job="connector",
    source_name=re.compile(r"[^/\\\x00-\x1f\x7f]{1,180}"),
    reader=_read,
    details=ConnectDetails,
    listings=listings,
    schemes=SCHEMES,
    reads_files=True,  # offsets are pinned, not files in a folder
)
