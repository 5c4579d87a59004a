"""The table of the Audit screen. Names are neutralised; whom or what a row is not about is an empty cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from offsetwise.console.audit import sentences
from offsetwise.console.escaping import cell
from offsetwise.store.audit import AuditRow
from offsetwise.wording import moment
from offsetwise.wording.verdicts import Verdict

COLUMNS: Final = (
    "row",
    "when (UTC)",
    "subject",
    "issuer",
    "what",
    "result",
    "chain",
    "plan",
    "digest",
    "before → after",
    "why",
    "who",
)
_TOLD: Final = 160
"""Characters of a reason in a cell; the whole one stands below the table."""


def audit_table(rows: Sequence[AuditRow], links: Sequence[Verdict]) -> pd.DataFrame:
    """Give one row per row of the log.

    Args:
        rows: The rows, newest first.
        links: Whether each is as it was written.
    """
    records = [row.record for row in rows]
    return pd.DataFrame(
        {
            "row": [row.seq for row in rows],
            "when (UTC)": [moment(record.at_ms) for record in records],
            "who": [cell(sentences.name(row)) for row in rows],
            "what": [cell(record.action) for record in records],
            "result": [cell(str(sentences.result(row))) for row in rows],
            "plan": ["" if record.plan is None else str(record.plan) for record in records],
            "digest": ["" if record.digest is None else cell(record.digest[:8]) for record in records],
            "before → after": [cell(sentences.change(row)) for row in rows],
            "why": [cell(_cut(sentences.why(row))) for row in rows],
            "subject": [cell(record.subject or "") for record in records],
            "issuer": [cell(record.issuer or "") for record in records],
            "chain": [str(link) for link in links],
        },
        columns=list(COLUMNS),
    )


def details(row: AuditRow) -> pd.DataFrame:
    """Give what else a row says, a line each."""
    said = sorted(row.record.details.items())
    return pd.DataFrame(
        {"said": [cell(key) for key, _ in said], "as": [cell(_value(value)) for _, value in said]}, dtype=object
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 1]}…"
