from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Output: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]
"""The serials of the records that were read; of a job with state by key, all that were ever read of the key."""


@dataclass(frozen=True, slots=True)
class JobSink:
    folder: Path

    def write(self, number: int, output: Output) -> None:
        """Write what a batch or run came to. A batch that runs again replaces what it wrote before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{number:06}.json").write_text(json.dumps(output), encoding="utf-8")

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(int(path.stem) for path in self.folder.glob("*.json")))

    def serials(self) -> tuple[str, ...]:
        serials: list[str] = []
        by_key: dict[str, Sequence[str]] = {}
        for number in self.numbers:
            output = json.loads((self.folder / f"{number:06}.json").read_text(encoding="utf-8"))
            if isinstance(output, dict):
                by_key |= output
            else:
                serials += output
        return (*serials, *(serial for counted in by_key.values() for serial in counted))


@dataclass(frozen=True, slots=True)
class FlinkSink:
    """The folder that a job of Flink writes to: files of lines of JSON, which appear when a checkpoint is complete.

    Each line has the `serial` of a record; of a job with state also the `key`, and as `nth` how many records of that
    key the job has counted, this one among them.
    """

    folder: Path

    def serials(self) -> tuple[str, ...]:
        """Return the serial of every record that the job has counted, as often as it has.

        Of two records that a job counts as the same one of a key, as it does that has lost its state, one is missing.
        """
        files = sorted(path for path in self.folder.glob("*") if path.is_file() and not path.name.startswith("."))
        lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
        counted = {(line["key"], line["nth"]): line["serial"] for line in lines if "nth" in line}
        return (*(line["serial"] for line in lines if "nth" not in line), *counted.values())
