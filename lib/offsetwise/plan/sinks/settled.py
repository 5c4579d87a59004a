"""The plan that only ends transactions of a job's sinks: it moves no position and compares no cluster. Pure."""

from __future__ import annotations

from offsetwise.config import Migration
from offsetwise.model import (
    Checkpoint,
    CheckpointRequirement,
    ClusterRequirement,
    Plan,
    Prediction,
    Requirements,
)
from offsetwise.plan.draft import stated_of, totals_of
from offsetwise.plan.request import DraftRequest, check_request
from offsetwise.plan.settings import accepted
from offsetwise.plan.sinks.ending import Ending
from offsetwise.plan.target import takers_of, target_type


def draft_settling(
    checkpoint: Checkpoint, ending: Ending, migration: Migration, request: DraftRequest, *, drafted_at: str
) -> Plan:
    """Draft a plan that ends transactions and moves nothing.

    Args:
        checkpoint: The checkpoint that the job starts from, with the digests of its files.
        ending: The transactions to end.
        migration: The migration.
        request: The target and people's decisions.
        drafted_at: ISO 8601, UTC.

    Raises:
        PlanError: The request contradicts itself.
        ConfigError: The migration has no such checkpoint.
    """
    check_request(request)
    return Plan(
        migration=migration.name,
        drafted_at=drafted_at,
        author=request.author,
        editors=request.editors,
        identities=request.identities,
        strategy=target_type(request.targets[0].kind).label,
        targets=request.targets,
        rewind_to=None,
        compared_at=drafted_at,
        isolation_level=migration.isolation_level,
        job=stated_of(migration.checkpoint(request.checkpoint or "").job, request),
        positions=(),
        requirements=_requirements(migration, checkpoint, ending),
        gate=ending.gate,
        findings=(),
        prediction=Prediction(effect="nothing", told="The plan moves no position, so that it changes no start."),
        keeps=("the checkpoint and every position",),
        gives_up=("the choice: a transaction that is committed or aborted stays so",),
        totals=totals_of(()),
        transactions=ending.transactions,
        settings=accepted(takers_of(request.targets), request.settings),
    )


def _requirements(migration: Migration, checkpoint: Checkpoint, ending: Ending) -> Requirements:
    return Requirements(
        old=ClusterRequirement(name=migration.source.name, cluster_id=None, topics=()),
        new=ClusterRequirement(name=migration.target.name, cluster_id=None, topics=()),
        checkpoint=CheckpointRequirement.of(checkpoint),
        sink=ending.requirement,
    )
