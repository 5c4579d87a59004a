"""Whether a checkpoint is the one that a plan was made for: not moved on, at rest, and with the state that it needs."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from offsetwise import strict_json
from offsetwise.apply.digests import sha256
from offsetwise.apply.overlay import read_file
from offsetwise.errors import ApplyError, RunningQueryError, StalePlanError, StorageError
from offsetwise.findings.codes import Code
from offsetwise.model import Checkpoint, CheckpointRequirement, Plan
from offsetwise.sources.storage import FolderReader

VERSION: Final = re.compile(r"([0-9]{1,18})(?:_([0-9A-Za-z\-]+))?\.(delta|snapshot|zip|changelog)")
"""The name of a file of a state store: its version, its unique id, what it is."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_WHOLE: Final = frozenset({"snapshot", "zip"})


def requirement(plan: Plan) -> CheckpointRequirement:
    """Give the checkpoint that a plan was drafted from.

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
    """Go on only if the checkpoint is as it was reviewed.

    Raises:
        StalePlanError: It has moved on, or is another one.
    """
    facts = (
        ("query id", required.job_id, checkpoint.job_id),
        ("last planned batch", required.last_planned_batch, checkpoint.last_planned_batch),
        ("last committed batch", required.last_committed_batch, checkpoint.last_committed_batch),
    )
    for what, expected, found in facts:
        if expected != found:
            raise _stale(f"{folder.uri}: expected {what} {expected} as reviewed, found {found}.")
    read = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    for path, digest in required.files:
        data = read[path]
        if isinstance(data, StorageError):
            raise _stale(f"{folder.uri}/{path}: expected it as reviewed, found that it cannot be read: {data.problem}")
        if sha256(data) != digest:
            raise _stale(f"{folder.uri}/{path}: expected the bytes that were reviewed, found others.")


def refuse_running(checkpoint: Checkpoint, folder: FolderReader, pending: int | None, young_s: float) -> None:
    """Go on only if no query seems to run on the checkpoint.

    Raises:
        RunningQueryError: One does, or may.
    """
    for problem in checkpoint.problems:
        if problem.code == Code.READER_SUSPECTED:
            raise RunningQueryError(f"{folder.uri}: {problem.message} Nothing was written.", fix=problem.fix)
    if pending is None:
        return
    for entry in folder.entries("offsets", details=True):
        if entry.name == str(pending) and entry.modified_s is not None:
            age_s = time.time() - entry.modified_s
            if age_s < young_s:
                raise RunningQueryError(
                    f"{folder.uri}: expected the query to be stopped, found that batch {pending} was planned "
                    f"{max(age_s, 0):.0f} seconds ago and is not committed: it may be running. Nothing was written.",
                    fix=f"Stop the query, wait until {young_s:.0f} seconds have passed, then apply again.",
                )


def require_state(folder: FolderReader, batch: int) -> None:
    """Go on only if every store can be loaded as it was after a batch.

    Raises:
        ApplyError: One cannot.
    """
    version = batch + 1
    stores: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    names: set[str] = set()
    for path, _ in folder.walk("state"):
        store, _, name = path.rpartition("/")
        parts = store.split("/")
        matched = VERSION.fullmatch(name)
        if matched is None or len(parts) < 2 or not all(map(_NUMBER.fullmatch, parts[:2])):
            continue
        stores[store][int(matched[1])].add(matched[3])
        names.add(f"{'/'.join(parts[:2])}/{name}")
    for store, versions in stores.items():
        whole = max((each for each, kinds in versions.items() if each <= version and kinds & _WHOLE), default=0)
        lost = next((each for each in range(whole + 1, version + 1) if each not in versions), None)
        if lost is not None:
            raise unfit(f"the state after batch {batch}, found version {lost} of state/{store} gone")
    for operator, partition, unique in _unique_ids(folder, batch):
        wanted = [f"{operator}/{partition}/{version}_{unique}.{kind}" for kind in ("zip", "changelog")]
        if not names.intersection(wanted):
            raise unfit(f"the state that commits/{batch} names, found state/{wanted[0]} gone")


def _unique_ids(folder: FolderReader, batch: int) -> Iterator[tuple[str, int, str]]:
    lines = read_file(folder, f"commits/{batch}").splitlines()
    try:
        value = strict_json.parse(lines[1]) if len(lines) > 1 and lines[1].strip() else {}
        for operator, partitions in (value.get("stateUniqueIds") or {}).items():
            for partition, ids in enumerate(partitions):
                yield from ((operator, partition, unique) for unique in _texts(ids))
    except (ValueError, AttributeError, TypeError) as error:
        raise unfit(f"commits/{batch} to name its state, found it garbled") from error


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def unfit(expected: str) -> ApplyError:
    """Say that a plan and its checkpoint do not fit together."""
    return ApplyError(
        f"The plan does not fit its checkpoint: expected {expected}. Nothing was written.",
        fix="Compare again, and draft the plan from what stands there now.",
    )


def _stale(problem: str) -> StalePlanError:
    return StalePlanError(
        f"{problem} Nothing was written.", fix="The job has run since: compare again and draft a new plan."
    )
