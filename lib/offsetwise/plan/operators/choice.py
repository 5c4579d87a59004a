from __future__ import annotations

from offsetwise.config import Migration
from offsetwise.errors import PlanError
from offsetwise.model import Plan
from offsetwise.plan.operators.patch import OperatorPatch
from offsetwise.plan.target import Where, target_type, target_types


def patches() -> tuple[str, ...]:
    return tuple(dict.fromkeys(patch.name for type_ in target_types() for patch in type_.patches))


def patch_for(plan: Plan, name: str) -> tuple[OperatorPatch, int]:
    """Return the patch of a form, and the index of the target that the job starts from.

    Raises:
        PlanError: The plan writes nothing that the operator can start a job from.
    """
    for number, target in enumerate(plan.targets):
        for patch in target_type(target.kind).patches:
            if patch.name == name:
                return patch, number
    startable = [type_.name for type_ in target_types() if name in {patch.name for patch in type_.patches}]
    written = ", ".join(str(target) for target in plan.targets)
    raise PlanError(
        f"export: expected a plan that writes what {name} starts a job from, found one that writes {written}. "
        "Nothing was printed.",
        fix=f"Draft a plan with one of these targets: {', '.join(startable)}; or export this one as starting-offsets "
        "or consumer-groups-csv.",
    )


def written_in_place(plan: Plan, step: int) -> str | None:
    """Return the URI of the checkpoint that a target edits in place; None if it writes a copy.

    Args:
        plan: The plan.
        step: The index of the target.
    """
    required = plan.requirements.checkpoint
    in_place = target_type(plan.targets[step].kind).where is Where.CHECKPOINT
    return required.uri if in_place and required is not None else None


def new_servers(plan: Plan, migration: Migration) -> str | None:
    """Return the bootstrap servers of the cluster that a plan moves a job to.

    Returns:
        HOST:PORT, comma-separated; None for a stream without bootstrap servers, and for a plan that moves nothing.

    Raises:
        PlanError: The plan belongs to another migration.
    """
    if plan.moves_nothing:
        return None
    if plan.migration != migration.name:
        raise PlanError(
            f"The plan: expected one of migration {migration.name!r}, found one of {plan.migration!r}. "
            "Nothing was printed.",
            fix="Name the migration file that the plan was drafted with.",
        )
    servers = migration.target.properties.get("bootstrap.servers")
    return servers if isinstance(servers, str) else None
