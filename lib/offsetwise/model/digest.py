"""The digest of a plan, which an approval names."""

from __future__ import annotations

import hashlib


def digest(data: bytes) -> str:
    """Return the SHA-256 of the exact bytes of a plan's file, hex.

    >>> digest(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(data).hexdigest()
