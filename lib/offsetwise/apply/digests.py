"""What a local file holds, and its digest. A file that is not there is None, no error."""

from __future__ import annotations

import hashlib


def sha256(data: bytes) -> str:
    """Give the digest of bytes, hex."""
    return hashlib.sha256(data).hexdigest()


def bytes_of(path: str) -> bytes | None:
    """Give all that a file holds."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def sha256_of_file(path: str) -> str | None:
    """Give the digest of a file of any size, hex."""
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return None
