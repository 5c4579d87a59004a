"""What commands print with `--json` that is no file of its own: one document on stdout, with a header like a file's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter

from offsetwise import files
from offsetwise.apply.back import Standings
from offsetwise.apply.run import DryRun
from offsetwise.approval.envelope import EnvelopeShape, StatementShape
from offsetwise.approval.keys import PublicFile
from offsetwise.approval.strict import Shape
from offsetwise.model import ReceiptStep
from offsetwise.plan.drift import Drift
from offsetwise.review.audited import Audited
from offsetwise.survey.found import Survey
from offsetwise.targets.listing import Listing
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


Printed = DryRun | Standings | TakenBack | Drifted | Audited | Survey | SinkTransactions | Listing
KINDS: Final[dict[str, type]] = {
    "dry-run": DryRun,
    "rollback-preview": Standings,
    "rollback": TakenBack,
    "drift": Drifted,
    "audit": Audited,
    "survey": Survey,
    "transactions": SinkTransactions,
    "targets": Listing,
    "error": Failed,
}
SHAPES: Final[dict[str, type[Shape]]] = {
    "public-key": PublicFile,
    "approval": StatementShape,
    "approval-envelope": EnvelopeShape,
}
"""What `keygen` and `sign` print: the files that they write. An approval is the payload of its envelope."""


def dump(value: Printed) -> str:
    """Write a document, newline included."""
    kind = next(kind for kind, type_ in KINDS.items() if type(value) is type_)
    header = {"format": f"offsetwise/{kind}", "format_version": files.FORMAT_VERSION}
    adapter: TypeAdapter[Any] = TypeAdapter(KINDS[kind])
    body = header | adapter.dump_python(value, mode="json")
    return json.dumps(body, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False) + "\n"


def schema(kind: str) -> dict[str, Any]:
    """Give the JSON Schema of one kind of document."""
    if kind in KINDS:
        return files.schema_of(TypeAdapter(KINDS[kind]), kind)
    made = SHAPES[kind].model_json_schema(mode="serialization")
    return made | {"$schema": files.DIALECT, "title": f"offsetwise/{kind}"}
