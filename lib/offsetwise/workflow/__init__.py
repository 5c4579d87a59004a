"""The verbs that read: what the console and the command line both call, so that they cannot differ.

Nothing here writes to a cluster or a checkpoint.
"""

from offsetwise.workflow.checkpoints import batch_files, checkpoint_reading, fleet, inspect, state_rows
from offsetwise.workflow.comparing import check_two_clusters, compare, observe, snapshot
from offsetwise.workflow.counting import reconcile
from offsetwise.workflow.planning import draft, drift
from offsetwise.workflow.recorded import (
    load_migrations,
    sample,
    sample_comparison,
    sample_drift,
    sample_observed,
    sample_reconciliation,
)
from offsetwise.workflow.stored import Observed, load_observed, load_snapshots

__all__ = [
    "Observed",
    "batch_files",
    "check_two_clusters",
    "checkpoint_reading",
    "compare",
    "draft",
    "drift",
    "fleet",
    "inspect",
    "load_migrations",
    "load_observed",
    "load_snapshots",
    "observe",
    "reconcile",
    "sample",
    "sample_comparison",
    "sample_drift",
    "sample_observed",
    "sample_reconciliation",
    "snapshot",
    "state_rows",
]
