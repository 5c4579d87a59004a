"""A Flink savepoint applied: dry run, copy, verification and the way back, on every recorded one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise.api.readers import LiveReaders
from offsetwise.apply import reversal
from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.verification import verify
from offsetwise.apply.writing import StepStanding
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, OffsetwiseError, OutputError, StalePlanError
from offsetwise.model import Start, Target, Turnout
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.snappy import STREAM_HEADER, masked_crc32c
from offsetwise.storage.folders import MAX_FILE_BYTES
from tests.apply.plans import (
    SAVEPOINT,
    SHIFT,
    STARTING,
    aged,
    context,
    drafted,
    files_of,
    flink_savepoint,
    journal,
    tree_hash,
)
from tests.apply.worlds import stage
from tests.plugins.flink.files import (
    Op,
    absolute,
    blob,
    enumerator_v2,
    inline,
    integer,
    kafka_source,
    long,
    metadata,
    operator_handle,
    positions,
    reader_element,
    relative,
    state,
    subtask,
)
from tests.plugins.spark.folders import FLINK_NAMES, write
from tests.with_cases import with_cases

WITHOUT = Target(kind="flink-savepoint-without-sources")
BLOB, PLACES = blob({"SourceReaderState": [reader_element("orders", 0, 1050), reader_element("orders", 1, 20)]})
FILES = {
    "savepoint/_metadata": metadata(
        Op(
            subtasks=[subtask(0, operator_handle(PLACES, relative("5e2c", len(BLOB))))],
            coordinator=enumerator_v2([("orders", 0, 0), ("orders", 1, 0)]),
        )
    ),
    "savepoint/5e2c": BLOB,
    "savepoint/keyed": b"state of another operator",
}


def _laid_out(folder: Path) -> Path:
    write(FILES, folder)
    return aged(folder / "savepoint")


@with_cases("name", FLINK_NAMES)
def test_a_recorded_savepoint_goes_the_whole_way_and_back(tmp_path: Path, name: str) -> None:
    staged = stage(tmp_path, SAVEPOINT, sample=name)
    before, old = tree_hash(staged.source), positions(read_checkpoint(str(staged.source)))

    shown = dry_run(staged.order(approved=False), staged.tools())
    assert tree_hash(staged.source) == before
    assert not (tmp_path / "out").exists()
    (change,) = shown.previews[0].files
    assert (change.path, change.what) == ("_metadata", "edited")
    assert {one.topic_partition: (one.before, one.after) for one in change.numbers} == {
        key: (offset, offset + SHIFT) for key, offset in old.items()
    }

    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt
    copy = Path(receipt.steps[0].place)
    assert positions(read_checkpoint(str(copy))) == {key: offset + SHIFT for key, offset in old.items()}
    assert len((copy / "_metadata").read_bytes()) == len((staged.source / "_metadata").read_bytes())
    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.CONFIRMED}
    assert verified.exit_code == 0

    reversal.rollback(staged.back(), staged.tools())
    assert not copy.exists()
    assert tree_hash(staged.source) == before


@with_cases("name", [name for name in FLINK_NAMES if "legacy" not in name])
def test_a_source_dropped_from_a_savepoint_goes_the_whole_way_and_back(tmp_path: Path, name: str) -> None:
    staged = stage(tmp_path, WITHOUT, sample=name)
    before, read = tree_hash(staged.source), read_checkpoint(str(staged.source))

    (shown,) = dry_run(staged.order(approved=False), staged.tools()).previews
    assert [(one.path, one.what) for one in shown.files] == [("_metadata", "edited")]
    assert f"without the state of {read.sources[0].id}" in shown.told

    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt
    made = read_checkpoint(receipt.steps[0].place)
    assert made.sources == ()
    assert flink_details(made).operators == tuple(
        each for each in flink_details(read).operators if read.sources[0].id not in (each.id, each.uid)
    )
    assert made.details.transactions == read.details.transactions
    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.CONFIRMED}

    reversal.rollback(staged.back(), staged.tools())
    assert not Path(receipt.steps[0].place).exists()
    assert tree_hash(staged.source) == before


def test_the_starting_offsets_of_a_flink_job_are_written_and_verified(tmp_path: Path) -> None:
    staged = stage(tmp_path, STARTING, sample="flink-1.20")

    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt
    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.CONFIRMED}
    text = Path(receipt.steps[0].place).read_text()
    assert "'scan.startup.mode' = 'specific-offsets'" in text

    Path(receipt.steps[0].place).write_text(text.replace("offset:", "offset:1"))
    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.DIFFERENT}


@with_cases(
    ("made", "turnout", "told"),
    [
        ("nothing", Turnout.CONFIRMED, "as planned"),
        ("an empty folder", Turnout.CONFIRMED, "as planned"),
        ("a file", Turnout.UNKNOWN, "moved"),
        ("the savepoint of before", Turnout.UNKNOWN, "it tells nothing about the new job"),
    ],
)
def test_the_checkpoint_that_the_migration_file_names_is_looked_at_as_soon_as_it_is_there(
    made: str, turnout: Turnout, told: str, tmp_path: Path
) -> None:
    staged = stage(tmp_path, SAVEPOINT, sample="flink-1.20")
    apply(staged.order(), staged.receipt, staged.tools())
    own = tmp_path / "moved"
    if made == "an empty folder":
        own.mkdir()
    elif made == "a file":
        own.write_text("no checkpoint", encoding="utf-8")
    elif made == "the savepoint of before":
        shutil.copytree(staged.source, own)
    migration = ow.Migration(
        Migration.model_validate(
            {
                **staged.migration.model_dump(include={"name", "source", "target"}),
                "checkpoint_roots": [str(tmp_path)],
                "write_roots": [str(tmp_path)],
                "checkpoints": [{"name": "a", "uri": str(staged.source), "job": {"new_checkpoint": str(own)}}],
            }
        )
    )

    verified = ow.Receipt(staged.receipt, migration).verify()

    assert {each.turnout for each in verified.positions} == {turnout}
    assert told in verified.positions[0].told
    assert not verified.started


def test_a_metadata_larger_than_other_files_may_be_is_read_again_and_verified(tmp_path: Path) -> None:
    """State of many keys stands in the file itself; a Spark log of that size is refused."""
    keyed = b"\x07" + integer(0) + integer(1) + long(1) + inline(bytes(MAX_FILE_BYTES))
    data = metadata(kafka_source({0: 1050, 1: 20}), Op(uid="window", subtasks=[subtask(0, keyed=keyed)]))
    source = write({"_metadata": data}, tmp_path / "large")
    staged = stage(tmp_path, SAVEPOINT, sample=str(aged(source)))

    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt

    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")
    assert {each.turnout for each in verified.positions} == {Turnout.CONFIRMED}


PLAIN = reader_element("orders", 0, 1050)
CHUNK = bytes([len(PLAIN), (len(PLAIN) - 1) << 2]) + PLAIN
SNAPPY = STREAM_HEADER + b"\0" + (len(CHUNK) + 4).to_bytes(3, "little") + masked_crc32c(PLAIN).to_bytes(4, "little")
COMPRESSED, COMPRESSED_PLACES = blob({"SourceReaderState": [SNAPPY + CHUNK]}, compressed=b"\x01")
UNALIGNED = Op(uid="map", subtasks=[subtask(0, incoming=[integer(0) * 3 + integer(0) + bytes(8) + b"\0"])])
SHARED = Op(uid="window", subtasks=[subtask(0, keyed=b"\x07" + integer(0) + integer(0) + absolute("file:/job/a", 20))])


@with_cases(
    ("data", "told"),
    [
        (metadata(kafka_source({0: 1050, 1: -2})), "orders-1, for which the plan has no position"),
        (
            metadata(Op(subtasks=[subtask(0, state("SourceReaderState", [PLAIN, PLAIN]))])),
            "keeps orders-0 twice, at byte",
        ),
        (metadata(kafka_source({0: 1050}), UNALIGNED), "unaligned"),
        (metadata(kafka_source({0: 1050}), SHARED), r"in files elsewhere \(absolute\)"),
        (
            metadata(Op(subtasks=[subtask(0, operator_handle(COMPRESSED_PLACES, inline(COMPRESSED)))])),
            "that Snappy has compressed",
        ),
        (
            metadata(Op(subtasks=[subtask(0, operator_handle(PLACES, relative("gone", len(BLOB))))])),
            "cannot be read",
        ),
    ],
    ids=["marker", "duplicate", "unaligned", "absolute", "compressed", "missing file"],
)
def test_a_savepoint_that_may_not_be_edited_is_said_and_leaves_nothing_behind(
    tmp_path: Path, data: bytes, told: str
) -> None:
    source = aged(write({"_metadata": data}, tmp_path / "savepoint"))
    plan = drafted(str(source))

    for call in (flink_savepoint.prepare, flink_savepoint.write):
        with journal(tmp_path) as one, pytest.raises(OffsetwiseError, match=told):
            call(plan, SAVEPOINT, context(tmp_path, journal=one))
    assert not (tmp_path / "out").exists()
    assert files_of(source) == {"_metadata": data}


def test_state_files_are_linked_and_only_the_edited_one_is_new(tmp_path: Path) -> None:
    source = _laid_out(tmp_path)

    with journal(tmp_path) as one:
        step = flink_savepoint.write(drafted(str(source)), SAVEPOINT, context(tmp_path, journal=one))

    copy = Path(step.place)
    assert {name: (copy / name).samefile(source / name) for name in files_of(source)} == {
        "5e2c": False,
        "_metadata": False,
        "keyed": True,
    }
    assert positions(read_checkpoint(str(copy))) == {("orders", 0): 1053, ("orders", 1): 23}
    assert files_of(source) == {name.removeprefix("savepoint/"): data for name, data in FILES.items()}


def test_a_changed_copy_is_said_and_not_removed(tmp_path: Path) -> None:
    staged = stage(tmp_path, SAVEPOINT, sample=FLINK_NAMES[0])
    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt
    place = Path(receipt.steps[0].place)
    (place / "_metadata").write_bytes((staged.source / "_metadata").read_bytes())

    seen = flink_savepoint.look(staged.plan, receipt.steps[0], context(tmp_path))
    verified = verify(receipt, LiveReaders(migration=staged.migration), verified_at="now")

    assert seen.standing is StepStanding.CHANGED
    assert {each.turnout for each in verified.positions} == {Turnout.DIFFERENT}
    with pytest.raises(ApplyError, match="not as it was written"):
        reversal.rollback(staged.back(), staged.tools())
    assert place.exists()


@with_cases("name", ["_metadata", "5e2c"])
def test_a_savepoint_that_is_not_the_reviewed_one_is_refused(tmp_path: Path, name: str) -> None:
    source = _laid_out(tmp_path)
    plan = drafted(str(source))
    (source / name).write_bytes((source / name).read_bytes()[:-1] + b"!")

    with pytest.raises(StalePlanError, match="Nothing was written"):
        flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))
    (source / name).unlink()
    with pytest.raises(OffsetwiseError, match="Nothing was written"):
        flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path))


def test_a_place_inside_the_savepoint_or_taken_is_refused(tmp_path: Path) -> None:
    source = _laid_out(tmp_path)
    plan = drafted(str(source))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()

    for output in (source / "inside", tmp_path / "taken"):
        with pytest.raises(OutputError):
            flink_savepoint.prepare(plan, SAVEPOINT, context(tmp_path, output=str(output)))


def test_a_new_partition_is_left_to_flink_and_verified_as_unknown(tmp_path: Path) -> None:
    staged = stage(tmp_path, SAVEPOINT, sample="flink-2.2-enumerator-v3")
    first = staged.plan.positions[0]
    added = replace(
        first, partition=3, old_offset=None, new_offset=0, restart=(), start=Start.EARLIEST, proof=None, bounds=(0, 0)
    )
    plan = replace(staged.plan, positions=(*staged.plan.positions, added))

    with journal(tmp_path) as one:
        step = flink_savepoint.write(plan, SAVEPOINT, context(tmp_path, journal=one))
    assert len(positions(read_checkpoint(step.place))) == len(staged.plan.positions)

    chosen = replace(added, start=Start.SPECIFIC, new_offset=5)
    with pytest.raises(ApplyError, match="as Flink begins new partitions"):
        flink_savepoint.prepare(
            replace(plan, positions=(*staged.plan.positions, chosen)),
            SAVEPOINT,
            context(tmp_path, output=str(tmp_path / "out" / "other")),
        )
