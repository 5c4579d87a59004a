"""The readers and writers of `apply`, `rollback` and `verify`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offsetwise.api.readers import LiveReaders
from offsetwise.apply.run import Tools
from offsetwise.apply.writers import TargetWriters
from offsetwise.config import Migration
from offsetwise.errors import UsageError
from offsetwise.model import Plan
from offsetwise.progress import Progress

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration as Named

__all__ = ["LiveReaders", "settings_of", "tools_for"]

_NOBODY: Final = "offsetwise.invalid"


def settings_of(plan: Plan, migration: Named | None, target_path: str | Path | None) -> Migration:
    """Return the migration file with which a plan is applied, rolled back and verified.

    A plan that repairs and moves nothing needs none: then the checkpoint can be read, the folder of the copy can be
    written, and only explicitly given keys are trusted. No cluster is read.

    Args:
        plan: The plan.
        migration: The given migration.
        target_path: The path of the copy.

    Raises:
        UsageError: None was given, and the plan belongs to a migration.
    """
    if migration is not None:
        return migration.settings
    required = plan.requirements.checkpoint
    if not plan.moves_nothing or required is None:
        raise UsageError(
            f"The plan: expected the migration {plan.migration!r} that it was drafted with, found none. Nothing was "
            "done.",
            fix="Load it with `migration=`; on the command line name its file: --migration FILE.",
        )
    roots = [] if target_path is None else [str(target_path).rstrip("/").rpartition("/")[0] or os.getcwd()]
    return Migration.model_validate(
        {
            "name": plan.migration,
            "source": {"properties": {"bootstrap.servers": f"old.{_NOBODY}:1"}},
            "target": {"properties": {"bootstrap.servers": f"new.{_NOBODY}:1"}},
            "checkpoint_roots": [required.uri],
            "write_roots": roots,
        }
    )


def tools_for(migration: Migration, progress: Progress) -> Tools:
    return Tools(readers=LiveReaders(migration=migration, progress=progress), writers=TargetWriters(migration))
