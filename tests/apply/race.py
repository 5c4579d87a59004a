"""Lets 20 processes apply one plan at once.

    python -m tests.apply.race SCENARIO FOLDER ROUNDS shared|own

`shared`: all with one journal; whoever comes while another one is at work is turned away, and whoever comes later finds
the step done, which is right and no win. `own`: a journal each.
Prints one JSON object: the number of winners per round, and what did not hold.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

from offsetwise.errors import OffsetwiseError
from tests.apply.faults import UnsyncedDisk
from tests.apply.scenarios import SCENARIOS, Stage

APPLIERS = 20
WON, LOST, FAILED = 0, 3, 1


class _Telling(UnsyncedDisk):
    """Knows whether anything was written down in a journal."""

    wrote = False

    def append(self, fd: int, data: bytes, path: str) -> None:
        super().append(fd, data, path)
        self.wrote = True


def _applied(stage: Stage, number: int, gate: int, *, shared: bool) -> int:
    disk = _Telling()
    os.read(gate, 1)  # it ends when the parent lets all go at once
    try:
        stage.apply(disk, name="receipt.json.journal" if shared else f"{number}.journal")
    except OffsetwiseError:
        return LOST
    except BaseException as error:  # noqa: BLE001 - it is told by its exit code
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    return WON if disk.wrote else LOST


def main() -> None:
    """Run the rounds."""
    name, folder, rounds, kind = sys.argv[1:]
    stage = SCENARIOS[name].stage(Path(folder))
    winners, failures = [], []
    gc.freeze()  # a child that collects would copy the memory it shares with its parent
    for number in range(int(rounds)):
        stage.reset()
        gate, held = os.pipe()
        children = []
        for applier in range(APPLIERS):
            child = os.fork()
            if child == 0:
                os.close(held)
                os._exit(_applied(stage, applier, gate, shared=kind == "shared"))
            children.append(child)
        os.close(held)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.close(gate)
        winners.append(codes.count(WON))
        if set(codes) - {WON, LOST}:
            failures.append(f"round {number}: exit codes {codes}")
        try:
            stage.must_be_applied()
        except AssertionError as error:
            failures.append(f"round {number}: {error}")
    print(json.dumps({"winners": winners, "failures": failures}))


if __name__ == "__main__":
    main()
