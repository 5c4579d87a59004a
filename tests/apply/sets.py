"""A set of plans in a world: each moves a recorded checkpoint of its own, all of them between the same two clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import offsetwise as ow
from offsetwise import files
from offsetwise.api import live
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.disk import Disk
from offsetwise.apply.run import Tools
from offsetwise.approval import write_approval, write_keys
from offsetwise.config import Migration
from offsetwise.model import PlanOfSet, PlanSet, Target
from offsetwise.model.digest import digest
from tests.apply.plans import files_of
from tests.apply.worlds import REVIEWER, Groups, Stage, World, stage, writers_of


@dataclass
class SetStage:
    """A set of plans in a folder, ready to be signed and applied."""

    folder: Path
    stages: tuple[Stage, ...]
    """One for each job, in the order of the set."""
    world: World
    groups: Groups
    migration: Migration

    @property
    def home(self) -> Path:
        """The folder of the set and its plans."""
        return self.folder / "set"

    @property
    def file(self) -> Path:
        return self.home / "plan-set.json"

    @property
    def approval(self) -> Path:
        return self.folder / "set.approval.json"

    @property
    def trusted(self) -> Path:
        return self.folder / "reviewer.pub"

    @property
    def output(self) -> Path:
        return self.folder / "out"

    def load(self) -> ow.PlanSet:
        """Read the set as a command does."""
        return ow.PlanSet.load(self.file, migration=ow.Migration(self.migration))

    def sign(self, **how: Any) -> None:
        """Let the reviewer sign the set."""
        self.approval.unlink(missing_ok=True)
        write_approval(self.approval, self.load().sign(REVIEWER, **how))

    def apply(self, **how: Any) -> tuple[ow.PlanOutcome[Any], ...]:
        """Apply the set with its approval."""
        given: dict[str, Any] = {"approvals": [self.approval], "trust": [self.trusted], "output": self.output}
        return self.load().apply(**(given | {"execute": True} | how))

    def rollback(self, **how: Any) -> tuple[ow.PlanOutcome[Any], ...]:
        """Take the set back with its approval."""
        given: dict[str, Any] = {"approvals": [self.approval], "trust": [self.trusted], "execute": True}
        return self.load().rollback(**(given | how))

    def tools(self, disk: Disk | None = None) -> Tools:
        return Tools(readers=self.world, writers=writers_of(self.groups), disk=disk or Disk())

    def use(self, patch: pytest.MonkeyPatch, disk: Disk | None = None) -> None:
        """Let commands and `import offsetwise` read and write this world."""
        patch.setattr(live, "tools_for", lambda *_: self.tools(disk))

    def receipt(self, job: int) -> Path:
        return self.home / f"checkpoint-job{job}.plan.receipt.json"

    def standing(self) -> dict[str, object]:
        """Return what stands at every target: of each group its offsets, of each file below the output its bytes."""
        return {**{name: self.groups.at(name) for name in self.groups.offsets}, **files_of(self.output)}


def staged_set(folder: Path, targets: Sequence[Sequence[Target]], **changes: Any) -> SetStage:
    """Lay out checkpoints, two clusters, their groups, and a set with a plan for each checkpoint.

    Args:
        folder: Where everything is.
        targets: What the plan of each job writes.
        changes: What is otherwise in the plan of a job, by its number.
    """
    stages = []
    for number, each in enumerate(targets):
        (folder / f"job{number}").mkdir()
        one = stage(folder / f"job{number}", *each)
        one.plan = replace(one.plan, **changes.get(f"job{number}", {}))
        stages.append(one)
    migration = Migration.model_validate(
        {
            "name": "test",
            "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
            "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
            "checkpoint_roots": [str(folder)],
            "write_roots": [str(folder)],
        }
    )
    groups = Groups(offsets={name: held for one in stages for name, held in one.groups.offsets.items()})
    readers = LiveReaders(migration=migration, progress=lambda *_: None)
    world = World(live=readers, clusters=dict(stages[0].world.clusters), groups=groups)
    made = SetStage(folder=folder, stages=tuple(stages), world=world, groups=groups, migration=migration)
    made.home.mkdir()
    write_set(made.home, {f"checkpoint job{number}": one.data for number, one in enumerate(stages)})
    write_keys(folder / "reviewer", REVIEWER)
    return made


def write_set(home: Path, plans: Mapping[str, bytes], *, migration: str = "test") -> None:
    """Write plans, by their jobs, and the set that names them."""
    entries = []
    for job, content in plans.items():
        file = f"{job.replace(' ', '-', 1)}.plan.json"
        (home / file).write_bytes(content)
        entries.append(PlanOfSet(job=job, file=file, digest=digest(content)))
    document = PlanSet(migration=migration, wave=None, plans=tuple(entries), refused=())
    (home / "plan-set.json").write_text(files.dump(document), encoding="utf-8")
