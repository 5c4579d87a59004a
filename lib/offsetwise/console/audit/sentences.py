"""What the Audit screen says, in words. Markdown where it says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise.console.escaping import markdown
from offsetwise.store.audit import AuditRow, Chain, body_of, hash_of
from offsetwise.wording import many, moment
from offsetwise.wording.verdicts import Tone, Verdict

RESULTS: Final = {
    "done": Verdict(icon="✓", word="done", tone=Tone.RIGHT),
    "refused": Verdict(icon="!", word="refused", tone=Tone.WRONG),
}
INTACT: Final = Verdict(icon="✓", word="as written", tone=Tone.RIGHT)
CHANGED: Final = Verdict(icon="!", word="changed", tone=Tone.WRONG)
APART: Final = Verdict(icon="!", word="does not follow", tone=Tone.WRONG)
NOBODY: Final = "nobody signed in"


def result(row: AuditRow) -> Verdict:
    """Say what came of it; a word that this release does not know is unknown."""
    said = row.record.result
    return RESULTS.get(said, Verdict(icon="?", word=said, tone=Tone.UNKNOWN))


def name(row: AuditRow) -> str:
    """Give what whoever did it is called."""
    said = row.record.details.get("name")
    if isinstance(said, str) and said:
        return said
    return row.record.subject or NOBODY


def change(row: AuditRow) -> str:
    """Give the plan's state before and after; nothing where it was about no plan.

    A refused attempt changes nothing, and says the same twice.
    """
    before, after = row.record.details.get("before"), row.record.details.get("after")
    if before is None and after is None:
        return ""
    return f"{'nothing' if before is None else before} → {'nothing' if after is None else after}"


def why(row: AuditRow) -> str:
    """Give why it was refused; what was answered where that says more than the result."""
    said = row.record.details.get("why")
    if said is not None:
        return str(said)
    unreadable = row.record.details.get("unreadable")
    if unreadable is not None:
        return str(unreadable)
    return str(row.record.details.get("answer") or "") if row.record.result != "done" else ""


def links(rows: Sequence[AuditRow], chain: Chain | None) -> tuple[Verdict, ...]:
    """Say of every row shown whether it is as it was written, as far as it can be seen from it and its neighbour.

    Args:
        rows: In falling order; between two that do not stand together nothing is looked at.
        chain: The last check of the whole chain.
    """
    made = []
    for place, row in enumerate(rows):
        older = rows[place + 1] if place + 1 < len(rows) else None
        if not _as_written(row):
            made.append(CHANGED)
        elif older is not None and older.seq == row.seq - 1 and older.hash != row.previous:
            made.append(APART)
        elif chain is not None and not chain.intact and row.seq == chain.rows + 1:
            made.append(CHANGED)
        else:
            made.append(INTACT)
    return tuple(made)


def verdict(chain: Chain) -> str:
    """Say what came of checking the whole chain. Markdown."""
    if chain.broken is None:
        if not chain.rows:
            return "**✓ The audit log is intact.** It has no rows yet."
        return (
            f"**✓ The audit log is intact:** {many(chain.rows, 'row')}, each with the hash of the one before. "
            "To find out later whether all of it was written anew, note its last hash elsewhere."
        )
    whole = {0: "", 1: " The row before it is whole."}.get(chain.rows, f" The {chain.rows:,} rows before it are whole.")
    return (
        f"**! The audit log is broken at row {chain.rows + 1:,}.** {markdown(chain.broken)}{whole} What stands from "
        "there on proves nothing."
    )


def heading(row: AuditRow) -> str:
    """Head the details of a row. Markdown."""
    return f"Row {row.seq:,} · {markdown(row.record.action)} · {markdown(str(result(row)))}"


def told(row: AuditRow) -> str:
    """Tell a row in full. Markdown."""
    record = row.record
    by = f"**{markdown(name(row))}**"
    if record.subject is not None or record.issuer is not None:
        by += f", subject {markdown(record.subject or '?')} of issuer {markdown(record.issuer or '?')}"
    about = "" if record.plan is None else f"plan {record.plan:,}"
    parts = [moment(record.at_ms), about, markdown(change(row))]
    lines = [by, " · ".join(part for part in parts if part), markdown(why(row))]
    return "  \n".join(line for line in lines if line)


def _as_written(row: AuditRow) -> bool:
    try:
        return hash_of(row.previous, body_of(row.seq, row.record)) == row.hash
    except (ValueError, TypeError):
        return False
