"""Rules for migrating a job with positions in a file: it begins at these numbers, whichever cluster it reads."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, besides, by_numbers, damage
from offsetwise.plan.settings import UnsetSettings

_BEGINS: Final = "The job starts"


def _predict(comparison: Comparison, rows: Rows) -> Prediction:
    unset = next((row for row in comparison.partitions if row.old_offset is None), None)
    if unset is None:
        return by_numbers(rows, _BEGINS)
    message = f"Without a position in {unset.topic_partition}, the job begins there where auto.offset.reset says."
    return besides(message, damage(rows, _BEGINS))


MOVING: Final = Moving(predict=_predict, parameters=UnsetSettings)
