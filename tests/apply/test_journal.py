"""The journal: any prefix of it says how to go on."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.apply.journal import Journal, read_journal
from offsetwise.errors import ApplyError, FileError, VersionError
from offsetwise.model import ReceiptStep, StepState, WrittenFile, WrittenOffset
from tests.apply.faults import Fault, FaultyDisk, UnsyncedDisk
from tests.apply.plans import COPY, DIGEST, journal
from tests.with_cases import with_cases

STEP = ReceiptStep(
    target=COPY,
    place="/x",
    state=StepState.DONE,
    told="It is.",
    files=(WrittenFile(path="offsets/1", sha256="aa", before_sha256="bb"),),
    offsets=(WrittenOffset(topic="orders", partition=0, offset=2**62, before=None),),
)


def test_what_was_recorded_is_there_again(tmp_path: Path) -> None:
    with journal(tmp_path) as one:
        one.begin(0, STEP, tmp="/x.tmp")
        one.note(0, inode="5")
        one.done(0, STEP)
        one.begin(1, STEP)

    with Journal.open(one.path, digest=DIGEST, begun_at="later") as again:
        assert again.digest == DIGEST
        assert again.begun_at == "2026-11-21T00:00:00Z"
        assert again.steps == (0, 1)
        assert again.record(0).done == STEP
        assert again.record(0).notes == {"tmp": "/x.tmp", "inode": "5"}
        assert again.record(1).intended == STEP
        assert again.record(1).done is None
        assert again.record(2).intended is None


def test_beginning_again_forgets_an_earlier_attempt(tmp_path: Path) -> None:
    with journal(tmp_path) as one:
        one.begin(0, STEP, tmp="a")
        one.undoing(0)
        one.undone(0, STEP)
        one.begin(0, STEP)

        assert one.record(0).notes == {}
        assert one.record(0).undone is None


def test_cut_at_every_byte_it_holds_what_was_whole(tmp_path: Path) -> None:
    with journal(tmp_path) as one:
        one.begin(0, STEP, tmp="a")
        one.done(0, STEP)
    data = Path(one.path).read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]

    for size in range(len(data) + 1):
        Path(one.path).write_bytes(data[:size])
        with journal(tmp_path, disk=UnsyncedDisk()) as cut:
            whole = sum(end <= size for end in ends)
            assert (cut.record(0).intended is not None) == (whole >= 2)
            assert (cut.record(0).done is not None) == (whole >= 3)
            cut.note(0, copied="yes")
        with journal(tmp_path) as again:
            assert again.record(0).notes["copied"] == "yes"


def test_its_name_is_durable_before_anything_else_is_written(tmp_path: Path) -> None:
    """A run that ended between the first line and the sync of the folder has left a name that power may take."""

    class Listing(UnsyncedDisk):
        def __init__(self) -> None:
            self.synced: list[str] = []

        def sync(self, path: str) -> None:
            self.synced.append(path)
            super().sync(path)

    fresh, again, later = Listing(), Listing(), Listing()
    with journal(tmp_path, disk=fresh):
        pass
    with journal(tmp_path, disk=again) as one:
        one.begin(0, STEP)
    with journal(tmp_path, disk=later):
        pass

    assert fresh.synced == again.synced == [str(tmp_path)]
    assert later.synced == []


def test_the_journal_of_another_plan_is_refused(tmp_path: Path) -> None:
    journal(tmp_path).close()

    with pytest.raises(ApplyError, match="found that of plan abababababab"):
        Journal.open(str(tmp_path / "receipt.json.journal"), digest="cd" * 32, begun_at="x")


def test_only_one_process_holds_it(tmp_path: Path) -> None:
    with journal(tmp_path), pytest.raises(ApplyError, match="held by another process"):
        journal(tmp_path)
    journal(tmp_path).close()


@with_cases(
    "line",
    [
        b"not json",
        b'{"event":"begun"}',
        b'{"event":"else","step":0}',
        b'{"event":"done","step":0,"result":{}}',
        b'{"event":"begun","step":0,"step":1}',
        b'{"event":"begun","step":true}',
    ],
)
def test_damage_before_the_last_line_is_refused(line: bytes, tmp_path: Path) -> None:
    journal(tmp_path).close()
    path = tmp_path / "receipt.json.journal"
    path.write_bytes(path.read_bytes() + line + b"\n")

    with pytest.raises(FileError, match="line 2"):
        journal(tmp_path)


@with_cases("name", ["plan", "begun_at"])
def test_a_first_line_that_says_no_text_is_refused(name: str, tmp_path: Path) -> None:
    journal(tmp_path).close()
    path = tmp_path / "receipt.json.journal"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: 5}) + "\n")

    with pytest.raises(FileError, match="line 1 damaged"):
        journal(tmp_path)


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json.journal"
    path.touch(0o600)
    path.write_text(json.dumps({"format": "offsetwise/plan", "format_version": "1.0"}) + "\n")
    with pytest.raises(VersionError, match="offsetwise/journal"):
        journal(tmp_path)
    path.write_text(json.dumps({"format": "offsetwise/journal", "format_version": "2.0"}) + "\n")
    with pytest.raises(VersionError, match=r"2\.0"):
        journal(tmp_path)


def test_without_a_journal_there_is_nothing_to_go_by(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="but No such file"):
        read_journal(str(tmp_path / "none"))
    (tmp_path / "empty").touch(0o600)
    with pytest.raises(FileError, match="nothing had begun"):
        read_journal(str(tmp_path / "empty"))


@with_cases("fault", list(Fault))
def test_a_line_that_could_not_be_written_spoils_no_later_one(fault: Fault, tmp_path: Path) -> None:
    counting = FaultyDisk()
    with journal(tmp_path, disk=counting) as one:
        one.note(0, staged="1")
    for at in range(1, counting.calls + 1):
        (tmp_path / "receipt.json.journal").unlink(missing_ok=True)
        disk = FaultyDisk(at=at, fault=fault)
        told = 0
        try:
            with journal(tmp_path, disk=disk) as one:
                for number in range(3):
                    with suppress(ApplyError):
                        one.note(number, staged="1")
                        told += 1
        except ApplyError as error:
            refused = error.problem
            assert refused.startswith(str(tmp_path))
        with journal(tmp_path) as again:
            assert len(again.steps) >= told


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    with journal(tmp_path) as one:
        assert Path(one.path).stat().st_mode & 0o777 == 0o600


def test_a_file_larger_than_any_journal_is_refused_as_it_is_and_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal(tmp_path) as one:
        one.begin(0, STEP)
    path = Path(one.path)
    monkeypatch.setattr(files, "MAX_BYTES", path.stat().st_size)
    assert read_journal(one.path).digest == DIGEST

    grown = path.read_bytes() + b"torn"
    path.write_bytes(grown)
    with pytest.raises(FileError, match="found more"):
        journal(tmp_path)
    with pytest.raises(FileError, match="found more"):
        read_journal(one.path)
    assert path.read_bytes() == grown, "a torn line is cut off, what was not read is not"
    os.truncate(path, 1 << 40)
    with pytest.raises(FileError, match="found more"):
        read_journal(one.path)
    with pytest.raises(FileError, match="no regular file"):
        read_journal("/dev/zero")
