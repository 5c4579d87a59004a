"""Rules for migrating jobs with positions in a consumer group: a consumer raises no error, it follows its settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.model import Comparison, Prediction, RawVerdict
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, besides, by_numbers, damage, named
from offsetwise.plan.settings import UnsetSettings
from offsetwise.plan.ways import PRODUCERS_FIRST

_BEGINS: Final = "The query starts"


def _predict(comparison: Comparison, rows: Rows) -> Prediction:
    outside = next((row for row in rows if row.raw.verdict is RawVerdict.OUT_OF_RANGE), None)
    unset = next((row for row in comparison.partitions if row.old_offset is None), None)
    if outside is None and unset is not None:
        message = (
            f"Without a commit in {unset.topic_partition}, the consumer begins there where auto.offset.reset says."
        )
        return besides(message, damage(rows, _BEGINS))
    if outside is None:
        return by_numbers(rows, _BEGINS)
    message = (
        f"Copied as it is, {named(outside)} lies outside the new log, and the consumer follows "
        "auto.offset.reset: to the end (what lies before is skipped) or to the start (all is read again)."
    )
    return besides(message, damage(rows, _BEGINS))


MOVING: Final = Moving(
    predict=_predict,
    parameters=UnsetSettings,
    ways=(replace(PRODUCERS_FIRST, target="consumer-group"),),
    like="spark",
)
