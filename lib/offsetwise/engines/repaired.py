"""A checkpoint repaired in a copy: what every engine's repair returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offsetwise.errors import CheckpointError
from offsetwise.model import Checkpoint


class UnrepairableError(CheckpointError):
    """A checkpoint does not have what a repair mends, or not what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    replaced: Mapping[str, bytes] = field(default_factory=dict)
    """Files with other bytes, and new ones."""
    dropped: frozenset[str] = frozenset()
    """Files that are left out."""
    costs: tuple[str, ...]
    """Sentences: records read twice, batch ids that a sink ignores, the state that is used."""
    job_id: str | None = None
    """The query's id, where the repair writes it."""
    pins: tuple[tuple[str, str], ...] = ()
    """(path, SHA-256 in hex) of the original's files that the repair went by."""
    checkpoint: Checkpoint | None = None
    """The copy as its engine reads it; None until the repair is proven."""
