"""Damaged copies of the recorded checkpoints: no crash, no hang, no silently wrong offset.

What can honestly be promised of a damaged file:

- With its `.crc` beside it, every change is a problem of the checkpoint (CRC32 finds any change of few bits).
- Without one, a changed digit is a valid other number. Then every offset given must stand in the file as it is now,
  under its partition, and none that stands there may be missing, unless a problem says so.

`OFFSETWISE_GATES=full` runs the gate of 100,000 mutants; else a part of it. `OFFSETWISE_SEED` repeats a run.
"""

from __future__ import annotations

import gc
import os
import random
import re
import time
from collections.abc import Callable, Iterator

import pytest

from offsetwise.errors import OffsetwiseError
from offsetwise.model import Checkpoint, CheckpointSource
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.details import spark_details
from offsetwise.position import offset_of
from tests.gates import PART
from tests.plugins.spark.folders import NAMES, MemoryFolder, sample_files, without_checksums
from tests.with_cases import with_cases

MUTANTS = 100_000 // PART
LONGEST_S = 1.0
"""Of processor time: how busy the machine is shall not matter."""
TOKENS = (
    b"{",
    b"}",
    b'"',
    b":",
    b",",
    b"\n",
    b"\r",
    b"-",
    b"-1",
    b"0",
    b"9",
    b"1e9",
    b".5",
    b"\0",
    b"\xff",
    b"v2",
    b"null",
)

Files = dict[str, bytes]


def _deciding(name: str) -> list[str]:
    """Return the files that a restart reads: the last two offset files, the last commit, the query's id."""
    files = sample_files(name)
    planned = sorted((int(path[8:]) for path in files if re.fullmatch(r"offsets/\d+", path)), reverse=True)
    done = max(int(path[8:]) for path in files if re.fullmatch(r"commits/\d+", path))
    return [*(f"offsets/{batch}" for batch in planned[:2]), f"commits/{done}", "metadata"]


