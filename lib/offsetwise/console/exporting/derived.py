"""The files of a plan, made once: a rerun of the page only looks them up.

Keyed by the digests of the plan and its approvals. Whoever asks was let look at the plan by the board before.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from offsetwise.console import board
from offsetwise.errors import PlanError
from offsetwise.review.exports import Export, ExportKind
from offsetwise.review.sheet import Mark, Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file, with the digest of exactly its bytes."""

    export: Export
    sha256: str


def files(seat: board.Seat, sheet: Sheet, kind: ExportKind) -> tuple[File, ...]:
    """Give the files of one kind.

    Raises:
        PlanError: The plan cannot be said in that form, or somebody changed it just now.
    """
    approvals = tuple(hashlib.sha256(each.envelope).hexdigest() for each in sheet.standing.counted)
    return _files(sheet.digest, approvals, sheet.standing.mark, kind, seat, sheet.row.id)


@st.cache_resource(max_entries=16, show_spinner=False)
def _files(
    digest: str, approvals: tuple[str, ...], mark: Mark, kind: ExportKind, _seat: board.Seat, _plan: int
) -> tuple[File, ...]:
    made = tuple(
        File(export=each, sha256=hashlib.sha256(each.content).hexdigest())
        for each in _seat.board.export(_seat.person, _plan, kind)
    )
    found = [each.sha256 for each in made] if kind is ExportKind.APPROVAL else list(approvals)
    if any(each.export.digest != digest or each.export.mark is not mark for each in made) or found != [*approvals]:
        raise PlanError(
            f"Plan {_plan}: expected it as it stands on this page, and somebody changed it just now. Nothing was "
            "exported.",
            fix="Look at the page again.",
        )
    return made
