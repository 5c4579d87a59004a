"""Rules for migrating sink connectors: a connector resumes at its group's committed offsets, on any cluster."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction, RawVerdict
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, besides, by_numbers, damage, named
from offsetwise.plugins.connect.engine.findings import connector_group

_BEGINS: Final = "The connector starts"
DECLARES: Final = (connector_group,)
"""Findings of the engine, which are registered with this module."""


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    outside = next((row for row in rows if row.raw.verdict is RawVerdict.OUT_OF_RANGE), None)
    if outside is None:
        return by_numbers(rows, _BEGINS)
    message = (
        f"Written as it is, {named(outside)} lies outside the new log. PATCH takes it without an error, and the "
        "connector's consumer then follows auto.offset.reset: earliest, unless the workers or the connector say "
        "otherwise."
    )
    return besides(message, damage(rows, _BEGINS))


MOVING: Final = Moving(predict=_predict)
