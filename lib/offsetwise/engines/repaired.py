"""The result of an engine's repair of a checkpoint in a copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offsetwise.errors import CheckpointError
from offsetwise.model import Checkpoint


class UnrepairableError(CheckpointError):
    """A checkpoint does not have the damage that a repair fixes, or lacks what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    replaced: Mapping[str, bytes] = field(default_factory=dict)
    """Files with new content, and new files."""
    dropped: frozenset[str] = frozenset()
    """Files that are left out."""
    costs: tuple[str, ...]
    """Sentences about records read twice, batch ids that a sink ignores, and the state that is used."""
    job_id: str | None = None
    """The query's id, if the repair writes it."""
    pins: tuple[tuple[str, str], ...] = ()
    """(path, SHA-256 in hex) of the original's files that the repair depends on."""
    checkpoint: Checkpoint | None = None
    """The copy as its engine reads it; None until the repair is verified."""
