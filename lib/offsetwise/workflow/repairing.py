from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.registry import engine_of, engines
from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.model import Checkpoint, Plan
from offsetwise.plan.refusals import repair_refused
from offsetwise.plan.repair.draft import check_repair, draft_repair
from offsetwise.plan.repair.kinds import repair_kinds
from offsetwise.plan.request import DraftRequest, refuse
from offsetwise.plan.settings import settings_of, texts
from offsetwise.storage.folders import open_tree


def repair(uri: str, request: DraftRequest, *, drafted_at: str, roots: Sequence[str] | None = None) -> Plan:
    """Draft a plan of a repaired copy of a checkpoint, without reading a cluster.

    Args:
        uri: The checkpoint.
        request: The kind of repair, its settings, and its author.
        drafted_at: ISO 8601, UTC.
        roots: The folders that may be read; None if a person named the path.

    Raises:
        UsageError: There is no such kind of repair.
        PlanError: The checkpoint does not fit it (REPAIR_REFUSED), or the request contradicts itself.
        StorageError: The checkpoint cannot be read.
        CheckpointError: It is none.
    """
    check_repair(request)
    before, repaired = repaired_checkpoint(uri, request.repair or "", dict(request.settings), roots=roots)
    return draft_repair(before, repaired, request, drafted_at=drafted_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittingRepair:
    kind: str
    costs: tuple[str, ...]
    settings: tuple[str, ...] = ()
    """The required settings, as `--set` takes them."""


def fitting_repairs(uri: str, *, roots: Sequence[str] | None = None) -> tuple[FittingRepair, ...]:
    """Return the repairs that a checkpoint fits, with the cost of each.

    Raises:
        StorageError: The checkpoint cannot be read.
        CheckpointError: It is none.
    """
    before = read_checkpoint(uri, roots=roots)
    engine = engine_of(before.engine)
    if engine.repair is None:
        return ()
    folder, kinds = open_tree(uri, roots=roots), repair_kinds()
    fitting = []
    for kind, values in engine.repairs_to_try(before):
        if kind not in kinds:
            continue
        with suppress(UnrepairableError):
            repaired = engine.repair(folder, kind, values)
            fields = kinds[kind].model_fields
            given = tuple(f"{key}={(fields[key].examples or [value])[0]}" for key, value in values.items())
            fitting.append(FittingRepair(kind=kind, costs=repaired.costs, settings=given))
    return tuple(fitting)


def repaired_checkpoint(
    uri: str, kind: str, values: Mapping[str, str], *, roots: Sequence[str] | None
) -> tuple[Checkpoint, Repaired]:
    """Return a checkpoint as it is, and its repair with the checkpoint as it will be in the copy.

    Raises:
        PlanError: The checkpoint does not fit the repair: REPAIR_REFUSED.
        StorageError: It cannot be read.
        CheckpointError: It is none.
    """
    before = read_checkpoint(uri, roots=roots)
    engine = engine_of(before.engine)
    given = settings_of(repair_kinds()[kind], texts(values)).model_dump()  # as the plan records them
    try:
        if engine.repair is None:
            able = " or ".join(
                checkpoint_engine.what for checkpoint_engine in engines() if checkpoint_engine.repair is not None
            )
            raise UnrepairableError(f"{uri} is {engine.what}.", fix=f"A repair is of {able}: name one.")
        return before, engine.repair(open_tree(uri, roots=roots), kind, given)
    except UnrepairableError as error:
        refuse((repair_refused.problem(f"{uri}: {error.problem}", fix=error.fix),))
        raise
