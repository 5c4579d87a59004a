"""What the gates put every writer through: apply, go on, roll back, and what must hold after any interruption."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import offsetwise
from offsetwise.apply.disk import Disk
from offsetwise.apply.writing import Writer
from offsetwise.model import Plan, ReceiptStep, StepState, Target
from offsetwise.targets import (
    AtTimestamp,
    FlinkSavepointConverted,
    FlinkSavepointFromPositions,
    FlinkSavepointWithoutSources,
    StartingPosition,
)
from tests.apply.faults import UnsyncedDisk
from tests.apply.plans import (
    COPY,
    IN_PLACE,
    PENDING,
    POLLUTED,
    SAVEPOINT,
    SEEDED,
    STARTING,
    STATE,
    WRITERS,
    aged,
    context,
    drafted,
    files_of,
    flink_savepoint,
    in_place,
    journal,
    seeded,
    spark_checkpoint,
    starting_offsets,
    tree_hash,
)
from tests.plugins.kinesis.targets.kinesis_plans import ARN, ASKED, back, shard_plan, with_child
from tests.plugins.kinesis.test_checkpoints import AWSLABS, DATA
from tests.plugins.spark.folders import SAMPLES

REWIND = Path(offsetwise.__file__).parent / "sample" / "checkpoints" / "orders"


@dataclass(frozen=True)
class Scenario:
    """One writer and one checkpoint."""

    writer: Writer
    target: Target
    original: Path
    rewind_to: int | None = None
    draft: Callable[[str], Plan] | None = None
    """Drafts its plan; None where every offset moves by the same number."""
    every: int = 1
    """One of how many kills is tried, times the part of the gates: a scenario with many steps takes long."""

    def stage(self, folder: Path) -> Stage:
        """Lay the checkpoint out in a folder, and apply once undisturbed to know what comes of it."""
        source = folder / "source"
        shutil.copytree(self.original, source)
        aged(source)
        shutil.copytree(source, folder / "pristine")
        draft = self.draft or partial(drafted, rewind_to=self.rewind_to)
        stage = Stage(scenario=self, folder=folder, plan=draft(str(source)))
        stage.before = tree_hash(source)
        stage.old = _seen(source)
        stage.apply(UnsyncedDisk())
        stage.new = stage.standing()
        stage.reset()
        return stage


TWO_SHARDS, LEGACY_CONSUMER = (
    DATA / "flink" / name for name in ("streams-source-5.1.0-two-shards", "legacy-consumer-4.3.0-two-shards")
)
OF_FL = replace(ASKED, stream_arn=f"{ARN}fl")


def _of_shards(target: Target, original: Path, **changes: Any) -> Scenario:
    return Scenario(
        WRITERS[target.kind], target, original, draft=lambda uri: shard_plan(uri, target, **changes), every=2
    )


SCENARIOS = {
    "copy": Scenario(spark_checkpoint, COPY, SAMPLES / PENDING),
    "copy of a polluted one": Scenario(spark_checkpoint, COPY, SAMPLES / POLLUTED),
    "copy with state": Scenario(spark_checkpoint, COPY, SAMPLES / STATE, every=10),
    "in place": Scenario(in_place, IN_PLACE, SAMPLES / PENDING),
    "in place, polluted": Scenario(in_place, IN_PLACE, SAMPLES / POLLUTED),
    "in place, back to batch 3": Scenario(in_place, IN_PLACE, REWIND, rewind_to=3),
    "seeded": Scenario(seeded, SEEDED, SAMPLES / POLLUTED),
    "Flink savepoint": Scenario(flink_savepoint, SAVEPOINT, SAMPLES / "flink-2.2-enumerator-v3"),
    "savepoint without sources": Scenario(
        WRITERS["flink-savepoint-without-sources"],
        FlinkSavepointWithoutSources(),
        SAMPLES / "flink-2.2-enumerator-v3",
    ),
    "startingOffsets": Scenario(starting_offsets, STARTING, SAMPLES / PENDING),
    "positions file": Scenario(
        WRITERS["positions-file"],
        Target(kind="positions-file"),
        SAMPLES.parent / "positions" / "group",
        draft=lambda uri: drafted(f"{uri}/offsets.csv"),
    ),
    "copy of Kinesis": Scenario(
        spark_checkpoint, COPY, AWSLABS, draft=lambda uri: with_child(shard_plan(uri, COPY, move=back), 2), every=2
    ),
    "Flink savepoint of Kinesis": Scenario(
        flink_savepoint, SAVEPOINT, TWO_SHARDS, draft=lambda uri: shard_plan(uri, SAVEPOINT, move=back), every=2
    ),
    "savepoint of positions": _of_shards(FlinkSavepointFromPositions(), TWO_SHARDS, savepoint=OF_FL),
    "savepoint converted": _of_shards(FlinkSavepointConverted(), LEGACY_CONSUMER),
    "startingposition": _of_shards(StartingPosition(), AWSLABS),
    "start time": _of_shards(AtTimestamp(), AWSLABS),
}


@dataclass
class Stage:
    """A scenario in a folder, to be applied, broken and looked at."""

    scenario: Scenario
    folder: Path
    plan: Plan
    before: str = ""
    old: dict[str, bytes] | None = None
    new: dict[str, bytes] | None = None

    @property
    def name(self) -> str:
        """What the scenario is called."""
        return next(name for name, each in SCENARIOS.items() if each is self.scenario)

    @property
    def source(self) -> Path:
        """The checkpoint."""
        return self.folder / "source"

    @property
    def in_place(self) -> bool:
        """Whether the checkpoint itself is edited."""
        return self.scenario.writer is in_place

    @property
    def makes_a_folder(self) -> bool:
        """Whether a folder appears."""
        return not self.in_place and self.new is not None and "" not in self.new

    def reset(self) -> None:
        """Begin anew."""
        for path in self.folder.glob("*.journal"):
            path.unlink()
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        if self.in_place:
            shutil.rmtree(self.source)
            shutil.copytree(self.folder / "pristine", self.source)

    def apply(self, disk: Disk, *, name: str = "receipt.json.journal") -> ReceiptStep:
        """Apply, or go on."""
        with journal(self.folder, disk=disk, name=name) as one:
            made = self.scenario.writer.write(
                self.plan, self.scenario.target, context(self.folder, journal=one, disk=disk)
            )
        assert isinstance(made, ReceiptStep)
        return made

    def roll_back(self, disk: Disk) -> None:
        """Roll back from wherever the journal is."""
        with journal(self.folder, disk=disk) as one:
            record = one.record(0)
            step = record.done or record.intended
            if step is not None:
                undone = self.scenario.writer.undo(self.plan, step, context(self.folder, journal=one, disk=disk))
                assert undone.state is StepState.UNDONE

    def standing(self) -> dict[str, bytes] | None:
        """Return what Spark, or a person, sees at the target; None where nothing is."""
        if self.in_place:
            return _seen(self.source)
        place = self.folder / "out" / "copy"
        if place.is_file():
            return {"": place.read_bytes()}
        return _seen(place) if place.is_dir() else None

    def must_be_whole_or_absent(self) -> None:
        """After any interruption."""
        found = self.standing()
        if self.in_place:
            guarded = any(data.startswith(b"offsetwise is editing") for data in (found or {}).values())
            assert guarded or found in (self.old, self.new), "half edited, and no guard"
        else:
            assert found is None or found == self.new, "a partial copy"
            assert tree_hash(self.source) == self.before, "the source has changed"

    def must_be_applied(self) -> None:
        """After going on, nothing is left but what was to be made."""
        assert self.standing() == self.new, "not what an undisturbed run makes"
        if self.in_place:
            left = [path.name for path in self.source.glob(".offsetwise-*/*")]
            assert set(left) <= {"before", "guard"}, left
        else:
            assert [path.name for path in (self.folder / "out").iterdir()] == ["copy"], "something is left beside it"
            assert tree_hash(self.source) == self.before, "the source has changed"

    def must_be_as_before(self) -> None:
        """After a rollback."""
        assert tree_hash(self.source) == self.before, "the source is not as it was"
        out = self.folder / "out"
        assert not out.exists() or not list(out.iterdir()), "something is left"


def _seen(folder: Path) -> dict[str, bytes]:
    fresh = (folder / "sources").exists() and not (folder / "offsets").exists()
    return {
        # Every fresh checkpoint has an id of its own.
        path: b"an id" if fresh and path == "metadata" else data
        for path, data in files_of(folder).items()
        if not path.startswith(".offsetwise-")
    }
