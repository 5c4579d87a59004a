"""Which checkpoints of a fleet are shown, and in which order: kept in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import streamlit as st

from offsetwise.console import escaping
from offsetwise.console.choosing import several
from offsetwise.console.fleet import sentences
from offsetwise.fleet import FleetRow, FleetVerdict

SAME_QUERY: Final = "same query id"
"""Stands among the codes of problems: copies are no problem of one checkpoint, and are looked for like one."""

_HOUR_MS: Final = 3_600_000
ANY_AGE: Final = "any age"
NOT_KNOWN: Final = "age not known"
AGES: Final = {"1 hour": _HOUR_MS, "1 day": 24 * _HOUR_MS, "7 days": 168 * _HOUR_MS, "30 days": 720 * _HOUR_MS}
_URGENCY: Final = tuple(FleetVerdict)


class Order(StrEnum):
    """How the rows are sorted."""

    WORST = "worst first"
    OLDEST = "longest without a batch"
    LARGEST = "largest state"
    PATH = "by path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which rows are shown. Empty keeps all; names are as they stand on screen."""

    verdicts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    older: str = ANY_AGE
    text: str = ""
    order: str = Order.WORST

    def apply(self, rows: Sequence[FleetRow], now_ms: int) -> tuple[FleetRow, ...]:
        """Give the rows that pass, in the chosen order. Ages are counted up to `now_ms`."""
        kept = [row for row in rows if self._keeps(row, now_ms)]
        kept.sort(key=lambda row: row.uri)
        if self.order == Order.LARGEST:
            kept.sort(key=lambda row: -1 if row.state_bytes is None else row.state_bytes, reverse=True)
        elif self.order != Order.PATH:
            kept.sort(key=lambda row: _since(row, now_ms), reverse=True)
        if self.order == Order.WORST:
            kept.sort(key=lambda row: (_URGENCY.index(row.verdict), row.same_query == 1))
        return tuple(kept)

    def _keeps(self, row: FleetRow, now_ms: int) -> bool:
        sought = self.text.strip().casefold()
        return (
            (not self.verdicts or row.verdict in self.verdicts)
            and (not self.problems or not _marks(row).isdisjoint(self.problems))
            and (not self.topics or any(escaping.plain(topic) in self.topics for topic, _ in row.topics))
            and self._old_enough(row, now_ms)
            and (not sought or any(sought in text.casefold() for text in _texts(row)))
        )

    def _old_enough(self, row: FleetRow, now_ms: int) -> bool:
        since = sentences.age_ms(row.planned_at_ms, now_ms)
        if self.older == NOT_KNOWN:
            return since is None
        limit = AGES.get(self.older)
        return limit is None or (since is not None and since > limit)


def _since(row: FleetRow, now_ms: int) -> float:
    since = sentences.age_ms(row.planned_at_ms, now_ms)
    return float("-inf") if since is None else since


def _marks(row: FleetRow) -> set[str]:
    codes = set(map(escaping.plain, sentences.problems(row)))
    return {*codes, SAME_QUERY} if row.same_query > 1 else codes


def _texts(row: FleetRow) -> tuple[str, ...]:
    job_id = row.checkpoint.job_id if row.checkpoint else None
    return (row.uri, *row.names, job_id or "")


def filters(codes: Sequence[str], topics: Sequence[str]) -> Filters:
    """Draw the filters of the table."""
    with st.container(horizontal=True):
        return Filters(
            verdicts=several("Verdict", "verdict", [str(verdict) for verdict in FleetVerdict]),
            problems=several("Problem", "problem", codes),
            topics=several("Topic", "topic", topics),
            older=st.selectbox(
                "No batch for", [ANY_AGE, *AGES, NOT_KNOWN], key="older", bind="query-params", width=160
            ),
            text=st.text_input(
                "Path or query id has", key="text", bind="query-params", max_chars=200, placeholder="any text"
            ),
            order=st.selectbox("Order", [str(order) for order in Order], key="order", bind="query-params", width=210),
        )
