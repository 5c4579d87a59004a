"""How the applications of the KCL move: workers begin where their leases are, whatever the code says."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, by_numbers


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    return by_numbers(rows, "The workers begin")


MOVING: Final = Moving(predict=_predict)
