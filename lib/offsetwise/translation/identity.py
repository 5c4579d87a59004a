"""Record identity: the hashes by which two records count as the same, whatever their offsets.

A hash of this module equals the one that `pipeline/records.py` computes inside Spark, byte for byte. It is a SHA-256
over the salt and the length-prefixed parts, cut to 16 bytes. Standard library only: it is shipped to Spark's workers.

Provenance headers are no part of it: offsets that a migration tool wrote on the records it copied. Such a header is a
claim that shows where to look; records decide. Formats, as the tools write them:

- `redpanda-migrator-offset`: 8 bytes, big-endian (redpanda-data/connect, `redpanda_migrator`).
- `x-original-offset`: 8 bytes, little-endian, or decimal text (kafka-backup).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

IDENTITY_BYTES: Final = 16
NULL_LENGTH: Final = b"\xff\xff\xff\xff"
"""Used as the length of a null part, so that null and empty differ."""
SCHEMA_PREFIX_BYTES: Final = 5
"""The zero byte and the four bytes of a schema-registry id."""
REDPANDA: Final = "redpanda-migrator-offset"
KAFKA_BACKUP: Final = "x-original-offset"
PROVENANCE_HEADERS: Final = frozenset({REDPANDA, KAFKA_BACKUP})
OFFSET_BYTES: Final = 8
MAX_DIGITS: Final = 19


def content_hash(salt: bytes, key: bytes | None, value: bytes | None) -> bytes:
    """Return the hash of a record's key and value; timestamp and headers are compared separately."""
    return _hash(salt, key, value)


def masked_hash(salt: bytes, key: bytes | None, value: bytes | None) -> bytes | None:
    """Return the hash of a record with blanked schema-registry ids; None if neither part can hold one."""
    if not (_may_hold_schema(key) or _may_hold_schema(value)):
        return None
    return _hash(salt, _blanked(key), _blanked(value))


def header_hash(salt: bytes, name: str, value: bytes | None) -> bytes:
    return _hash(salt, name.encode(), value)


def schema_id(part: bytes | None) -> int | None:
    """Return bytes 1 to 4 as a schema-registry id (signed, big-endian); None if byte 0 is not zero.

    Any serialised value may begin with a zero byte, so the number is an id only if all records agree with it.
    """
    # Inlined, as in `_hash`: both are called for every record.
    if part is None or len(part) < SCHEMA_PREFIX_BYTES or part[0]:
        return None
    return int.from_bytes(part[1:SCHEMA_PREFIX_BYTES], signed=True)


def record_size(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]] | None) -> int:
    """Return the size of a record in bytes, for the budget of a read."""
    size = len(key or b"") + len(value or b"")
    for name, part in headers or ():
        size += len(name.encode()) + len(part or b"")
    return size


def origin(headers: Iterable[tuple[str, bytes | None]]) -> int | None:
    """Return the old offset that a record's headers claim; the first provenance header wins.

    >>> origin([("redpanda-migrator-offset", (1050).to_bytes(8, "big"))])
    1050
    >>> origin([("x-original-offset", b"1050"), ("x-original-offset", b"7")])
    1050
    """
    for name, value in headers:
        if name in PROVENANCE_HEADERS:
            return _decode(name, value or b"")
    return None


def _hash(salt: bytes, first: bytes | None, other: bytes | None) -> bytes:
    parts = (
        salt,
        NULL_LENGTH if first is None else len(first).to_bytes(4),
        first or b"",
        NULL_LENGTH if other is None else len(other).to_bytes(4),
        other or b"",
    )
    return sha256(b"".join(parts)).digest()[:IDENTITY_BYTES]


def _may_hold_schema(part: bytes | None) -> bool:
    return schema_id(part) is not None


def _blanked(part: bytes | None) -> bytes | None:
    if part is None or not _may_hold_schema(part):
        return part
    return bytes(SCHEMA_PREFIX_BYTES) + part[SCHEMA_PREFIX_BYTES:]


def _decode(name: str, value: bytes) -> int | None:
    if name == KAFKA_BACKUP and value.isdigit() and len(value) <= MAX_DIGITS:
        # Eight ASCII digits, read as an integer, would be an offset above 10^18.
        number = int(value)
    elif len(value) == OFFSET_BYTES:
        number = int.from_bytes(value, "big" if name == REDPANDA else "little")
    else:
        return None
    return number if number < 2**63 else None
