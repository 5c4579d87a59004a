"""The exports of `import offsetwise`: the importer of the module of each name, called at the first use of the name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Final


def _api_drafting() -> ModuleType:
    import offsetwise.api.drafting as home

    return home


def _api_fleet() -> ModuleType:
    import offsetwise.api.fleet as home

    return home


def _api_init() -> ModuleType:
    import offsetwise.api.init as home

    return home


def _api_job() -> ModuleType:
    import offsetwise.api.job as home

    return home


def _api_migration() -> ModuleType:
    import offsetwise.api.migration as home

    return home


def _api_plan() -> ModuleType:
    import offsetwise.api.plan as home

    return home


def _api_plan_set() -> ModuleType:
    import offsetwise.api.plan_set as home

    return home


def _api_receipt() -> ModuleType:
    import offsetwise.api.receipt as home

    return home


def _api_repair() -> ModuleType:
    import offsetwise.api.repair as home

    return home


def _apply_back() -> ModuleType:
    import offsetwise.apply.reversal as home

    return home


def _apply_run() -> ModuleType:
    import offsetwise.apply.run as home

    return home


def _apply_sets_outcomes() -> ModuleType:
    import offsetwise.apply.sets.outcomes as home

    return home


def _approval() -> ModuleType:
    import offsetwise.approval as home

    return home


def _differences_changes() -> ModuleType:
    import offsetwise.differences.changes as home

    return home


def _differences_reading() -> ModuleType:
    import offsetwise.differences.reading as home

    return home


def _errors() -> ModuleType:
    import offsetwise.errors as home

    return home


def _fleets() -> ModuleType:
    import offsetwise.fleets as home

    return home


def _model() -> ModuleType:
    import offsetwise.model as home

    return home


def _plan_drift() -> ModuleType:
    import offsetwise.plan.drift as home

    return home


def _plan_request() -> ModuleType:
    import offsetwise.plan.request as home

    return home


def _survey_found() -> ModuleType:
    import offsetwise.survey.results as home

    return home


def _targets() -> ModuleType:
    import offsetwise.targets as home

    return home


def _transactions_decisions() -> ModuleType:
    import offsetwise.transactions.decisions as home

    return home


def _transactions_report() -> ModuleType:
    import offsetwise.transactions.report as home

    return home


def _transactions_snapshot() -> ModuleType:
    import offsetwise.transactions.snapshot as home

    return home


def _workflow() -> ModuleType:
    import offsetwise.workflow as home

    return home


HOMES: Final[Mapping[str, Callable[[], ModuleType]]] = {
    "ApplyError": _errors,
    "Change": _differences_changes,
    "Checkpoint": _model,
    "CheckpointError": _errors,
    "Cluster": _model,
    "ClusterError": _errors,
    "Compared": _api_job,
    "Comparison": _model,
    "ConfigError": _errors,
    "Cutover": _model,
    "CutoverRequirement": _model,
    "CutoverState": _model,
    "Decision": _transactions_decisions,
    "Difference": _differences_changes,
    "DraftedJob": _api_drafting,
    "Drift": _plan_drift,
    "DryRun": _apply_run,
    "Evidence": _model,
    "Exactness": _model,
    "FileError": _errors,
    "Finding": _model,
    "Fleet": _fleets,
    "FleetRow": _fleets,
    "FleetSummary": _fleets,
    "FleetVerdict": _fleets,
    "Job": _api_job,
    "JobOrigin": _model,
    "JobState": _model,
    "JobStatus": _model,
    "Migration": _api_migration,
    "NewSavepoint": _model,
    "NotApprovedError": _errors,
    "OffsetwiseError": _errors,
    "Override": _model,
    "PartitionComparison": _model,
    "Plan": _api_plan,
    "PlanError": _errors,
    "PlanOutcome": _apply_sets_outcomes,
    "PlanSet": _api_plan_set,
    "PrivateKey": _approval,
    "PublicKey": _approval,
    "Receipt": _api_receipt,
    "ReceiptStep": _model,
    "Reconciliation": _model,
    "SinkSnapshot": _transactions_snapshot,
    "SinkTransaction": _transactions_decisions,
    "SinkTransactions": _transactions_report,
    "Snapshot": _model,
    "SparkError": _errors,
    "StalePlanError": _errors,
    "Standings": _apply_back,
    "Start": _model,
    "StartChoice": _plan_request,
    "Status": _model,
    "StepState": _model,
    "StorageError": _errors,
    "Survey": _survey_found,
    "Target": _model,
    "TopicPartition": _model,
    "Turnout": _model,
    "Unset": _plan_request,
    "UsageError": _errors,
    "Verdict": _approval,
    "Verification": _model,
    "VerifiedJob": _model,
    "VerifyError": _errors,
    "diff": _differences_reading,
    "fleet": _api_fleet,
    "init": _api_init,
    "inspect": _workflow,
    "keygen": _approval,
    "load_comparison": _workflow,
    "load_sink_snapshot": _workflow,
    "load_snapshots": _workflow,
    "read_private_key": _approval,
    "repair": _api_repair,
    "targets": _targets,
    "write_approval": _approval,
    "write_keys": _approval,
}
