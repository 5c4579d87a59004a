"""An engine that only the tests know, registered by one line: from its folder to positions that are verified."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import offsetwise
from offsetwise import files, workflow
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.verification import verify
from offsetwise.config import load_migration
from offsetwise.engines import registry
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.discovery import find_checkpoints
from offsetwise.errors import CheckpointError, FileError, NotACheckpointError, PlanError, StalePlanError
from offsetwise.model import Comparison, Exactness, Target, Turnout
from offsetwise.plan.exports import starting_offsets
from offsetwise.plan.reading import read_plan
from offsetwise.plan.strategies import judge_strategies
from offsetwise.registry import ENGINES
from tests.apply.worlds import TO_GROUP, stage
from tests.commands import call
from tests.plan import scene
from tests.subjects import checkpoint
from tests.toys.engine.engine import FILE, SOURCE, TOY, ToyDetails
from tests.toys.registering import register_target
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample"
CSV = Target(kind="toy-csv")
AT = (("orders", 0, 1050), ("orders", 1, 1050))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, TOY.name, lambda: TOY)
    register_target(monkeypatch)


def toy(folder: Path, at: Sequence[tuple[str, int, int]] = AT) -> Path:
    """Write the folder of a toy."""
    made = folder / "toys" / "train"
    made.mkdir(parents=True)
    (made / FILE).write_text(json.dumps({"job": "train", "colour": "red", "at": at}))
    return made


def compared(folder: Path) -> Comparison:
    """Compare a toy with the bundled sample's clusters."""
    toy(folder)
    text = (SAMPLE / "migration.yaml").read_text().replace("./checkpoints/orders", "./toys/train")
    (folder / "migration.yaml").write_text(text.replace("- ./checkpoints\n", "- ./toys\n- ./checkpoints\n"))
    return workflow.compare(
        load_migration(folder / "migration.yaml"),
        checkpoint("orders"),
        snapshots=workflow.load_snapshots(SAMPLE / "old.json", SAMPLE / "new.json"),
    )


def proven(folder: Path) -> Comparison:
    """Return the reference case, its positions kept by a toy."""
    read = read_checkpoint(str(toy(folder, AT[:1])))
    return scene.comparison(*(replace(row, source=SOURCE) for row in scene.rows({})), checkpoint=read)


def test_it_is_inspected_in_words_and_as_json(tmp_path: Path) -> None:
    folder = toy(tmp_path)

    shown = call("inspect", folder).out
    told = json.loads(call("inspect", folder, "--json").out)

    for word in ("train", "red positions", "The toy goes on in 2 partitions.", "orders-1", "1,050"):
        assert word in shown
    assert (told["engine"], told["colour"], told["offset_files"][0][0]) == ("toy", "red", FILE)


@with_cases(
    ("content", "told"),
    [
        ("{", "Expecting property name"),
        ("[]", "list indices"),
        ('{"colour": "red", "at": []}', "'job'"),
        ('{"job": "train", "at": []}', "'colour'"),
        ('{"job": "train", "colour": "red"}', "'at'"),
        ('{"job": "train", "colour": "red", "at": [["orders", 0]]}', "missing 1 required"),
        ('{"job": "train", "colour": "red", "at": [["orders", 0, "soon"]]}', "['orders', 0, 'soon']"),
        ('{"job": "train", "colour": "red", "at": [["orders", 0.5, 1050]]}', "['orders', 0.5, 1050]"),
        ('{"job": "train", "colour": "red", "at": [[7, 0, 1050]]}', "[7, 0, 1050]"),
    ],
)
def test_a_file_that_is_not_as_the_job_writes_it_is_refused_whole(content: str, told: str, tmp_path: Path) -> None:
    folder = toy(tmp_path)
    (folder / FILE).write_text(content)

    with pytest.raises(CheckpointError, match="Nothing was used") as refused:
        read_checkpoint(str(folder))
    assert told in refused.value.problem
    assert FILE in refused.value.problem


def test_it_is_found_below_a_root(tmp_path: Path) -> None:
    folder = toy(tmp_path)

    assert find_checkpoints(str(tmp_path)).uris == (str(folder),)


def test_it_is_compared_and_the_file_of_that_is_read_again(tmp_path: Path) -> None:
    made = compared(tmp_path)

    first = made.partitions[0]
    assert (first.source, first.topic_partition, first.old_offset) == (SOURCE, ("orders", 0), 1050)
    assert {row.exactness for row in made.partitions} <= {Exactness.CLAIMED, Exactness.UNKNOWN}
    assert made.checkpoint is not None
    assert made.checkpoint.details == ToyDetails(colour="red")
    assert files.load(files.dump(made), "comparison", subject="it") == made


