"""The elements of operator state: their ranges and bytes.

A subtask's state is a blob of Flink's `DefaultOperatorStateBackend`: a header with serializer snapshots, which stay
opaque, then the elements of all states at the offsets recorded in `_metadata`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.metadata import NamedState, OperatorHandle
from offsetwise.plugins.flink.engine.snappy import uncompress_stream

LAST_BLOB_VERSION: Final = 6
COMPRESSION_SINCE: Final = 6
HEADER_BYTES: Final = 4
MAX_PLAIN_BYTES: Final = 16 * 1024 * 1024
"""Maximum uncompressed size of all compressed elements of a checkpoint: 10,000 partitions take 400,000 bytes."""


@dataclass(frozen=True, slots=True)
class StateBlob:
    file: str
    """The name of the file that contains it."""
    data: bytes
    """The whole file."""
    at: int
    end: int


def element_bounds(handle: OperatorHandle) -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Return begin and end of every element, counted from the start of the blob, by the name of its state.

    Raises:
        DamagedError: The offsets are not ascending, or outside the blob.
    """
    size = 0 if handle.handle is None else handle.handle.size
    starts = sorted(offset for state in handle.states for offset in state.offsets)
    results: dict[str, tuple[tuple[int, int], ...]] = {}
    for state in handle.states:
        if state.name in results:
            raise DamagedError(handle.at, f"expected each state once, found {state.name!r} twice")
        _check(state, size, handle.at)
        results[state.name] = tuple((offset, _next(starts, offset, size)) for offset in state.offsets)
    return results


def _check(state: NamedState, size: int, at: int) -> None:
    before = HEADER_BYTES
    for offset in state.offsets:
        if not before < offset < size:
            raise DamagedError(
                at,
                f"expected ascending offsets of the elements of {state.name!r} within {size:,} bytes, found {offset:,}",
            )
        before = offset


def _next(starts: list[int], offset: int, size: int) -> int:
    after = bisect_right(starts, offset)
    return starts[after] if after < len(starts) else size


def element_cursors(
    blob: StateBlob, name: str, bounds: tuple[tuple[int, int], ...], *, limit: int
) -> list[Cursor | DamagedError]:
    """Return every element of one state, uncompressed; for a damaged one its error.

    Args:
        blob: The bytes.
        name: The state, which must be named in the blob's own header too.
        bounds: Begin and end of its elements in the blob.
        limit: Maximum total size of compressed elements, uncompressed, in bytes.

    Raises:
        DamagedError: The blob is not operator state, is of another state, or exceeds the limit.
    """
    compressed = is_compressed(blob)
    if bounds:
        require_named(blob, name, min(start for start, _ in bounds))
    if not compressed:
        return [Cursor(blob.data, blob.at + start, blob.at + end) for start, end in bounds]
    results: list[Cursor | DamagedError] = []
    for start, end in bounds:
        begun = blob.at + start
        try:
            plain = uncompress_stream(blob.data, begun, blob.at + end)
        except DamagedError as error:
            results.append(error)
        else:
            limit -= len(plain)
            if limit < 0:
                raise DamagedError(begun, f"expected at most {MAX_PLAIN_BYTES:,} bytes of compressed state, found more")
            results.append(Cursor(plain, base=begun))
    return results


def require_named(blob: StateBlob, name: str, first: int) -> None:
    """Require that a blob's own header names a state that `_metadata` attributes to it.

    Args:
        blob: The bytes.
        name: The state.
        first: Where its first element begins in the blob.

    Raises:
        DamagedError: It does not, so that one of the two is damaged.
    """
    label = name.encode("utf-8", "surrogatepass")
    if len(label).to_bytes(2, "big") + label not in blob.data[blob.at : blob.at + first]:
        raise DamagedError(blob.at, f"expected the header of the state {name!r}, found no such name")


def is_compressed(blob: StateBlob) -> bool:
    """Return whether the elements are compressed with Snappy.

    Raises:
        DamagedError: The blob is not operator state, or of a later version.
    """
    cursor = Cursor(blob.data, blob.at, blob.end)
    version = cursor.int32("the version of operator state")
    if not 1 <= version <= LAST_BLOB_VERSION:
        raise DamagedError(blob.at, f"expected operator state of version 1 to {LAST_BLOB_VERSION}, found {version:,}")
    if version < COMPRESSION_SINCE:
        return False
    return cursor.flag("whether operator state is compressed")
