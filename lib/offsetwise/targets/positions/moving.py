"""How a job moves whose positions a file gives: it begins at these numbers, whichever cluster it reads."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, by_numbers


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    return by_numbers(rows, "The job starts")


MOVING: Final = Moving(predict=_predict)
