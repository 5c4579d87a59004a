"""Rules for migrating applications of the KCL: workers begin at their leases, whatever the code says."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.model import Comparison, Prediction
from offsetwise.plan.moving import Elsewhere, Moving
from offsetwise.plan.predict import Rows, by_numbers
from offsetwise.plugins.kinesis.kcl.details import NAME
from offsetwise.plugins.kinesis.targets.kcl_leases.spec import WAY


def _predict(comparison: Comparison, rows: Rows) -> Prediction:  # noqa: ARG001 - as every engine's
    return by_numbers(rows, "The workers begin")


def _elsewhere(job: Elsewhere) -> str:
    return (
        f"Workers on {job.new} begin with the sequence numbers of {job.old}, which {job.new} refuses: they try "
        "again for ever and read nothing."
    )


MOVING: Final = Moving(
    predict=_predict,
    elsewhere=_elsewhere,
    ways=(replace(WAY, engine=NAME, order=10, elsewhere=""),),  # of the application itself, whose table is known
)
