"""Draft a repaired copy of a checkpoint without a migration or a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from offsetwise import workflow
from offsetwise.api.plan import Plan
from offsetwise.model import time_of
from offsetwise.plan.repair.kinds import repair_target
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.settings import texts


def repair(
    checkpoint: str,
    kind: str,
    *,
    author: str,
    editors: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
) -> Plan:
    """Draft a plan of a repaired copy of a checkpoint. No cluster is read, and no position is moved.

    Args:
        checkpoint: The folder: a path, or a URI of any file system that checkpoints are read from.
        kind: `drop-pending-batch`, `remove-damaged-commit`, `drop-batch-after-gap`, `restore-topic`, `restore-metadata`
            or `rebuild-shard-commit`.
        author: Who drafts it. Recorded, not verified; barred from approving.
        editors: Who edited an earlier version; barred too.
        settings: The settings of the kind, by key: `{"topic": "orders"}`.

    Raises:
        UsageError: There is no such kind of repair.
        PlanError: The checkpoint does not fit it (REPAIR_REFUSED), or a setting is unknown.
        StorageError: The checkpoint cannot be read.
        CheckpointError: It is none.
    """
    request = DraftRequest(
        targets=(repair_target(kind),),
        author=author,
        editors=tuple(editors),
        repair=kind,
        settings=texts(settings or {}),
    )
    return Plan.of(workflow.repair(checkpoint, request, drafted_at=time_of(datetime.now(UTC))))
