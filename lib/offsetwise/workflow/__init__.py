"""The read operations that both the console and the command line call, so that they cannot differ.

Nothing here writes to a cluster or a checkpoint. Each operation is imported at its first use: inspecting a checkpoint
needs neither Kafka's client nor Arrow.
"""

from types import ModuleType
from typing import TYPE_CHECKING

from offsetwise.lazy import exported

if TYPE_CHECKING:
    from offsetwise.workflow.checkpoints import batch_files, checkpoint_reading, fleet, inspect, state_rows
    from offsetwise.workflow.comparing import compare, snapshot
    from offsetwise.workflow.comparing_all import JobComparison, all_jobs, compare_all
    from offsetwise.workflow.counting import reconcile
    from offsetwise.workflow.cutting_over import cutover
    from offsetwise.workflow.drafting_all import draft_all, plan_set_of
    from offsetwise.workflow.drifting import drift, shared_reading
    from offsetwise.workflow.plan_folder import JobPlan
    from offsetwise.workflow.planning import draft, with_services
    from offsetwise.workflow.recorded import (
        load_migrations,
        sample,
        sample_comparison,
        sample_drift,
        sample_reconciliation,
        sample_sink,
        with_sample_snapshots,
    )
    from offsetwise.workflow.repairing import fitting_repairs, repair
    from offsetwise.workflow.scenes import WantedJob, check_two_clusters
    from offsetwise.workflow.sinks import sink_snapshot, sink_transactions
    from offsetwise.workflow.stored import load_comparison, load_sink_snapshot, load_snapshots

__all__ = [
    "JobComparison",
    "JobPlan",
    "WantedJob",
    "all_jobs",
    "batch_files",
    "check_two_clusters",
    "checkpoint_reading",
    "compare",
    "compare_all",
    "cutover",
    "draft",
    "draft_all",
    "drift",
    "fitting_repairs",
    "fleet",
    "inspect",
    "load_comparison",
    "load_migrations",
    "load_sink_snapshot",
    "load_snapshots",
    "plan_set_of",
    "reconcile",
    "repair",
    "sample",
    "sample_comparison",
    "sample_drift",
    "sample_reconciliation",
    "sample_sink",
    "shared_reading",
    "sink_snapshot",
    "sink_transactions",
    "snapshot",
    "state_rows",
    "with_sample_snapshots",
    "with_services",
]


def _checkpoints() -> ModuleType:
    import offsetwise.workflow.checkpoints as home

    return home


def _comparing() -> ModuleType:
    import offsetwise.workflow.comparing as home

    return home


def _comparing_all() -> ModuleType:
    import offsetwise.workflow.comparing_all as home

    return home


def _counting() -> ModuleType:
    import offsetwise.workflow.counting as home

    return home


def _cutting_over() -> ModuleType:
    import offsetwise.workflow.cutting_over as home

    return home


def _drafting_all() -> ModuleType:
    import offsetwise.workflow.drafting_all as home

    return home


def _drifting() -> ModuleType:
    import offsetwise.workflow.drifting as home

    return home


def _plan_folder() -> ModuleType:
    import offsetwise.workflow.plan_folder as home

    return home


def _planning() -> ModuleType:
    import offsetwise.workflow.planning as home

    return home


def _recorded() -> ModuleType:
    import offsetwise.workflow.recorded as home

    return home


def _repairing() -> ModuleType:
    import offsetwise.workflow.repairing as home

    return home


def _scenes() -> ModuleType:
    import offsetwise.workflow.scenes as home

    return home


def _sinks() -> ModuleType:
    import offsetwise.workflow.sinks as home

    return home


def _stored() -> ModuleType:
    import offsetwise.workflow.stored as home

    return home


_HOMES = {
    "JobComparison": _comparing_all,
    "JobPlan": _plan_folder,
    "WantedJob": _scenes,
    "all_jobs": _comparing_all,
    "batch_files": _checkpoints,
    "check_two_clusters": _scenes,
    "checkpoint_reading": _checkpoints,
    "compare": _comparing,
    "compare_all": _comparing_all,
    "cutover": _cutting_over,
    "draft": _planning,
    "draft_all": _drafting_all,
    "drift": _drifting,
    "fitting_repairs": _repairing,
    "fleet": _checkpoints,
    "inspect": _checkpoints,
    "load_comparison": _stored,
    "load_migrations": _recorded,
    "load_sink_snapshot": _stored,
    "load_snapshots": _stored,
    "plan_set_of": _drafting_all,
    "reconcile": _counting,
    "repair": _repairing,
    "sample": _recorded,
    "sample_comparison": _recorded,
    "sample_drift": _recorded,
    "sample_reconciliation": _recorded,
    "sample_sink": _recorded,
    "shared_reading": _drifting,
    "sink_snapshot": _sinks,
    "sink_transactions": _sinks,
    "snapshot": _comparing,
    "state_rows": _checkpoints,
    "with_sample_snapshots": _recorded,
    "with_services": _planning,
}

if not TYPE_CHECKING:  # where mypy saw it, every name would do
    __getattr__ = exported(__name__, _HOMES)
