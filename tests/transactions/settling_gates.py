"""Applications that end transactions, killed with SIGKILL or raced against each other, one forked process each.

    python -m tests.transactions.settling_gates kills|race FOLDER PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for all, n for every n-th.
Prints one JSON object: how many, seconds, what did not hold, and how often each point was struck first.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import Settlement
from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.transactions.settling import Staged, stage

ROUNDS = 20
PROCESSES = 20
TRANSACTIONS = 23
OFTEN = 50
T = TypeVar("T")


def wrong(made: Staged) -> list[str]:
    """Describe which transaction did not end as planned; nothing of one that is still open."""
    ids = made.sink.ids
    return [
        f"{each.name}: {held}"
        for each in made.plan.transactions
        if (held := ids[str(each.transactional_id)]).visible not in (None, each.decision is Settlement.COMMIT)
        or held.epoch > each.epoch + 1
    ]


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


class Noting(UnsyncedDisk):
    """Notes what each call to the disk is, so that a kill at the k-th can be told."""

    def __init__(self) -> None:
        self.points: list[str] = []
        self._line = ""

    def call(self, name: str, path: str, action: Callable[[], T]) -> T:
        self.points.append(f"{name} {Path(path).name} {self._line}".strip())
        return super().call(name, path, action)

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        self._line = json.loads(bytes(data)).get("event", "") if path.endswith(".journal") else ""
        return super()._write(fd, data, path)


@dataclass(frozen=True, kw_only=True)
class Strike:
    """Where an application is killed: at a call to the disk, or on one side of a request."""

    size: int
    """How many transactions its plan ends."""
    sides: bool
    at: int
    """Counted from 1."""
    point: str
    """What is done there, whatever the plan's size."""


def strikes(folder: Path, size: int) -> Iterator[Strike]:
    """Yield every place at which an application can be killed that ends so many transactions."""
    made, disk = staged(folder, size), Noting()
    apply(made.order(), made.receipt, made.tools(disk))
    for at, point in enumerate(disk.points, 1):
        yield Strike(size=size, sides=False, at=at, point=point)
    words = [f"{when} a request to {each.decision}" for each in made.plan.transactions for when in ("before", "after")]
    for at, point in enumerate(words, 1):
        yield Strike(size=size, sides=True, at=at, point=point)


def staged(folder: Path, size: int) -> Staged:
    shutil.rmtree(folder, ignore_errors=True)
    return stage(folder, commits=size - size // 2, aborts=size // 2)


def kills(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str], Counter[str]]:
    """Kill at every part-th call to the disk and on both sides of every request, and again while going on.

    In full, what is done once in an application is struck as often as `OFTEN` too.
    """
    known = [each for size in range(1, TRANSACTIONS + 1) for each in strikes(folder, size)]
    chosen = known[rng.randrange(part) :: part]
    if part == 1:
        for point in {each.point for each in known}:
            there = [each for each in known if each.point == point]
            chosen += islice(cycle(there), max(0, OFTEN - len(there)))
    count, failures = 0, []
    for strike in chosen:
        made = staged(folder, strike.size)
        assert _killed(made, strike.at, sides=strike.sides), strike
        again = 1 + rng.randrange(2 * strike.size)
        count += 1 + _killed(made, again, sides=not strike.sides)
        what = f"{strike}, then at {again}"
        failures += [f"{what}: {each}" for each in wrong(made)]
        try:
            apply(made.order(), made.receipt, made.tools(UnsyncedDisk()))
            open_ = [name for name, held in made.sink.ids.items() if held.visible is None]
            failures += [f"{what}: {each}" for each in (*wrong(made), *open_)]
            read_receipt(made.receipt)
        except Exception as error:  # noqa: BLE001 - every failure is told
            failures.append(f"{what}: {type(error).__name__}: {error}")
    return count, failures, Counter(each.point for each in chosen)


def _killed(made: Staged, at: int, *, sides: bool) -> bool:
    made.sink.die = at if sides else 0
    disk = DeadlyDisk(0 if sides else at)
    killed = died(lambda: apply(made.order(), made.receipt, made.tools(disk)))
    made.sink.die = 0
    return killed


def race(folder: Path, part: int) -> tuple[int, list[str], Counter[str]]:
    """Let processes apply one plan at once, half of them with a receipt of their own."""
    count, failures = 0, []
    for number in range(max(1, ROUNDS // part)):
        shutil.rmtree(folder, ignore_errors=True)
        made = stage(folder)
        children = [os.fork() or _race(made, each) for each in range(PROCESSES)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        count += len(codes)
        open_ = [name for name, held in made.sink.ids.items() if held.visible is None]
        # One ends a transaction; another that was about to may be told that it is over, and then goes on by its state.
        if any(code not in (0, 3) for code in codes) or 0 not in codes:
            failures.append(f"round {number}: exit codes {sorted(codes)}")
        failures += [f"round {number}: {each}" for each in (*wrong(made), *open_)]
    return count, failures, Counter()


def _race(made: Staged, number: int) -> int:
    receipt = made.receipt if number % 2 else f"{made.receipt}.{number}"
    try:
        apply(made.order(), receipt, made.tools(UnsyncedDisk()))
    except (ApplyError, StalePlanError):
        os._exit(3)
    except BaseException as error:  # noqa: BLE001 - it is told by its exit code
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    name, where, nth, seed = sys.argv[1], Path(sys.argv[2]) / "one", int(sys.argv[3]), int(sys.argv[4])
    began = time.monotonic()
    number, told, struck = kills(where, nth, random.Random(seed)) if name == "kills" else race(where, nth)
    print(json.dumps({"count": number, "seconds": time.monotonic() - began, "wrong": told, "struck": struck}))
