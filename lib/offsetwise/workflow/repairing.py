"""A checkpoint repaired in a copy: decided from the folder, and drafted as a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.registry import engine_of, engines
from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.model import Checkpoint, Plan
from offsetwise.plan.refusals import repair_refused
from offsetwise.plan.repair.draft import check_repair, draft_repair
from offsetwise.plan.repair.kinds import require_kind
from offsetwise.plan.request import DraftRequest, refuse
from offsetwise.storage.folders import open_tree


def repair(uri: str, request: DraftRequest, *, drafted_at: str, roots: Sequence[str] | None = None) -> Plan:
    """Draft a plan of a repaired copy of a checkpoint. No cluster is asked.

    Args:
        uri: The checkpoint.
        request: The kind of repair, its settings, and who drafts it.
        drafted_at: ISO 8601, UTC.
        roots: The folders that may be read; None when a person named the path.

    Raises:
        UsageError: There is no such kind of repair.
        PlanError: The checkpoint does not fit it (REPAIR_REFUSED), or the request does not fit together.
        StorageError: The checkpoint cannot be read.
        CheckpointError: It is none.
    """
    require_kind(request.repair or "")
    check_repair(request)
    before, repaired = repaired_checkpoint(uri, request.repair or "", dict(request.settings), roots=roots)
    return draft_repair(before, repaired, request, drafted_at=drafted_at)


def repaired_checkpoint(
    uri: str, kind: str, values: Mapping[str, str], *, roots: Sequence[str] | None
) -> tuple[Checkpoint, Repaired]:
    """Return a checkpoint as it is, and its repair with the checkpoint as it would be in the copy.

    Raises:
        PlanError: The checkpoint does not fit the repair: REPAIR_REFUSED.
        StorageError: It cannot be read.
        CheckpointError: It is none.
    """
    before = read_checkpoint(uri, roots=roots)
    engine = engine_of(before.engine)
    try:
        if engine.repair is None:
            able = " or ".join(each.what for each in engines() if each.repair is not None)
            raise UnrepairableError(f"{uri} is {engine.what}.", fix=f"A repair is of {able}: name one.")
        return before, engine.repair(open_tree(uri, roots=roots), kind, values)
    except UnrepairableError as error:
        refuse((repair_refused.problem(f"{uri}: {error.problem}", error.fix),))
        raise
