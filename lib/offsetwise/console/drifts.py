"""Drift of plans: what no longer matches their preconditions, on live clusters or in a recording."""

from __future__ import annotations

from dataclasses import dataclass, field

from offsetwise import workflow
from offsetwise.approval import demo
from offsetwise.bundled import Bundled
from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Plan
from offsetwise.plan.drift import Drift
from offsetwise.progress import Progress
from offsetwise.workflow.drifting import ReadPart


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOf:
    digest: str
    plan: Plan = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansOf:
    digest: str
    plans: tuple[PlanOf, ...] = field(compare=False)
    """In the order given; all of one migration."""


Drifts = tuple[tuple[str, tuple[Drift, ...] | OffsetwiseError], ...]
"""By the digest of each plan: its drift, or the error that prevented the check."""


def recorded(of: PlansOf) -> Drifts | None:
    """Return the drift of plans of a bundled sample against its recording; None if a plan is of other clusters."""
    samples: list[tuple[PlanOf, Bundled]] = []
    for version in of.plans:
        which = demo.sample_of(version.plan)
        if which is None:
            return None
        samples.append((version, which))
    return tuple((version.digest, workflow.sample_drift(version.plan, which)) for version, which in samples)


def live(migration: Migration, of: PlansOf, progress: Progress) -> Drifts:
    """Compute the drift against the live clusters; each cluster is read once for all plans.

    Raises:
        ClusterError: A cluster cannot be read at all.
    """
    read = workflow.shared_reading(migration, [version.plan for version in of.plans], progress=progress)
    return tuple((version.digest, _drift_of(version.plan, migration, read, progress)) for version in of.plans)


def _drift_of(
    plan: Plan, migration: Migration, read: ReadPart, progress: Progress
) -> tuple[Drift, ...] | OffsetwiseError:
    try:
        return workflow.drift(plan, migration, read=read, progress=progress)
    except OffsetwiseError as error:
        return error
