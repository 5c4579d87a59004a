"""How the applications of the KCL move: workers begin where their leases are, whatever the code says."""

from __future__ import annotations

from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Elsewhere, Moving
from offsetwise.plan.predict import Rows, by_numbers


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    return by_numbers(rows, "The workers begin")


def _elsewhere(job: Elsewhere) -> str:
    return (
        f"Workers on {job.new!r} begin with the sequence numbers of {job.old!r}, which {job.new!r} refuses: they try "
        "again for ever and read nothing."
    )


MOVING: Final = Moving(predict=_predict, elsewhere=_elsewhere)
