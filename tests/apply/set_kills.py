"""Kills applications and rollbacks of a set of plans with SIGKILL, and lets 20 processes apply one set at once.

    python -m tests.apply.set_kills FOLDER kill|race PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for a kill at every call
that changes the disk, n for every n-th. Prints one JSON object: kills, winners, and what did not hold.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from offsetwise.api import live
from offsetwise.apply.disk import Disk
from offsetwise.errors import ApplyError
from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.apply.plans import STARTING, files_of
from tests.apply.sets import SetStage, staged_set

APPLIERS = 20
ROUNDS = 3
LOST, FAILED = 3, 1


class Arena:
    """A set of two plans that write a file each, to be applied, killed and looked at."""

    def __init__(self, folder: Path, part: int, seed: int) -> None:
        self.stage: SetStage = staged_set(folder, [(STARTING,), (STARTING,)])
        self.use(UnsyncedDisk())
        self.stage.sign()
        self.part = part
        self.random = random.Random(seed)
        self.kills = 0
        self.failures: list[str] = []
        self.plans = files_of(self.stage.home)
        self.apply(UnsyncedDisk())
        self.applied = files_of(self.stage.output)
        self.reset()

    def use(self, disk: Disk) -> None:
        live.tools_for = lambda *_: self.stage.tools(disk)

    def reset(self) -> None:
        """Begin anew."""
        shutil.rmtree(self.stage.output, ignore_errors=True)
        for path in self.stage.home.iterdir():
            if path.name not in self.plans:
                path.unlink()

    def apply(self, disk: Disk) -> None:
        self.use(disk)
        for outcome in self.stage.apply():
            if outcome.error is not None:
                raise outcome.error

    def roll_back(self, disk: Disk) -> None:
        self.use(disk)
        for outcome in self.stage.rollback():
            if outcome.error is not None:
                raise outcome.error

    def killed(self, action: Callable[[Disk], None], at: int) -> bool:
        """Do something in a process that dies at a call; False where it ended before."""
        child = os.fork()
        if child == 0:
            try:
                action(DeadlyDisk(at))
            except BaseException as error:  # noqa: BLE001 - it is told by its exit code
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                os._exit(FAILED)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.kills += 1
            return True
        assert status == 0, f"the process failed instead of dying at call {at}"
        return False

    def kill_everywhere(self) -> None:
        """Kill applying and taking back at every call, and recover both ways."""
        for begin, action in ((False, self.apply), (True, self.roll_back)):
            for recover, expected in ((self.apply, self.applied), (self.roll_back, {})):
                if begin and recover == self.apply:
                    continue  # what was begun to be taken back is not applied again
                at = 1 + self.random.randrange(self.part)
                while self._survives(action, at, recover, expected, begun=begin):
                    at += self.part

    def _survives(
        self, action: Callable[[Disk], None], at: int, recover: Callable[[Disk], None], expected: object, *, begun: bool
    ) -> bool:
        self.reset()
        if begun:
            self.apply(UnsyncedDisk())
        try:
            if not self.killed(action, at):
                return False
            standing = files_of(self.stage.output)
            partial = {path: data for path, data in standing.items() if ".tmp-" not in path}
            assert partial.items() <= self.applied.items(), f"something else is there: {sorted(standing)}"
            recover(UnsyncedDisk())
            recover(UnsyncedDisk())
            assert files_of(self.stage.output) == expected, f"not as expected: {sorted(files_of(self.stage.output))}"
            assert {path: (self.stage.home / path).read_bytes() for path in self.plans} == self.plans, "a plan changed"
        except Exception as error:  # noqa: BLE001 - every failure is told
            told = f"{action.__name__} killed at {at}, {recover.__name__}"
            self.failures.append(f"{told}: {type(error).__name__}: {error}")
        return True

    def race(self) -> list[int]:
        """Let many processes apply the set at once; return how many of them did not fail, by round."""
        winners = []
        for number in range(ROUNDS):
            self.reset()
            gate, held = os.pipe()
            children = []
            for _ in range(APPLIERS):
                child = os.fork()
                if child == 0:
                    os.close(held)
                    os._exit(self._applied(gate))
                children.append(child)
            os.close(held)
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            os.close(gate)
            winners.append(codes.count(0))
            if set(codes) - {0, LOST}:
                self.failures.append(f"round {number}: exit codes {codes}")
            if files_of(self.stage.output) != self.applied:
                self.failures.append(f"round {number}: not what one process writes")
            for path in sorted(self.stage.home.glob("*.receipt.json.journal")):
                begun = path.read_bytes().count(b'"event":"begun"')
                if begun != 1:
                    self.failures.append(f"round {number}: {path.name} began {begun} times")
        return winners

    def _applied(self, gate: int) -> int:
        os.read(gate, 1)  # it ends when the parent lets all go at once
        try:
            self.apply(UnsyncedDisk())
        except ApplyError:
            return LOST
        except BaseException as error:  # noqa: BLE001 - it is told by its exit code
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return FAILED
        return 0


def main() -> None:
    """Run one kind."""
    folder, kind, part, seed = sys.argv[1:]
    arena = Arena(Path(folder), int(part), int(seed))
    gc.freeze()  # a child that collects would copy the memory it shares with its parent
    winners: list[int] = []
    if kind == "kill":
        arena.kill_everywhere()
    else:
        winners = arena.race()
    print(json.dumps({"kills": arena.kills, "winners": winners, "failures": arena.failures}))


if __name__ == "__main__":
    main()
