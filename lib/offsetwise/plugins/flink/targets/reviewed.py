from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from offsetwise.apply.fitting import require_unmoved, requirement, unfit
from offsetwise.apply.writing import Context
from offsetwise.apply.written import Guard
from offsetwise.errors import StalePlanError
from offsetwise.model import Plan
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.storage.folders import open_tree
from offsetwise.storage.memory import HeldFolder

GUARD_FILE: Final = ".offsetwise-guard"
"""Guard file in a copy of a savepoint on an object store while it is written or undone."""
GUARD: Final = Guard(path=lambda _: GUARD_FILE, matches=GUARD_FILE.__eq__)


def reviewed_files(plan: Plan, context: Context) -> tuple[Mapping[str, bytes], str]:
    """Return the reviewed files by path, and the folder's URI.

    Raises:
        StalePlanError: They are not as they were reviewed.
        ApplyError: The plan is of another engine's checkpoint.
    """
    required = requirement(plan)
    if required.engine != "flink":
        raise unfit(f"a Flink savepoint, found a checkpoint of {required.engine}")
    folder = open_tree(required.uri, roots=context.read_roots).for_large_files()
    results = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    contents = {path: data for path, data in results.items() if isinstance(data, bytes)}
    if METADATA not in contents:
        raise StalePlanError(
            f"{required.uri}: expected {METADATA} as reviewed, found that it cannot be read. Nothing was written.",
            fix="Take a new savepoint, compare again and draft a new plan.",
        )
    savepoint = HeldFolder(uri=required.uri, files=contents)
    require_unmoved(read_from(savepoint), required, savepoint)
    return contents, required.uri
