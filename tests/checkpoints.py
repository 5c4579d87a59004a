"""Checkpoints with other details."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from offsetwise.model import Checkpoint


def changed(read: Checkpoint, **changes: Any) -> Checkpoint:
    """Replace fields of a checkpoint and of its engine's details."""
    read = replace(read, details=changes.pop("details", read.details))
    names = {each.name for each in fields(read.details)} & changes.keys()
    details = replace(read.details, **{name: changes[name] for name in names})
    return replace(read, details=details, **{name: value for name, value in changes.items() if name not in names})