def _crc(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


def _read(files: Files) -> Checkpoint | OffsetwiseError:
    gc.disable()  # what earlier tests left behind is not collected at the cost of this one
    begun = time.process_time()
    try:
        return read_from(MemoryFolder(files), batches=2)
    except OffsetwiseError as error:
        return error
    finally:
        assert time.process_time() - begun < LONGEST_S
        gc.enable()


def _mutate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    end = min(len(data), place + chance.randrange(1, 9))
    token = chance.choice(TOKENS)
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    kind = chance.randrange(8)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + data[end:]
    if kind == 2:
        return data[:place] + token + data[place:]
    if kind == 3:
        return data[:place] + token + data[end:]
    if kind == 4:
        return data[:end] + data[place:]
    if kind == 5 and digits:
        at = chance.choice(digits)
        return data[:at] + str(chance.randrange(10)).encode() + data[at + 1 :]
    if kind == 6:
        return data[:place] + other[chance.randrange(len(other)) :]
    at = min(place, len(data) - 1)
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _mutants(count: int, seed: int) -> Iterator[tuple[str, str, bytes, bytes]]:
    chance = random.Random(seed)
    samples = {name: sample_files(name) for name in NAMES}
    targets = [(name, path) for name in NAMES for path in _deciding(name)]
    made = 0
    while made < count:
        name, path = chance.choice(targets)
        original = samples[name][path]
        other_name, other_path = chance.choice(targets)
        mutant = _mutate(original, samples[other_name][other_path], chance)
        if mutant and chance.random() < 0.2:
            mutant = _mutate(mutant, original, chance)
        if mutant != original:
            made += 1
            yield name, path, original, mutant


@pytest.fixture
def seed(request: pytest.FixtureRequest, figure: Callable[[str], None]) -> int:
    chosen = int(os.environ.get("OFFSETWISE_SEED", random.SystemRandom().randrange(2**32)))
    figure(f"OFFSETWISE_SEED={chosen} of {request.node.name}")
    return chosen


def _lines(files: Files, path: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", files[path].decode("utf-8", "replace"))[1 if path.startswith("sources") else 2 :]


def _of_source(files: Files, path: str, source: CheckpointSource) -> list[str]:
    """Return the line of a source, if there is one: by its place, in a log of version 2 by its name."""
    lines = _lines(files, path)
    if not files[path].startswith(b"v2"):
        return lines[source.index : source.index + 1]
    return [line for line in lines if line.partition(":")[0].strip(' "') == source.id][:1]


def _stands_there(line: str, topic: str, partition: int, offset: int) -> bool:
    """Whether the number stands under its partition and topic, by pattern alone."""
    inner = re.search(rf'"{re.escape(topic)}"\s*:\s*\{{([^{{}}]*)\}}', line)
    pattern = rf'"{partition}"\s*:\s*-?{offset}\s*(,|$)'
    return inner is not None and re.search(pattern, inner[1].strip()) is not None


def _assert_honest(files: Files, read: Checkpoint) -> None:
    """Assert that what is shown stands in the files and, unless damage is said, that all of it is shown."""
    planned = [int(path[8:]) for path in files if re.fullmatch(r"offsets/\d+", path)]
    damaged = any(problem.code == "CHECKPOINT_DAMAGED" for problem in read.problems)
    start = max((batch for batch in planned if batch != read.details.progress.again), default=None)
    for source in read.sources:
        lines = [""] if start is None else _of_source(files, f"offsets/{start}", source)
        if read.details.progress.again == 0 or not lines:
            # A log of version 1 does not tell which named source's file a line is of.
            lines = _lines(files, path) if (path := f"sources/{source.id}/0") in files else [""]
        for one in source.positions:
            assert one.offset >= 0
            assert _stands_there(lines[0], one.topic, one.partition, offset_of(one.offset))
            if one.planned_offset is not None:
                ends = _of_source(files, f"offsets/{read.details.progress.again}", source)
                assert _stands_there(ends[0], one.topic, one.partition, offset_of(one.planned_offset))
        if not damaged:
            # JSON's -0 is the number 0, for Spark too.
            assert len(source.positions) == len(re.findall(r'"\d+"\s*:\s*(?:\d+|-0\b)', lines[0]))


def test_no_mutant_beside_its_checksum_goes_unnoticed(seed: int) -> None:
    originals = {name: sample_files(name) for name in NAMES}

    for name, path, _, mutant in _mutants(MUTANTS, seed):
        read = _read(originals[name] | {path: mutant})
        assert not isinstance(read, OffsetwiseError), f"{name}/{path}: everything else could be shown"
        assert any(
            problem.code == "CHECKPOINT_DAMAGED" and _crc(path) in problem.message for problem in read.problems
        ), f"{name}/{path}: {mutant!r}"


def test_no_mutant_without_checksum_gives_an_offset_that_is_not_there(seed: int, figure: Callable[[str], None]) -> None:
    originals = {name: without_checksums(sample_files(name)) for name in NAMES}
    changed = 0

    for name, path, _, mutant in _mutants(MUTANTS, seed):
        files = originals[name] | {path: mutant}
        read = _read(files)
        assert not isinstance(read, OffsetwiseError)
        changed += any(problem.code == "CHECKPOINT_DAMAGED" for problem in read.problems)
        _assert_honest(files, read)
    figure(f"{changed} of {MUTANTS} mutants without a checksum were found damaged")


@with_cases("name", NAMES)
def test_a_file_cut_anywhere_is_noticed_beside_its_checksum_and_never_misread_without(name: str) -> None:
    files = sample_files(name)
    plain = without_checksums(files)

    for path in _deciding(name):
        for length in range(0, len(files[path]), PART):
            cut = files[path][:length]
            beside = _read(files | {path: cut})
            assert not isinstance(beside, OffsetwiseError)
            assert any(_crc(path) in problem.message for problem in beside.problems)
            alone = _read(plain | {path: cut})
            assert not isinstance(alone, OffsetwiseError)
            _assert_honest(plain | {path: cut}, alone)


@with_cases("name", [name for name in NAMES if "multi" not in name])
def test_a_kafka_line_cut_anywhere_is_damage_even_without_checksum(name: str) -> None:
    plain = without_checksums(sample_files(name))
    path = _deciding(name)[0]
    head, _, line = plain[path].rpartition(b"\n")

    for length in range(1, len(line)):
        read = _read(plain | {path: head + b"\n" + line[:length]})
        assert not isinstance(read, OffsetwiseError)
        assert any(problem.code == "CHECKPOINT_DAMAGED" for problem in read.problems)


@with_cases("name", NAMES)
def test_any_file_gone_is_shown_or_said(name: str) -> None:
    files = sample_files(name)

    for path in files:
        rest = {other: data for other, data in files.items() if other != path}
        read = _read(rest)
        assert not isinstance(read, OffsetwiseError)
        _assert_honest(rest, read)


def test_no_damaged_state_file_gives_a_wrong_number_of_rows(seed: int) -> None:
    files = sample_files("spark-4.0.0-agg-rocksdb")
    newest = [path for path in files if re.fullmatch(r"state/0/\d/7_[^/]*\.zip", path)]
    chance = random.Random(seed)

    for _ in range(MUTANTS // 10):
        path = chance.choice(newest)
        read = _read(files | {path: _mutate(files[path], files[path], chance)})
        assert isinstance(read, Checkpoint)
        assert spark_details(read).state[0].keys in (4, None)
