"""Applications that end transactions, killed with SIGKILL or raced against each other, one forked process each.

    python -m tests.transactions.settling_gates kills|race FOLDER PART SEED

Run in a process of its own without threads, so that forking it is cheap and safe. PART is 1 for all, n for every n-th.
Prints one JSON object: how many, seconds, and what did not hold.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply
from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import Settlement
from tests.apply.faults import DeadlyDisk, UnsyncedDisk
from tests.transactions.settling import Staged, stage

ROUNDS = 20
PROCESSES = 20
TRANSACTIONS = 23


def wrong(made: Staged) -> list[str]:
    """Say which transaction did not end as planned; nothing of one that is still open."""
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


def kills(folder: Path, part: int, rng: random.Random) -> tuple[int, list[str]]:
    """Kill at every part-th call to the disk and on both sides of every request, and again while going on."""
    count, failures = 0, []
    for size in range(1, TRANSACTIONS + 1):
        for sides in (False, True):
            at = 1 + rng.randrange(part)
            while True:
                shutil.rmtree(folder, ignore_errors=True)
                made = stage(folder, commits=size - size // 2, aborts=size // 2)
                killed = _killed(made, at, sides=sides)
                if not killed:
                    break
                count += 1
                again = 1 + rng.randrange(2 * size)
                count += _killed(made, again, sides=not sides)
                what = f"{size} transactions, killed at {'side' if sides else 'call'} {at}, then at {again}"
                failures += [f"{what}: {each}" for each in wrong(made)]
                try:
                    apply(made.order(), made.receipt, made.tools(UnsyncedDisk()))
                    open_ = [name for name, held in made.sink.ids.items() if held.visible is None]
                    failures += [f"{what}: {each}" for each in (*wrong(made), *open_)]
                    read_receipt(made.receipt)
                except Exception as error:  # noqa: BLE001 - every failure is told
                    failures.append(f"{what}: {type(error).__name__}: {error}")
                at += part
    return count, failures


def _killed(made: Staged, at: int, *, sides: bool) -> bool:
    made.sink.die = at if sides else 0
    disk = DeadlyDisk(0 if sides else at)
    killed = died(lambda: apply(made.order(), made.receipt, made.tools(disk)))
    made.sink.die = 0
    return killed


def race(folder: Path, part: int) -> tuple[int, list[str]]:
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
    return count, failures


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
    number, told = kills(where, nth, random.Random(seed)) if name == "kills" else race(where, nth)
    print(json.dumps({"count": number, "seconds": time.monotonic() - began, "wrong": told}))
