"""Downloads of the audit log: every row that passes the filters, not only those on the page."""

from __future__ import annotations

import csv as writing
import io
import json
from collections.abc import Iterator
from dataclasses import replace

from offsetwise.console.audit import sentences
from offsetwise.console.escaping import cell
from offsetwise.review.people import Person
from offsetwise.review.view import AUDIT_ROWS, View
from offsetwise.store.audit import AuditFilter, AuditRow, body_of
from offsetwise.wording import moment

_HEADER = (
    "row",
    "when",
    "issuer",
    "subject",
    "name",
    "what",
    "result",
    "plan",
    "digest",
    "before",
    "after",
    "why",
    "previous hash",
    "hash",
)


def rows(board: View, person: Person | None, wanted: AuditFilter) -> Iterator[AuditRow]:
    """Give every row that passes, newest first, read in pages.

    Raises:
        AccessError: The person may not look.
        StoreError: The store cannot be read.
    """
    while True:
        page = board.audit(person, wanted)
        yield from page
        if len(page) < AUDIT_ROWS:
            return
        wanted = replace(wanted, before_seq=page[-1].seq)


def csv(board: View, person: Person | None, wanted: AuditFilter) -> bytes:
    """Write rows as CSV (UTF-8, LF). No cell can run as a formula; what a row does not say is empty."""
    out = io.StringIO()
    lines = writing.writer(out, lineterminator="\n")
    lines.writerow(_HEADER)
    for row in rows(board, person, wanted):
        record, said = row.record, row.record.details
        texts = (
            str(row.seq),
            moment(record.at_ms),
            record.issuer,
            record.subject,
            sentences.name(row),
            record.action,
            record.result,
            record.plan,
            record.digest,
            said.get("before"),
            said.get("after"),
            sentences.why(row),
            row.previous,
            row.hash,
        )
        lines.writerow("" if text is None else cell(str(text)) for text in texts)
    return out.getvalue().encode(errors="backslashreplace")


def json_lines(board: View, person: Person | None, wanted: AuditFilter) -> bytes:
    """Write rows as JSON lines, each with the text its hash was made of: anybody can check the chain with it.

    The hash of a row is the SHA-256 of the previous hash, a line feed and `body`.
    """
    return "".join(
        json.dumps(
            {"seq": row.seq, "previous": row.previous, "hash": row.hash, "body": body_of(row.seq, row.record)},
            sort_keys=True,
        )
        + "\n"
        for row in rows(board, person, wanted)
    ).encode()
