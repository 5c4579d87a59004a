"""Whole applications, killed with SIGKILL or raced against each other, one forked process each.

    python -m tests.apply.run_gates kills|race FOLDER PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for all, n for every n-th.
Prints one JSON object: how many, seconds, and what did not hold. The group's commits stand in a file, so that they
outlive a process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from offsetwise.apply import back
from offsetwise.apply.run import apply, read_receipt
from offsetwise.errors import ApplyError
from offsetwise.model import GroupOffset, GroupState, StepState, TopicPartition, Turnout
from offsetwise.verify import verify
from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.apply.plans import COPY, IN_PLACE, files_of
from tests.apply.worlds import TO_GROUP, Groups, Stage, stage
from tests.test_verify import Eyes

PROCESSES = 20
ROUNDS = 50
WON, FOUND, REFUSED = 0, 10, 11
"""Exit codes of a racer: it wrote, it found the receipt, it was told that another one is at work."""


class FileGroups(Groups):
    """Groups whose commits stand in a file. A commit can take its process with it, before or after it was done."""

    def __init__(self, path: Path, start: Groups) -> None:
        super().__init__()
        self._path = path
        self.die: str | None = None
        if not path.exists():
            self._store({name: list(held.values()) for name, held in start.offsets.items()})

    def one(self, group: str) -> GroupState:
        held = json.loads(self._path.read_text())["groups"].get(group, [])
        return GroupState(
            name=group, state="Empty", type="Classic", offsets=tuple(GroupOffset(**entry) for entry in held)
        )

    def commit_one(self, group: str, offsets: tuple[GroupOffset, ...]) -> Mapping[TopicPartition, str]:
        if self.die == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        held = {(one.topic, one.partition): one for one in self.one(group).offsets}
        held |= {(one.topic, one.partition): one for one in offsets}
        self._store({group: list(held.values())}, commits=self.count + 1)
        if self.die == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return {}

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return int(json.loads(self._path.read_text())["commits"])

    def _store(self, groups: dict[str, list[GroupOffset]], commits: int = 0) -> None:
        fields = ("topic", "partition", "offset", "leader_epoch", "metadata")
        body = {name: [{f: getattr(one, f) for f in fields} for one in held] for name, held in groups.items()}
        made = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        made.write_text(json.dumps({"groups": body, "commits": commits}))
        made.rename(self._path)


def staged(folder: Path) -> tuple[Stage, FileGroups]:
    """Lay out a plan with a copy, an edit in place and a group."""
    folder.mkdir()
    made = stage(folder, COPY, IN_PLACE, TO_GROUP)
    groups = FileGroups(folder / "groups.json", made.groups)
    made.groups = made.world.groups = groups
    return made, groups


def died(action: Callable[[], object]) -> bool:
    """Do something in a process of its own; say whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - it is told by its exit code
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0 or os.WIFSIGNALED(status), f"the process failed instead of dying: {status}"
    return status != 0


def must_be_whole(made: Stage) -> list[str]:
    """Go on after a kill, look, take back, and say what is not right."""
    before = files_of(made.folder / "pristine")
    done = apply(made.order(), made.receipt, made.tools(UnsyncedDisk())).receipt
    wrong = [f"{step.target} is {step.state}" for step in done.steps if step.state is not StepState.DONE]
    wrong += [] if read_receipt(made.receipt) == done else ["the receipt reads otherwise"]
    seen = verify(done, Eyes(made), verified_at="now")
    wrong += [each.told for each in seen.positions if each.turnout is not Turnout.CONFIRMED]
    back.rollback(made.receipt, made.migration, made.tools(UnsyncedDisk()))
    wrong += [] if files_of(made.source) == before else ["the checkpoint is not as before"]
    wrong += [] if not Path(made.output or "").exists() else ["the copy is still there"]
    wrong += [] if {one.offset for one in made.groups.one("etl").offsets} == {7} else ["the group is not as before"]
    return wrong


def kills(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill an application at its calls to the disk, and at its commit."""
    count, wrong = 0, []
    at = 1 + rng.randrange(part)
    in_commit = ["before", "after"]
    while True:
        made, groups = staged(folder / f"{count}-{at}-{len(in_commit)}")
        (made.folder / "pristine").mkdir()
        for path, data in files_of(made.source).items():
            (made.folder / "pristine" / path).parent.mkdir(parents=True, exist_ok=True)
            (made.folder / "pristine" / path).write_bytes(data)
        groups.die = in_commit.pop() if in_commit else None
        disk = DeadlyDisk(at if groups.die is None else 0)
        if not died(lambda made=made, disk=disk: apply(made.order(), made.receipt, made.tools(disk))):  # type: ignore[misc]
            break
        count += 1
        what = f"killed at call {at}" if groups.die is None else f"killed {groups.die} the commit"
        at += part if groups.die is None else 0
        groups.die = None
        wrong += [f"{what}: {told}" for told in must_be_whole(made)]
    return count, wrong


def race(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str]]:
    """Let many apply one plan at once."""
    wrong = []
    rounds = max(2, ROUNDS // part)
    for number in range(rounds):
        made, groups = staged(folder / str(number))
        delays = [rng.random() * 0.05 for _ in range(PROCESSES)]
        children = [_racer(made, delay) for delay in delays]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if codes.count(WON) != 1 or set(codes) - {WON, FOUND, REFUSED} or groups.count != 1:
            wrong.append(f"round {number}: {codes}, {groups.count} commits")
    return rounds * PROCESSES, wrong


def _racer(made: Stage, delay_s: float) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        time.sleep(delay_s)
        code = FOUND if apply(made.order(), made.receipt, made.tools(UnsyncedDisk())).already else WON
    except ApplyError as error:
        held = "held by another process" in error.problem
        code = REFUSED if held else 2
        if not held:
            print(error, file=sys.stderr)
    except BaseException as error:  # noqa: BLE001 - it is told by its exit code
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def main(gate: str, folder: str, part: str, seed: str) -> None:
    """Run one gate."""
    began = time.monotonic()
    done = {"kills": kills, "race": race}[gate](Path(folder), int(part), random.Random(int(seed)))
    print(json.dumps({"count": done[0], "seconds": round(time.monotonic() - began, 1), "wrong": done[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
