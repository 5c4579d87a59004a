"""Kills applications with SIGKILL, one forked process each, and lets them be gone on with or rolled back.

    python -m tests.apply.kills SCENARIO FOLDER PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for all, n for every n-th.
Every kill is done twice: once to go on from it undisturbed, and once to kill the going on as well, at a call that the
seed chooses among those it makes. Prints one JSON object: kills, how many of them during a recovery, seconds of the
clock and of the processor, and what did not hold.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.apply.scenarios import SCENARIOS, Stage


class Arena:
    """Counts kills."""

    def __init__(self, stage: Stage, part: int, seed: int) -> None:
        self.stage = stage
        self.part = part
        self.random = random.Random(seed)
        self.kills = 0
        self.kills_in_recovery = 0
        self.failures: list[str] = []

    def killed(self, action: Callable[[DeadlyDisk], object], at: int) -> bool:
        """Do something in a process that dies at a call; False where it ended before."""
        child = os.fork()
        if child == 0:
            try:
                action(DeadlyDisk(at))
            except BaseException as error:  # noqa: BLE001 - it is told by its exit code
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.kills += 1
            return True
        assert status == 0, f"the process failed instead of dying at call {at}"
        return False

    def steps(self) -> Iterator[int]:
        """Yield the calls to die at; the caller stops where nothing died."""
        at = 1 + self.random.randrange(self.part)
        while True:
            yield at
            at += self.part

    def run(self) -> None:
        """Kill everything everywhere."""
        stage = self.stage
        recoveries: tuple[tuple[str, Callable[[DeadlyDisk], object], Callable[[], None]], ...] = (
            ("going on", stage.apply, stage.must_be_applied),
            ("rolling back", stage.roll_back, stage.must_be_as_before),
        )
        for name, recover, check in recoveries:
            for at in self.steps():
                if not self._one(f"apply killed at {at}, {name}", self._nothing, stage.apply, at, recover, check):
                    break
        for at in self.steps():
            if not self._one(
                f"rollback killed at {at}, rolling back",
                lambda: stage.apply(UnsyncedDisk()),
                stage.roll_back,
                at,
                stage.roll_back,
                stage.must_be_as_before,
            ):
                break

    def _nothing(self) -> None:
        return None

    def _one(
        self,
        what: str,
        begin: Callable[[], object],
        action: Callable[[DeadlyDisk], object],
        at: int,
        recover: Callable[[DeadlyDisk], object],
        check: Callable[[], None],
    ) -> bool:
        """Kill once and recover; then kill in the same place again, and the recovery as well."""
        calls = 0
        for second in (False, True):
            during = 1 + self.random.randrange(calls) if second and calls else 0
            try:
                self.stage.reset()
                begin()
                if not self.killed(action, at):
                    return False
                self.stage.must_be_whole_or_absent()
                if during:
                    self.kills_in_recovery += self.killed(recover, during)
                    self.stage.must_be_whole_or_absent()
                counting = DeadlyDisk(0)
                recover(counting)
                calls = counting.calls
                check()
                if recover == self.stage.apply:
                    self.stage.roll_back(UnsyncedDisk())
                    self.stage.must_be_as_before()
            except Exception as error:  # noqa: BLE001 - every failure is told
                self.failures.append(f"{what}, recovery killed at {during}: {type(error).__name__}: {error}")
        return True


def main() -> None:
    """Run one scenario."""
    name, folder, part, seed = sys.argv[1:]
    begun = time.monotonic()
    arena = Arena(SCENARIOS[name].stage(Path(folder)), int(part), int(seed))
    gc.freeze()  # a child that collects would copy the memory it shares with its parent
    arena.run()
    told = {
        "kills": arena.kills,
        "in_recovery": arena.kills_in_recovery,
        "seconds": time.monotonic() - begun,
        "processor_seconds": sum(_used_s(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        "failures": arena.failures,
    }
    print(json.dumps(told))


def _used_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
