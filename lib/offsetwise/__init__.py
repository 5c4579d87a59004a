"""Offsetwise: where must each partition resume on the new cluster, and how do we know?

    import offsetwise as ow

    job = ow.Migration.load("migration.yaml").checkpoint("orders")
    comparison = job.compare()
    comparison["orders-0"].target_offset

Each name is imported when it is first used. docs/python.md shows them at work.
"""

from typing import TYPE_CHECKING

from offsetwise.lazy import exported, import_builtin_by

if TYPE_CHECKING:
    from offsetwise import targets
    from offsetwise.api.drafting import DraftedJob
    from offsetwise.api.fleet import fleet
    from offsetwise.api.init import init
    from offsetwise.api.job import Compared, Job
    from offsetwise.api.migration import Migration
    from offsetwise.api.plan import Plan
    from offsetwise.api.plan_set import PlanSet
    from offsetwise.api.receipt import Receipt
    from offsetwise.api.repair import repair
    from offsetwise.apply.reversal import Standings
    from offsetwise.apply.run import DryRun
    from offsetwise.apply.sets.outcomes import PlanOutcome
    from offsetwise.approval import PrivateKey, PublicKey, Verdict, keygen, read_private_key, write_approval, write_keys
    from offsetwise.differences.changes import Change, Difference
    from offsetwise.differences.reading import diff
    from offsetwise.errors import (
        ApplyError,
        CheckpointError,
        ClusterError,
        ConfigError,
        FileError,
        NotApprovedError,
        OffsetwiseError,
        PlanError,
        SparkError,
        StalePlanError,
        StorageError,
        UsageError,
        VerifyError,
    )
    from offsetwise.fleets import Fleet, FleetRow, FleetSummary, FleetVerdict
    from offsetwise.model import (
        Checkpoint,
        Cluster,
        Comparison,
        Cutover,
        CutoverRequirement,
        CutoverState,
        Evidence,
        Exactness,
        Finding,
        JobOrigin,
        JobState,
        JobStatus,
        NewSavepoint,
        Override,
        PartitionComparison,
        ReceiptStep,
        Reconciliation,
        Snapshot,
        Start,
        Status,
        StepState,
        Target,
        TopicPartition,
        Turnout,
        Verification,
        VerifiedJob,
    )
    from offsetwise.plan.drift import Drift
    from offsetwise.plan.request import StartChoice, Unset
    from offsetwise.survey.results import Survey
    from offsetwise.transactions.decisions import Decision, SinkTransaction
    from offsetwise.transactions.report import SinkTransactions
    from offsetwise.transactions.snapshot import SinkSnapshot
    from offsetwise.workflow import inspect, load_comparison, load_sink_snapshot, load_snapshots

__all__ = [
    "ApplyError",
    "Change",
    "Checkpoint",
    "CheckpointError",
    "Cluster",
    "ClusterError",
    "Compared",
    "Comparison",
    "ConfigError",
    "Cutover",
    "CutoverRequirement",
    "CutoverState",
    "Decision",
    "Difference",
    "DraftedJob",
    "Drift",
    "DryRun",
    "Evidence",
    "Exactness",
    "FileError",
    "Finding",
    "Fleet",
    "FleetRow",
    "FleetSummary",
    "FleetVerdict",
    "Job",
    "JobOrigin",
    "JobState",
    "JobStatus",
    "Migration",
    "NewSavepoint",
    "NotApprovedError",
    "OffsetwiseError",
    "Override",
    "PartitionComparison",
    "Plan",
    "PlanError",
    "PlanOutcome",
    "PlanSet",
    "PrivateKey",
    "PublicKey",
    "Receipt",
    "ReceiptStep",
    "Reconciliation",
    "SinkSnapshot",
    "SinkTransaction",
    "SinkTransactions",
    "Snapshot",
    "SparkError",
    "StalePlanError",
    "Standings",
    "Start",
    "StartChoice",
    "Status",
    "StepState",
    "StorageError",
    "Survey",
    "Target",
    "TopicPartition",
    "Turnout",
    "Unset",
    "UsageError",
    "Verdict",
    "Verification",
    "VerifiedJob",
    "VerifyError",
    "diff",
    "fleet",
    "init",
    "inspect",
    "keygen",
    "load_comparison",
    "load_sink_snapshot",
    "load_snapshots",
    "read_private_key",
    "repair",
    "targets",
    "write_approval",
    "write_keys",
]


def _import_builtin() -> None:
    import offsetwise.builtin  # noqa: F401, PLC0415 - at the first look-up of a registered name


import_builtin_by(_import_builtin)
if not TYPE_CHECKING:  # where mypy saw it, every name would do

    def __getattr__(name: str) -> object:
        import offsetwise.exports as home  # noqa: PLC0415 - at the first use of a name

        return exported(__name__, home.HOMES)(name)
