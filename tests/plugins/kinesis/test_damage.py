"""Damaged copies of the recorded checkpoints of Kinesis: no crash, and no other position without a problem.

Every 20th byte is flipped in one bit, and every 20th length is cut. `OFFSETWISE_GATES=full` flips all bits of every
byte, and cuts at every length.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offsetwise.engines.checkpoint import parts_of, read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint
from tests.gates import FULL
from tests.plugins.flink.files import Folder
from tests.plugins.kinesis.test_checkpoints import DATA, rows
from tests.with_cases import with_cases

BITS: Final = range(8) if FULL else (0,)
STRIDE: Final = 1 if FULL else 20
KCL: Final = tuple(sorted(path.name for path in (DATA / "kcl").iterdir()))
FLINK: Final = tuple(sorted(path.name for path in (DATA / "flink").iterdir()))
SPARK: Final = ("awslabs-2.0.0-committed", "awslabs-2.0.0-aggregated", "qubole-1.2.0-committed")


def mutants(data: bytes) -> Iterator[bytes]:
    """Yield copies with one bit changed, and copies that are cut."""
    for place in range(0, len(data), STRIDE):
        for bit in BITS:
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
        yield data[:place]


Said = tuple[list[list[str | None]], set[tuple[str, str]]]


def said(read: Checkpoint) -> Said:
    return rows(read), {(each.code, each.message) for each in read.problems}


def is_told(before: Said, now: Said) -> bool:
    """Whether the positions are as before, or something is said that was not said before."""
    return now[0] == before[0] or bool(now[1] - before[1])


@with_cases("name", FLINK)
def test_no_damaged_savepoint_gives_another_position_without_a_problem(name: str) -> None:
    data = (DATA / "flink" / name / "_metadata").read_bytes()
    before = said(Folder(data=data).read())
    silent = []

    for mutant in mutants(data):
        try:
            now = said(Folder(data=mutant).read())
        except OffsetwiseError:
            continue
        if not is_told(before, now):
            silent.append(now[0])

    # The names of operators and states are in no checksum: a source that hides behind another name is not shown at all.
    assert [each for each in silent if each] == []


@with_cases("name", KCL)
def test_no_damaged_dump_gives_another_position_without_a_problem(name: str, tmp_path: Path) -> None:
    data = (DATA / "kcl" / name).read_bytes()
    file = tmp_path / name
    file.write_bytes(data)
    before = {uri: said(read_checkpoint(uri)) for uri in parts_of(str(file))}
    silent = []

    for mutant in mutants(data):
        file.write_bytes(mutant)
        try:
            now = {uri: said(read_checkpoint(uri)) for uri in parts_of(str(file))}
        except OffsetwiseError:
            continue
        # Another name of the table is another table: its URI says so.
        silent += [now[uri][0] for uri in before.keys() & now.keys() if not is_told(before[uri], now[uri])]

    assert silent == []


@with_cases("name", SPARK)
def test_no_damaged_end_of_a_batch_gives_another_position_without_a_problem(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(DATA / "spark" / name, tmp_path / "query", ignore=shutil.ignore_patterns("*.crc"))
    before = said(read_checkpoint(str(folder)))
    newest = max(folder.glob("sources/0/shard-*/*"), key=lambda path: int(path.name))
    silent = []

    for file in newest.iterdir():
        data = file.read_bytes()
        for mutant in mutants(data):
            file.write_bytes(mutant)
            now = said(read_checkpoint(str(folder)))
            if not is_told(before, now):
                silent.append((file.name, now[0]))
        file.write_bytes(data)

    assert silent == []


@with_cases("name", SPARK)
def test_no_damaged_line_beside_its_checksum_gives_another_position_without_a_problem(
    name: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(DATA / "spark" / name, tmp_path / "query")
    before = said(read_checkpoint(str(folder)))
    file = max((folder / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    data = file.read_bytes()
    silent = []

    for mutant in mutants(data):
        file.write_bytes(mutant)
        now = said(read_checkpoint(str(folder)))
        if not is_told(before, now):
            silent.append(now[0])

    # A line that is no longer one of Kinesis is shown as it stands, and no position is given.
    assert [each for each in silent if each] == []
