"""Check an audit log from the command line, against a noted row and hash."""

from __future__ import annotations

import re
from typing import Final

from offsetwise.errors import NotAStoreError, UsageError
from offsetwise.review.audited import Audited
from offsetwise.store.address import address
from offsetwise.store.audit import Noted
from offsetwise.store.store import open_store

_NOTED: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})", re.IGNORECASE)


def noted(text: str) -> Noted:
    """Parse a noted row and hash.

    Raises:
        UsageError: The text is not ROW:HASH.
    """
    match = _NOTED.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"--noted: expected ROW:HASH, a number and 64 hex digits, found {text[:80]!r}. Nothing was read.",
            fix="Give it as `offsetwise audit` printed it.",
        )
    return Noted(seq=int(match[1]), hash=match[2].lower())


def audited(store_url: str | None, known: Noted | None) -> Audited:
    """Read and check the whole audit log of a store.

    Args:
        store_url: As `open_store` takes it.
        known: The row and hash noted before; None if there are none.

    Raises:
        ConfigError: The URL cannot be used.
        StoreError: There is no store, or it cannot be read.
    """
    where = address(store_url)
    if where.file is not None and not where.file.exists():
        raise NotAStoreError(
            f"Store {where.shown}: expected the store of a console, found no file. Nothing was read.",
            fix="Name it by --store or $OFFSETWISE_STORE.",
        )
    with open_store(store_url) as store, store.reviews.reading("Checking the audit log") as reader:
        chain = reader.check_chain(known)
    return Audited(intact=chain.intact, broken=chain.broken, row=chain.rows, hash=chain.head, at_ms=chain.at_ms)
