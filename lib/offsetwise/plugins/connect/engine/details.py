from __future__ import annotations

from dataclasses import dataclass

from offsetwise.engines.engine import Listing
from offsetwise.model import Checkpoint, Details


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectDetails(Details):
    @property
    def kind(self) -> str:
        return "reading of the connector"


def listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:
    """Return the offsets of a source connector as its workers report them; empty for a sink."""
    rows = tuple((source.id, source.raw) for source in checkpoint.sources if source.raw is not None)
    return (Listing(columns=("source connector", "offsets"), texts=2, rows=rows),) if rows else ()
