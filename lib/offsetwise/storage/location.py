"""Locations: parse a path or URI, and check that it stays inside the roots.

Locations are compared part by part, never as text, so that `/data/ckpt-evil` is not below `/data/ckpt`. Local paths are
compared after links are resolved. If roots apply, every spelling that another layer could read differently is rejected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offsetwise.errors import OutsideRootsError, StorageError

SCHEMES: Final[Mapping[str, str]] = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
    "hdfs": "hdfs",
}
"""The schemes of URIs, and the file systems they mean."""

TABLE_SCHEME: Final = "dynamodb"
"""The scheme of a DynamoDB table's URI, which is no file system."""
SERVICE_SCHEMES: Final = frozenset({"connect+http", "connect+https"})
"""The schemes of a service's URI. Credentials follow after `?`, only among the roots."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ABFS: Final = re.compile(r"[A-Za-z0-9$-]+@[A-Za-z0-9-]+\.(dfs|blob)\.[A-Za-z0-9.-]+", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A parsed URI: `path` as its file system spells it, and the parts that are compared with roots."""

    scheme: str
    path: str
    parts: tuple[str, ...]

    def inside(self, root: Location) -> bool:
        """Return whether this is `root` or below it, compared part by part."""
        return self.scheme == root.scheme and self.parts[: len(root.parts)] == root.parts


@dataclass(frozen=True, slots=True)
class Bound:
    """The purpose of a location that must be inside configured roots."""

    roots: str
    """Their key in the migration file."""
    effect: str
    """The consequence if it is outside, as a sentence."""


READING: Final = Bound("checkpoint_roots", "Nothing was read.")
WRITING: Final = Bound("write_roots", "Nothing was written.")


def is_live(uri: str) -> bool:
    """Return whether a URI names a live table or a service, and no file."""
    return "://" in uri and (uri.partition("://")[0].lower() == TABLE_SCHEME or is_service(uri))


def is_service(uri: str) -> bool:
    return uri.partition("://")[0] in SERVICE_SCHEMES


def without_sign_on(uri: str) -> str:
    return uri.partition("?")[0] if is_service(uri) else uri


def locate(uri: str, *, bound: Bound | None = None) -> Location:
    """Parse a URI.

    Args:
        uri: A path, or a URI with one of `SCHEMES`. Local paths are resolved, links included.
        bound: The purpose of the location if roots will be enforced: every spelling that another layer could read
            differently is then rejected. None if a person named the path.

    Raises:
        OutsideRootsError: `bound` is given, and the spelling could leave the roots.
        StorageError: It cannot name a folder at all.
    """
    refuse_spelling(uri, bound=bound)
    matched = _SCHEME.match(uri)
    if matched is None:
        return locate_local(uri)
    scheme, rest = SCHEMES.get(matched[1].lower()), uri[matched.end() :]
    if scheme is None:
        raise _unusable(uri, f"one of the schemes {', '.join(sorted(SCHEMES))}, found {matched[1]!r}", bound=bound)
    if scheme == "file":
        return locate_local(_local_rest(uri, rest, bound=bound))
    if not rest.startswith("//"):
        raise _unusable(uri, f"{scheme}:// and a bucket or host, found none", bound=bound)
    authority, _, key = rest[2:].partition("/")
    if not authority or (scheme != "abfs" and "@" in authority) or ":" in authority.partition("@")[0]:
        raise _unusable(uri, "a bucket or host without credentials, found another form", bound=bound)
    if scheme == "abfs" and not _ABFS.fullmatch(authority):
        raise _unusable(
            uri, "CONTAINER@ACCOUNT.dfs.HOST behind it, since no other address says whose container it is", bound=bound
        )
    parts = key.split("/")
    if bound is not None and any(
        part in ("", ".", "..") for part in parts[:-1] + [part for part in parts[-1:] if part]
    ):
        raise _unusable(uri, "a path without empty, '.' and '..' parts", bound=bound)
    segments = tuple(part for part in parts if part)
    return Location(scheme=scheme, path=f"{scheme}://{'/'.join((authority, *segments))}", parts=(authority, *segments))


def refuse_spelling(uri: str, *, bound: Bound | None) -> None:
    """Raise for what cannot be a path and, if `bound`, what another layer could read as another path."""
    if not uri.strip():
        raise _unusable(uri, "a path, found none", bound=bound)
    if "\0" in uri:
        raise _unusable(uri, "a path, found a NUL in it", bound=bound)
    if "::" in uri:
        raise _unusable(uri, "one file system, found a chain ('::')", bound=bound)
    if bound is None:
        return
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("no control characters", lambda: any(ord(char) < 32 or ord(char) == 127 for char in uri)),
        ("no surrounding space", lambda: uri != uri.strip()),
        ("no '..'", lambda: ".." in re.split(r"[/\\:]", uri)),
        ("no percent escapes", lambda: _ESCAPE.search(uri)),
        ("no backslashes", lambda: "\\" in uri),
        ("no query or fragment", lambda: "?" in uri or "#" in uri),
        ("no glob characters", lambda: any(char in uri for char in "*[]{}")),
    )
    for expected, occurs in checks:
        if occurs():
            raise _unusable(uri, f"{expected} in a path bound to roots", bound=bound)


def _local_rest(uri: str, rest: str, *, bound: Bound | None) -> str:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host or not slash:
            raise _unusable(uri, f"file:///path, found the host {host!r}", bound=bound)
        return "/" + path
    if not rest:
        raise _unusable(uri, "file:///path, found no path", bound=bound)
    return rest


def locate_local(path: str) -> Location:
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError) as error:
        raise _unusable(path, f"a path, found {error}", bound=None) from error
    return Location(scheme="file", path=real, parts=Path(real).parts)


def _unusable(uri: str, expected: str, *, bound: Bound | None) -> StorageError:
    result = f"{uri[:300]!r}: expected {expected}."
    if bound is not None:
        return OutsideRootsError(
            f"{result} {bound.effect}", fix=f"Give the plain path of a folder inside {bound.roots}."
        )
    return StorageError(f"{result} Nothing was read.", fix="Give a local path, or a URI such as s3://bucket/folder.")
