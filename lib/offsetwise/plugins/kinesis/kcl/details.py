from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.engines.engine import Listing
from offsetwise.model import AnyPosition, Checkpoint, Count, Details

NAME: Final = "kcl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One row of a lease table."""

    key: str
    owner: str | None
    """The worker that holds it; None if it is free."""
    next_owner: str | None
    """The worker it is handed over to, while `owner` still works (KCL 3); else None."""
    counter: Count | None
    """Increases with every renewal and every write; None if the row has none."""
    pending: str | None
    """A checkpoint that was prepared but not made: shown, and never a position."""
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    hash_range: tuple[str, str] | None = None
    """The first and the last hash key, decimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KclDetails(Details):
    leases: tuple[Lease, ...] = ()

    @property
    def kind(self) -> str:
        return "lease table"

    def processed(self, position: AnyPosition) -> AnyPosition:
        from offsetwise.plugins.kinesis.kcl.kinesis import processed  # noqa: PLC0415 - only needed for lease tables

        return processed(position)


def listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:
    if not isinstance(checkpoint.details, KclDetails):
        raise TypeError(f"{checkpoint.uri} is a checkpoint of {checkpoint.engine}")
    rows = tuple(
        (
            lease.key,
            " → ".join(name for name in (lease.next_owner and lease.owner, lease.next_owner or lease.owner) if name),
            lease.pending or "",
            ", ".join(lease.parents),
            "" if lease.counter is None else f"{lease.counter:,}",
        )
        for lease in checkpoint.details.leases
    )
    return (Listing(columns=("lease", "owner", "prepared", "parents", "counter"), texts=4, rows=rows),)