def test_it_is_offered_the_ways_that_are_for_every_engine(tmp_path: Path) -> None:
    ways = {each.kind.name: each for each in judge_strategies(proven(tmp_path), scene.migration())}

    assert [name for name in ways if name in {"toy", "consumer-group"}] == ["toy", "consumer-group"]
    assert {each.kind.engine for each in ways.values()} <= {TOY.name, None}
    assert ways["toy"].applies
    assert ways["consumer-group"].applies


def test_it_is_drafted_and_the_plan_is_read_again(tmp_path: Path) -> None:
    plan = scene.drafted(proven(tmp_path), CSV, scene.ETL)

    assert plan.requirements.engine == "toy"
    assert plan.prediction.told == "Every number means the same position on the new cluster."
    assert read_plan(files.dump(plan).encode(), subject="the plan") == plan


@with_cases(
    ("target", "told"),
    [
        ("spark-checkpoint", "The checkpoint is one of toy, not of Spark."),
        ("flink-savepoint", "The checkpoint is one of toy, not of Flink."),
        ("starting-offsets", "A job of Toy cannot be told to begin at offsets."),
    ],
)
def test_targets_of_other_engines_refuse_it(target: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=told):
        scene.drafted(proven(tmp_path), Target(kind=target))


def test_it_cannot_be_exported_in_the_words_of_another_engine(tmp_path: Path) -> None:
    plan = scene.drafted(proven(tmp_path), CSV)

    with pytest.raises(PlanError, match="a job that can be told to begin at offsets, found one of Toy"):
        starting_offsets(plan)


def test_it_is_applied_and_verified(tmp_path: Path) -> None:
    staged = stage(tmp_path, CSV, TO_GROUP, source=toy(tmp_path))

    shown = dry_run(staged.order(), staged.tools())
    apply(staged.order(), staged.receipt, staged.tools())

    assert [each.target for each in shown.previews] == [CSV, TO_GROUP]
    assert (tmp_path / "out" / "copy" / "positions.csv").read_text() == "orders,0,1053\norders,1,1053\n"
    assert {key: at for key, (at, _) in staged.groups.at().items()} == {("orders", 0): 1053, ("orders", 1): 1053}
    receipt = read_receipt(staged.receipt)
    seen = verify(receipt, LiveReaders(migration=staged.migration), verified_at="2026-11-21T12:00:00Z")
    assert {each.turnout for each in seen.positions if each.target == CSV} == {Turnout.CONFIRMED}


def test_a_toy_that_went_on_since_is_not_applied(tmp_path: Path) -> None:
    staged = stage(tmp_path, CSV, source=toy(tmp_path))
    (staged.source / FILE).write_text(json.dumps({"job": "train", "colour": "red", "at": [["orders", 0, 2000]]}))

    with pytest.raises(StalePlanError, match=r"positions\.json"):
        apply(staged.order(), staged.receipt, staged.tools())
    assert not (tmp_path / "out").exists()


def test_a_folder_that_two_engines_recognise_is_refused_by_both_their_names(tmp_path: Path) -> None:
    folder = toy(tmp_path)
    (folder / "offsets").mkdir()
    (folder / "commits").mkdir()

    with pytest.raises(NotACheckpointError) as refused:
        read_checkpoint(str(folder))
    assert refused.value.problem == (
        f"{folder}: expected one checkpoint of {registry.labels()}, found what is the checkpoint folder of a "
        "Spark query and the folder of a toy at once ('commits', 'offsets', 'positions.json'). No position was read."
    )
    assert all(engine.label in registry.labels() for engine in registry.engines())
    assert refused.value.fix == "Leave in it the files of one engine only."


def test_without_its_line_its_plan_and_its_comparison_are_refused_by_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = proven(tmp_path)
    plan, comparison = (files.dump(each).encode() for each in (scene.drafted(made, CSV), made))
    monkeypatch.delitem(ENGINES, TOY.name)

    with pytest.raises(PlanError) as of_plan:
        read_plan(plan, subject="plan.json")
    assert of_plan.value.problem == (
        f"plan.json: expected the plan of a checkpoint of {registry.labels()}, found one of 'toy', which this release "
        "does not know. Nothing was used from it."
    )
    with pytest.raises(FileError, match=f"Engine 'toy': this release reads checkpoints of {registry.labels('and')}"):
        files.load(comparison, "comparison", subject="comparison.json")
    assert of_plan.value.fix == "Use the release of Offsetwise that wrote the file."
    with pytest.raises(NotACheckpointError, match=r"another folder \('positions.json'\)"):
        read_checkpoint(str(tmp_path / "toys" / "train"))
