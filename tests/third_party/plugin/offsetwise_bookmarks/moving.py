"""How a Tally job moves: it goes on at the numbers in its file, whichever cluster it reads."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Moving
from offsetwise.plan.predict import Rows, by_numbers


def _predict(comparison: Comparison, rows: Rows) -> Prediction:
    return by_numbers(rows, "Tally starts")


MOVING: Final = Moving(predict=_predict)
