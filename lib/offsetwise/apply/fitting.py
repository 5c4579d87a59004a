"""Check that a checkpoint is still the one that a plan was drafted from."""

from __future__ import annotations

from offsetwise.apply.digests import sha256
from offsetwise.errors import ApplyError, StalePlanError, StorageError
from offsetwise.model import Checkpoint, CheckpointRequirement, Plan
from offsetwise.storage.folders import FolderReader


def requirement(plan: Plan) -> CheckpointRequirement:
    """Return the checkpoint that a plan was drafted from.

    Raises:
        ApplyError: It was drafted from a group.
    """
    if plan.requirements.checkpoint is None:
        raise ApplyError(
            "The plan was drafted from a consumer group: expected a checkpoint to copy or edit, found none. "
            "Nothing was written.",
            fix="Apply it to a consumer group, or draft a plan from the checkpoint.",
        )
    return plan.requirements.checkpoint


def require_unmoved(checkpoint: Checkpoint, required: CheckpointRequirement, folder: FolderReader) -> None:
    """Raise unless the checkpoint is as it was reviewed.

    Raises:
        StalePlanError: It has moved on, or is another one.
    """
    if required.job_id != checkpoint.job_id:
        raise _stale(f"{folder.uri}: expected query id {required.job_id} as reviewed, found {checkpoint.job_id}.")
    for what, expected, actual in required.moved(CheckpointRequirement.of(checkpoint)):
        raise _stale(f"{folder.uri}: expected {what} {expected} as reviewed, found {actual}.")
    read = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    for path, digest in required.files:
        data = read[path]
        if isinstance(data, StorageError):
            raise _stale(f"{folder.uri}/{path}: expected it as reviewed, found that it cannot be read: {data.problem}")
        if sha256(data) != digest:
            raise _stale(f"{folder.uri}/{path}: expected the bytes that were reviewed, found others.")


def unfit(expected: str) -> ApplyError:
    return ApplyError(
        f"The plan does not fit its checkpoint: expected {expected}. Nothing was written.",
        fix="Compare again, and draft the plan from what is there now.",
    )


def _stale(problem: str) -> StalePlanError:
    return StalePlanError(
        f"{problem} Nothing was written.", fix="The job has run since: compare again and draft a new plan."
    )
