"""The positions file is printed back in its shape, with the command by which its system takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.reversal import rollback
from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.verification import verify
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ApplyError, PlanError, StalePlanError
from offsetwise.model import Comparison, Plan, StepState, Target, Turnout
from offsetwise.plan.reading import read_plan
from offsetwise.plan.strategies import judge_strategies
from offsetwise.plan.target import target_type
from offsetwise.plugins.positions.engine.shapes import SHAPES
from offsetwise.plugins.positions.target.spec import positions_text
from tests.apply.plans import SHIFT, drafted
from tests.apply.worlds import Stage, stage
from tests.plan import scene
from tests.plugins.positions.shapes import EXAMPLES
from tests.plugins.positions.test_shapes import written
from tests.with_cases import with_cases

TARGET: Final = Target(kind="positions-file")
PRINTED: Final = {name: example for name, example in EXAMPLES.items() if SHAPES[example.shape].text is not None}
COMMANDS: Final = {
    "offsets-json": "whatever keeps the job's offsets, from {}",
    "a group exported": "kafka-consumer-groups --bootstrap-server NEW --reset-offsets --group GROUP --from-file {} "
    "--execute",
    "two groups exported": "kafka-consumer-groups --bootstrap-server NEW --reset-offsets --group etl --group "
    "'the other one' --from-file {} --execute",
    "one of two groups": "kafka-consumer-groups --bootstrap-server NEW --reset-offsets --all-groups --from-file {} "
    "--execute",
    "connect-offsets": "--data @{} http://WORKER:8083/connectors/CONNECTOR/offsets, while the connector is STOPPED",
    "druid-supervisor": "--data @{} http://ROUTER:8888/druid/indexer/v1/supervisor/SUPERVISOR/resetOffsets",
    "hudi": 'the option --checkpoint "$(cat {})" of HoodieStreamer',
    "spark-starting-offsets": '.option("startingOffsets", open("{}").read())',
    "flink-specific-offsets": "the options in {}, in WITH (…) of the table; no savepoint",
}


def staged(folder: Path, name: str) -> Stage:
    """Stage a plan for an example, every offset moved by the same number."""
    example = EXAMPLES[name]
    (folder / "job").mkdir(exist_ok=True)
    return stage(folder, TARGET, source=Path(written(folder / "job", example.text, example.part or "positions")))


def moved(name: str) -> str:
    """Return what an example is printed back as, every offset moved."""
    example = EXAMPLES[name]
    text = example.text if example.printed is None else example.printed
    for _, _, _, offset in example.positions:
        text = text.replace(f"{offset}", f"{offset + SHIFT}") if offset > 9 else text.replace(f",{offset}\n", ",10\n")
    return text


@with_cases("name", PRINTED)
def test_a_plan_is_applied_verified_and_rolled_back(name: str, tmp_path: Path) -> None:
    planned = staged(tmp_path, name)
    place = Path(str(planned.output))

    shown = dry_run(planned.order(), planned.tools())
    assert not place.exists()
    apply(planned.order(), planned.receipt, planned.tools())

    assert place.read_text() == moved(name)
    assert all(f"written to {place}." in preview.told for preview in shown.previews)
    receipt = read_receipt(planned.receipt)
    seen = verify(receipt, LiveReaders(migration=planned.migration), verified_at="2026-11-21T12:00:00Z")
    assert {each.turnout for each in seen.positions} == {Turnout.CONFIRMED}
    (step,) = rollback(planned.back(), planned.tools())
    assert step.state is StepState.UNDONE
    assert not place.exists()


@with_cases("name", COMMANDS)
def test_the_command_by_which_its_system_takes_the_file_is_shown_and_recorded(name: str, tmp_path: Path) -> None:
    planned = staged(tmp_path, name)
    expected = COMMANDS[name].format(planned.output)

    (preview,) = dry_run(planned.order(), planned.tools()).previews
    apply(planned.order(), planned.receipt, planned.tools())

    assert preview.told.endswith(expected)
    (step,) = read_receipt(planned.receipt).steps
    assert step.told.endswith(expected)


def test_a_file_that_was_changed_since_is_not_applied(tmp_path: Path) -> None:
    planned = staged(tmp_path, "a group exported")
    (tmp_path / "job" / "positions").write_text("orders,0,1051\norders,1,950\n")

    with pytest.raises(StalePlanError, match="positions"):
        apply(planned.order(), planned.receipt, planned.tools())
    assert not Path(str(planned.output)).exists()


def compared(folder: Path, name: str) -> Comparison:
    """Compare the position of the reference case, kept in a file."""
    example = EXAMPLES[name]
    read = read_checkpoint(written(folder, example.text, example.part or "positions"))
    kept = replace(read.sources[0], positions=read.sources[0].positions[:1])
    rows = (replace(row, source=kept.id) for row in scene.rows({}))
    return scene.comparison(*rows, checkpoint=replace(read, sources=(kept,)))


def test_it_is_the_first_way_of_a_positions_file_and_of_nothing_else(tmp_path: Path) -> None:
    made = compared(tmp_path, "hudi")
    ways = judge_strategies(made, scene.migration())
    others = judge_strategies(scene.comparison(), scene.migration())

    assert (ways[0].kind.name, ways[0].applies) == ("positions-file", True)
    assert "positions-file" not in {way.kind.name for way in others}
    with pytest.raises(PlanError, match="were read from no positions file"):
        scene.drafted(scene.comparison(), TARGET)


def test_a_plan_is_drafted_and_read_again(tmp_path: Path) -> None:
    plan = scene.drafted(compared(tmp_path, "hudi"), TARGET, scene.ETL)

    assert positions_text(plan) == "orders,0:950\n"
    assert read_plan(files.dump(plan).encode(), subject="the plan") == plan


@with_cases("name", ["pinot-segments", "mirror-checkpoints"])
def test_a_shape_that_its_system_takes_no_offsets_in_leads_to_a_group(name: str, tmp_path: Path) -> None:
    made = compared(tmp_path, name)

    with pytest.raises(PlanError, match=f"the shape {EXAMPLES[name].shape}, in which its system takes no") as caught:
        scene.drafted(made, TARGET)
    assert "--target consumer-group:NAME" in caught.value.fix
    assert scene.drafted(made, scene.ETL).targets == (scene.ETL,)


@with_cases(
    "target", ["spark-checkpoint", "flink-savepoint", "starting-offsets", "seeded-checkpoint"], ids=lambda name: name
)
def test_what_needs_a_checkpoint_of_an_engine_refuses_it(target: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"NO_STATE_TO_COPY|cannot be told to begin at offsets"):
        scene.drafted(compared(tmp_path, "hudi"), Target(kind=target))


def _with_source(plan: Plan, *names: str) -> Plan:
    return replace(
        plan, positions=tuple(replace(one, source=name) for one, name in zip(plan.positions, names, strict=True))
    )


@with_cases(
    ("names", "found"),
    [
        (("hudi", "offsets-json"), "it names hudi, offsets-json"),
        (("other", "other"), "it names other"),
        (("pinot-segments", "pinot-segments"), "takes offsets in, the plan has pinot-segments"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_plan_that_somebody_changed_is_refused(names: tuple[str, str], found: str, tmp_path: Path) -> None:
    plan = _with_source(drafted(written(tmp_path, EXAMPLES["hudi"].text)), *names)

    with pytest.raises(ApplyError, match=found):
        positions_text(plan)
    assert [problem.code for problem in target_type(TARGET.kind).unfit(plan)] == ["SOURCES"]


@with_cases("source", ["../hudi", "hudi:../x", "hudi:a/b", "HUDI"])
def test_a_source_that_no_positions_file_gives_is_refused_when_a_plan_is_read(source: str, tmp_path: Path) -> None:
    plan: Any = scene.drafted(compared(tmp_path, "hudi"), scene.ETL)

    with pytest.raises(PlanError, match="is no name that positions gives"):
        read_plan(files.dump(_with_source(plan, source)).encode(), subject="the plan")
