from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Output: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]
"""The serials of the records that were read; for a job with state, all serials ever read, by key."""


@dataclass(frozen=True, slots=True)
class JobSink:
    folder: Path

    def write(self, number: int, output: Output) -> None:
        """Write the output of a batch or run. A batch that runs again replaces its earlier output."""
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
    """The output folder of a Flink job: files of JSON lines, which appear when a checkpoint is complete.

    Each line has the `serial` of a record; for a job with state also the `key`, and as `nth` how many records of that
    key the job has counted, including this one.
    """

    folder: Path

    def serials(self) -> tuple[str, ...]:
        """Return the serial of every record that the job has counted, as often as it was counted.

        If a job that has lost its state counts two records as the same one of a key, one of them is missing.
        """
        files = sorted(path for path in self.folder.glob("*") if path.is_file() and not path.name.startswith("."))
        lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
        counted = {(line["key"], line["nth"]): line["serial"] for line in lines if "nth" in line}
        return (*(line["serial"] for line in lines if "nth" not in line), *counted.values())
