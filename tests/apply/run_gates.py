"""Whole applications, killed with SIGKILL or raced against each other, one forked process each.

    python -m tests.apply.run_gates kills|race FOLDER PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for all, n for every n-th.
Prints one JSON object: how many, seconds, and what did not hold. The groups' commits stand in a file, so that they
outlive a process.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from offsetwise.apply import reversal
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply
from offsetwise.apply.verification import verify
from offsetwise.errors import ApplyError
from offsetwise.model import GroupOffset, GroupState, StepState, TopicPartition, Turnout
from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.apply.plans import COPY, IN_PLACE, files_of
from tests.apply.worlds import TO_GROUP, Groups, Stage, stage

GROUPS = tuple(replace(TO_GROUP, group=name) for name in ("etl", "billing", "audit"))
PROCESSES = 20
ROUNDS = 50
WON, FOUND, REFUSED = 0, 10, 11
"""Exit codes of a racer: it wrote, it found the receipt, it was told that another one is at work."""


class FileGroups(Groups):
    """Groups whose commits stand in a file. A commit can take its process with it, before or after it was done.

    `die` counts both sides of every commit: 1 is before the first, 2 after it, 3 before the second; 0 is never.
    """

    def __init__(self, path: Path, start: Groups) -> None:
        super().__init__()
        self._path = path
        self.die = 0
        if not path.exists():
            self._store({name: _plain(held.values()) for name, held in start.offsets.items()})

    def one(self, group: str) -> GroupState:
        held = json.loads(self._path.read_text())["groups"].get(group, [])
        return GroupState(
            name=group, state="Empty", type="Classic", offsets=tuple(GroupOffset(**entry) for entry in held)
        )

    def commit_one(self, group: str, offsets: tuple[GroupOffset, ...]) -> Mapping[TopicPartition, str]:
        self._side()
        held = {one.topic_partition: one for one in self.one(group).offsets}
        held |= {one.topic_partition: one for one in offsets}
        self._store(self.all | {group: _plain(held.values())}, commits=self.count + 1)
        self._side()
        return {}

    def _side(self) -> None:
        self.die -= 1
        if self.die == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def all(self) -> dict[str, list[dict[str, Any]]]:
        """Everything that is committed: offset, metadata and epoch."""
        held: dict[str, list[dict[str, Any]]] = json.loads(self._path.read_text())["groups"]
        return {name: sorted(each, key=lambda one: (one["topic"], one["partition"])) for name, each in held.items()}

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return int(json.loads(self._path.read_text())["commits"])

    def _store(self, groups: dict[str, list[dict[str, Any]]], commits: int = 0) -> None:
        made = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        made.write_text(json.dumps({"groups": groups, "commits": commits}))
        made.rename(self._path)


def _plain(offsets: Iterable[GroupOffset]) -> list[dict[str, Any]]:
    fields = ("topic", "partition", "offset", "leader_epoch", "metadata")
    return [{field: getattr(one, field) for field in fields} for one in offsets]


def staged(folder: Path) -> tuple[Stage, FileGroups]:
    """Lay out a plan with a copy, an edit in place and three groups."""
    folder.mkdir()
    made = stage(folder, COPY, IN_PLACE, *GROUPS)
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


class Kills:
    """Kills one application after another, going on and rolling back as well."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.random = rng
        self.count = 0
        self.wrong: list[str] = []
        self.calls: dict[str, int] = {}
        """How many calls to the disk an undisturbed run of each verb made last."""

    def one(self, *, at: int = 0, side: int = 0) -> bool:
        """Kill an application at a call, or at one side of a commit; False where it ended before."""
        folder = self.folder / "one"
        made, groups = staged(folder)
        source, committed = files_of(made.source), groups.all
        groups.die = side
        if not self._killed(lambda disk: apply(made.order(), made.receipt, made.tools(disk)), at, side=side):
            shutil.rmtree(folder)
            return False
        groups.die = 0
        what = f"killed at call {at}" if side == 0 else f"killed at side {side} of the commits"
        self._again("apply", lambda disk: apply(made.order(), made.receipt, made.tools(disk)))
        done = read_receipt(made.receipt)
        wrong = [f"{step.target} is {step.state}" for step in done.steps if step.state is not StepState.DONE]
        seen = verify(done, made.world, verified_at="now")
        wrong += [each.told for each in seen.positions if each.turnout is not Turnout.CONFIRMED]
        wrong += [] if groups.count >= len(GROUPS) else ["a group was not committed"]
        self._again("rollback", lambda disk: reversal.rollback(made.back(), made.tools(disk)))
        wrong += [] if files_of(made.source) == source else ["the checkpoint is not as before"]
        wrong += [] if not Path(made.output or "").exists() else ["the copy is still there"]
        wrong += [] if groups.all == committed else ["the groups are not as before"]
        self.wrong += [f"{what}: {told}" for told in wrong]
        shutil.rmtree(folder)
        return True

    def _again(self, verb: str, action: Callable[[DeadlyDisk], object]) -> None:
        """Begin, be killed at some call, and do it again until the end."""
        if verb in self.calls:
            self._killed(action, 1 + self.random.randrange(self.calls[verb]))
        counting = DeadlyDisk(0)
        action(counting)
        self.calls[verb] = max(1, counting.calls)

    def _killed(self, action: Callable[[DeadlyDisk], object], at: int, *, side: int = 0) -> bool:
        killed = died(lambda: action(DeadlyDisk(0 if side else at)))
        self.count += killed
        return killed


def kills(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill applications at both sides of every commit, and at their calls to the disk."""
    killing = Kills(folder, rng)
    for side in range(1, 2 * len(GROUPS) + 1):
        assert killing.one(side=side)
    at = 1 + rng.randrange(part)
    while killing.one(at=at):
        at += part
    return killing.count, killing.wrong


def race(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str]]:
    """Let many apply one plan at once."""
    wrong = []
    rounds = ceil(ROUNDS / part)
    for number in range(rounds):
        made, groups = staged(folder / str(number))
        delays = [rng.random() * 0.05 for _ in range(PROCESSES)]
        children = [_racer(made, delay) for delay in delays]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if codes.count(WON) != 1 or set(codes) - {WON, FOUND, REFUSED} or groups.count != len(GROUPS):
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
    gc.freeze()  # a child that collects would copy the memory it shares with its parent
    done = {"kills": kills, "race": race}[gate](Path(folder), int(part), random.Random(int(seed)))
    print(json.dumps({"count": done[0], "seconds": round(time.monotonic() - began, 1), "wrong": done[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
