"""The output of commands with `--json` that is not a file format: one document on stdout, with a file's header."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import TypeAdapter

from offsetwise import files
from offsetwise.model import ReceiptStep
from offsetwise.plan.drift import Drift

if TYPE_CHECKING:
    from offsetwise.apply.reversal import Standings
    from offsetwise.apply.run import DryRun
    from offsetwise.approval.strict import Shape
    from offsetwise.differences.changes import Difference
    from offsetwise.fleets import FleetSummary
    from offsetwise.review.audited import Audited
    from offsetwise.survey.results import Survey
    from offsetwise.targets.listing import TargetListing
    from offsetwise.transactions.report import SinkTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """What `rollback --execute` did."""

    steps: tuple[ReceiptStep, ...]
    """In the order of the plan; one whose state is not `undone` could not be taken back whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """What `drift` found; empty where everything is as it was reviewed."""

    drift: tuple[Drift, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a command did not do what it was asked."""

    error: str
    """The kind of error."""
    problem: str
    """What was expected and found, and the effect."""
    fix: str
    """The next thing to do."""
    uri: str | None = None
    """Of the checkpoint; left out unless `inspect` was asked about several."""
    job: str | None = None
    """`checkpoint NAME` or `group NAME`; left out unless `compare` was asked about several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPlan:
    """Why something could not be done with a plan."""

    error: str
    """The kind of error."""
    problem: str
    """What was expected and found, and the effect."""
    fix: str
    """The next thing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeOfPlan:
    """What came of one plan of a set."""

    job: str
    """`checkpoint NAME` or `group NAME`, as the set has it."""
    plan: str
    """The plan's digest, hex."""
    result: dict[str, Any] | None
    """What the command prints of one plan, with its own `format`; null where it failed before that."""
    error: FailedPlan | None
    """Null where it did not fail."""


Printed: TypeAlias = (
    "DryRun | Standings | TakenBack | Drifted | OutcomeOfPlan | Difference | Audited | FleetSummary | Survey"
    " | SinkTransactions | TargetListing"
)
KINDS: Final[dict[str, str]] = {
    "dry-run": "DryRun",
    "rollback-preview": "Standings",
    "rollback": "TakenBack",
    "drift": "Drifted",
    "diff": "Difference",
    "plan-outcome": "OutcomeOfPlan",
    "audit": "Audited",
    "fleet": "FleetSummary",
    "survey": "Survey",
    "transactions": "SinkTransactions",
    "targets": "TargetListing",
    "error": "Failed",
}
"""Name of the type of each kind."""
SHAPES: Final[dict[str, str]] = {
    "public-key": "PublicFile",
    "approval": "StatementShape",
    "approval-envelope": "EnvelopeShape",
}
"""Files that `keygen` and `sign` print. An approval is the payload of its envelope."""


def dump(value: Printed, *, indent: int | None = 1) -> str:
    """Return a document as text with a newline at its end; `indent=None` gives a single line."""
    kind = next(kind for kind, name in KINDS.items() if type(value).__name__ == name)
    header = {"format": f"offsetwise/{kind}", "format_version": files.FORMAT_VERSION}
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    body = header | adapter.dump_python(value, mode="json")
    return json.dumps(body, ensure_ascii=False, sort_keys=True, indent=indent, allow_nan=False) + "\n"


def schema(kind: str) -> dict[str, Any]:
    if kind in KINDS:
        return files.schema_of(TypeAdapter(_types()[KINDS[kind]]), kind)
    results = _shapes()[SHAPES[kind]].model_json_schema(mode="serialization")
    return results | {"$schema": files.DIALECT, "title": f"offsetwise/{kind}"}


def _types() -> dict[str, type]:
    """Import the type of every kind, only here: a command that prints one saves a tenth of a second."""
    from offsetwise.apply.reversal import Standings
    from offsetwise.apply.run import DryRun
    from offsetwise.differences.changes import Difference
    from offsetwise.fleets import FleetSummary
    from offsetwise.review.audited import Audited
    from offsetwise.survey.results import Survey
    from offsetwise.targets.listing import TargetListing
    from offsetwise.transactions.report import SinkTransactions

    own = (TakenBack, Drifted, OutcomeOfPlan, Failed)
    of_others = (DryRun, Standings, Difference, Audited, FleetSummary, Survey, SinkTransactions, TargetListing)
    types: tuple[type, ...] = (*of_others, *own)
    return {type_.__name__: type_ for type_ in types}


def _shapes() -> dict[str, type[Shape]]:
    from offsetwise.approval.envelope import EnvelopeShape, StatementShape
    from offsetwise.approval.keys import PublicFile

    return {shape.__name__: shape for shape in (PublicFile, StatementShape, EnvelopeShape)}
