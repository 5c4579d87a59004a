"""Provenance headers: offsets that a migration tool wrote on the records it copied. Standard library only.

A header is a claim. It says where to look; records decide.

Formats, as the tools write them:

- `redpanda-migrator-offset`: 8 bytes, big-endian (redpanda-data/connect, `redpanda_migrator`).
- `x-original-offset`: 8 bytes, little-endian, or decimal text (kafka-backup).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

REDPANDA: Final = "redpanda-migrator-offset"
KAFKA_BACKUP: Final = "x-original-offset"
PROVENANCE_HEADERS: Final = frozenset({REDPANDA, KAFKA_BACKUP})
OFFSET_BYTES: Final = 8
MAX_DIGITS: Final = 19


def origin(headers: Iterable[tuple[str, bytes | None]]) -> int | None:
    """Give the old offset that a record's headers claim; the first provenance header wins.

    >>> origin([("redpanda-migrator-offset", (1050).to_bytes(8, "big"))])
    1050
    >>> origin([("x-original-offset", b"1050"), ("x-original-offset", b"7")])
    1050
    """
    for name, value in headers:
        if name in PROVENANCE_HEADERS:
            return _decode(name, value or b"")
    return None


def _decode(name: str, value: bytes) -> int | None:
    if name == KAFKA_BACKUP and value.isdigit() and len(value) <= MAX_DIGITS:
        # Eight ASCII digits, read as an integer, would be an offset above 10^18.
        made = int(value)
    elif len(value) == OFFSET_BYTES:
        made = int.from_bytes(value, "big" if name == REDPANDA else "little")
    else:
        return None
    return made if made < 2**63 else None
