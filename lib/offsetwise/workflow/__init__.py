"""The verbs that read: what the console and the command line both call, so that they cannot differ.

Nothing here writes to a cluster or a checkpoint. Each verb is imported when it is first used: inspecting a checkpoint
needs neither Kafka's client nor Arrow.
"""

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

_HOMES = {
    "JobComparison": "comparing_all",
    "JobPlan": "plan_folder",
    "WantedJob": "scenes",
    "all_jobs": "comparing_all",
    "batch_files": "checkpoints",
    "check_two_clusters": "scenes",
    "checkpoint_reading": "checkpoints",
    "compare": "comparing",
    "compare_all": "comparing_all",
    "cutover": "cutting_over",
    "draft": "planning",
    "draft_all": "drafting_all",
    "drift": "drifting",
    "fitting_repairs": "repairing",
    "fleet": "checkpoints",
    "inspect": "checkpoints",
    "load_comparison": "stored",
    "load_migrations": "recorded",
    "load_sink_snapshot": "stored",
    "load_snapshots": "stored",
    "plan_set_of": "drafting_all",
    "reconcile": "counting",
    "repair": "repairing",
    "sample": "recorded",
    "sample_comparison": "recorded",
    "sample_drift": "recorded",
    "sample_reconciliation": "recorded",
    "sample_sink": "recorded",
    "shared_reading": "drifting",
    "sink_snapshot": "sinks",
    "sink_transactions": "sinks",
    "snapshot": "comparing",
    "state_rows": "checkpoints",
    "with_sample_snapshots": "recorded",
    "with_services": "planning",
}

if not TYPE_CHECKING:  # where mypy saw it, every name would do
    __getattr__ = exported(__name__, _HOMES)
