"""How a toy moves: it begins at its numbers without a word, and a consumer group may keep them instead."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, by_numbers


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    return by_numbers(rows, "The toy starts")


MOVING: Final = Moving(predict=_predict)
