from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from offsetwise.client_properties.connectors import SCHEMES
from offsetwise.engines.engine import CheckpointEngine
from offsetwise.model import Checkpoint
from offsetwise.plugins.connect.engine.details import ConnectDetails, listings
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, Tree

NAME: Final = "connect"


def _read(
    uri: str,
    folder: Tree | None,  # noqa: ARG001 - it is read by its URI
    entries: tuple[Entry, ...] | None,  # noqa: ARG001 - as above
    *,
    roots: Sequence[str] | None,
    batches: int,  # noqa: ARG001 - a connector has none
    uids: Sequence[str],  # noqa: ARG001 - as above
    committer: Table | None,  # noqa: ARG001 - as above
) -> Checkpoint:
    from offsetwise.plugins.connect.engine.reading import read_connector  # noqa: PLC0415 - only needed for connectors

    return read_connector(uri, NAME, roots=roots)


CONNECT: Final = CheckpointEngine(
    name=NAME,
    label="Kafka Connect",
    what="a connector of Kafka Connect",
    holds="no folder, but offsets that workers tell at connect+http://HOST:PORT/connectors/NAME",
    job="connector",
    source_name=re.compile(r"[^/\\\x00-\x1f\x7f]{1,180}"),
    read=_read,
    details=ConnectDetails,
    listings=listings,
    schemes=SCHEMES,
    reads_files=True,  # offsets are pinned, not files in a folder
)
