"""What the screens say of the bundled samples does not contradict what was proven about them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import offsetwise
from offsetwise import workflow
from offsetwise.config import load_migration
from offsetwise.console.plan import checklist, positions
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Outcome, Plan, Target
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.target import target_types
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.screens import checkpoint as flink
from tests.subjects import checkpoint
from tests.with_cases import with_cases

LIBRARY = Path(offsetwise.__file__).parent
SAMPLES = ("sample", "sample_flink", "sample_kinesis")
INSIDE = "inside its log"


@cache
def plans(sample: str) -> tuple[Plan, ...]:
    """Draft every job of a sample for every target that takes it."""
    return tuple(_drafted(sample))


def _drafted(sample: str) -> Iterator[Plan]:
    folder = LIBRARY / sample
    migration = load_migration(folder / "migration.yaml")
    for path in sorted(folder.glob("comparison-*.json")):
        observed = workflow.load_comparison(path, folder / "old.json", folder / "new.json")
        for spec in target_types():
            target = Target(kind=spec.name, group="etl" if spec.address is not None else None)
            try:
                yield workflow.draft(
                    migration,
                    checkpoint(path.stem.removeprefix("comparison-")),
                    DraftRequest(targets=(target,), author="ada"),
                    comparison=observed,
                    drafted_at="2026-11-25T00:00:00Z",
                )
            except OffsetwiseError:
                continue


@with_cases("sample", SAMPLES)
def test_no_proven_offset_is_called_outside_its_log(sample: str) -> None:
    drafted = plans(sample)

    outcomes = [
        (plan.targets[0].kind, check.outcome)
        for plan in drafted
        for check in checklist.checks(plan, None)
        if check.name.endswith(INSIDE) and all(one.exactness.proven for one in plan.positions)
    ]
    assert outcomes
    assert [each for each in outcomes if each[1] is not Outcome.PASSED] == []


@with_cases("sample", SAMPLES)
def test_the_headline_of_a_plan_counts_the_offsets_that_change(sample: str) -> None:
    for plan in plans(sample):
        rows = positions.rows_of(plan, None)
        said = positions.headline(rows)
        changed = sum(one.old_offset != one.new_offset for one in plan.positions)

        assert "as before" not in said
        if "need" not in said:
            stay = len(rows) - changed
            parts = (
                f"{changed:,} change{'s' if changed == 1 else ''}" if changed else "",
                f"{stay:,} stay{'s' if stay == 1 else ''}" if stay else "",
            )
            assert said == f"{', '.join(filter(None, parts))}, all proven"


def test_the_time_of_a_file_is_called_what_it_is() -> None:
    folder = LIBRARY / "sample_flink" / "checkpoints"
    for path in folder.glob("savepoint-*"):
        details = read_checkpoint(str(path)).details
        assert isinstance(details, FlinkDetails)
        told = flink._facts(details.saved)

        assert "File dated" in told
        assert "Written" not in told
