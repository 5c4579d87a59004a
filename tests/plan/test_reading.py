"""A plan that contradicts itself is no plan."""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.errors import FileError, PlanError, VersionError
from offsetwise.model import (
    MAX_PARTITIONS,
    NewSavepoint,
    Plan,
    PlannedPosition,
    Proof,
    RestartPoint,
    TableBefore,
    Target,
)
from offsetwise.plan import exports
from offsetwise.plan.draft import totals_of
from offsetwise.plan.reading import plan_bytes, read_plan
from tests.plan.scene import COPY, comparison, drafted, override, rows
from tests.with_cases import with_cases

PLAN = drafted(comparison(*rows({}, {})))
RECORDED = Path(__file__).parent.parent / "data" / "receipts"


def first(change: Callable[[PlannedPosition], PlannedPosition]) -> Plan:
    positions = (change(PLAN.positions[0]), *PLAN.positions[1:])
    return replace(PLAN, positions=positions, totals=totals_of(positions))


def salted(salt: str) -> Plan:
    return first(lambda one: replace(one, proof=Proof(salt=salt, identity="key and value")))


@with_cases(
    ("made", "why"),
    [
        (replace(PLAN, targets=()), "no target"),
        (replace(PLAN, positions=(), totals=totals_of(())), "no positions"),
        (first(lambda one: replace(one, partition=1)), "twice"),
        (first(lambda one: replace(one, new_offset=-2)), "negative"),
        (first(lambda one: replace(one, old_offset=None)), "without a restart"),
        (first(lambda one: replace(one, new_offset=951)), "begins elsewhere"),
        (
            first(lambda one: replace(one, restart=(*one.restart, RestartPoint(batch=7, old=1100, new=None)))),
            "has no position",
        ),
        (first(lambda one: replace(one, end_proof=Proof(salt="ab", identity="key and value"))), "none is pending"),
        *((salted(salt), "no salt in hex") for salt in ("", "0", "0g", "00 00", "AB", "zz" * 16, "00" * 15 + "0")),
        (first(lambda one: replace(one, override=override(940))), "but 940 was decided"),
        (first(lambda one: replace(one, override=override(950, ""))), "without a reason"),
        (first(lambda one: replace(one, replay=-1)), "negative count"),
        (replace(PLAN, totals=replace(PLAN.totals, skip=1)), "not the sums"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_contradicts_itself_is_refused(made: Plan, why: str) -> None:
    with pytest.raises(PlanError, match=re.escape(why)):
        read_plan(files.dump(made).encode(), subject="plan.json")


def test_a_newer_major_version_is_refused_and_a_newer_minor_one_is_read() -> None:
    text = files.dump(drafted(None, COPY))
    assert '"format_version": "1.0"' in text

    read_plan(text.replace('"format_version": "1.0"', '"format_version": "1.7"').encode(), subject="plan.json")
    with pytest.raises(VersionError, match=r"version 2\.0"):
        read_plan(text.replace('"format_version": "1.0"', '"format_version": "2.0"').encode(), subject="plan.json")


@with_cases(
    "later",
    [
        replace(PLAN, settings=(("create_table", "true"),)),
        replace(PLAN, requirements=replace(PLAN.requirements, tables=(TableBefore(table="app", leases=()),))),
        first(lambda position: replace(position, aggregate=4)),
    ],
    ids=["settings", "tables", "aggregate"],
)
def test_a_plan_says_1_1_only_where_it_has_what_1_1_added(later: Plan) -> None:
    text = files.dump(later)

    assert '"format_version": "1.1"' in text
    assert files.dump(files.load(text, "plan", subject="plan.json")) == text
    assert '"format_version": "1.0"' in files.dump(PLAN)


@with_cases("path", sorted(RECORDED.glob("*/plan.json")), ids=lambda path: path.parent.name)
def test_a_plan_of_version_1_0_keeps_its_bytes(path: Path) -> None:
    recorded = path.read_bytes()

    assert b'"format_version": "1.0"' in recorded
    assert files.dump(read_plan(recorded, subject="plan.json")).encode() == recorded


@with_cases(
    ("before", "after"),
    [
        ('"author": "ada"', '"author": "ada", "author": "bob"'),
        ('"new_offset": "950"', '"new_offset": 950.0'),
        ('"new_offset": "950"', '"new_offset": "9223372036854775808"'),
        ('"new_offset": "950"', '"new_offset": "9e2"'),
        ('"new_offset": "950"', '"new_offset": NaN'),
        ('"author": "ada"', '"author": ' + "[" * 40 + "]" * 40),
        ('"author": "ada"', '"author": null'),
    ],
    ids=["duplicate-key", "float", "beyond-int64", "exponent", "nan", "deep", "null"],
)
def test_what_another_reader_could_take_otherwise_is_refused(before: str, after: str) -> None:
    text = files.dump(PLAN)
    assert before in text

    with pytest.raises(FileError):
        read_plan(text.replace(before, after, 1).encode(), subject="plan.json")


def test_a_file_larger_than_any_plan_is_refused_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = files.dump(PLAN).encode()
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    monkeypatch.setattr(files, "MAX_PLAN_BYTES", len(content))
    assert read_plan(plan_bytes(path), subject="plan.json") == PLAN

    path.write_bytes(content + b" ")
    with pytest.raises(FileError, match=f"at most {len(content):,} bytes, found more"):
        plan_bytes(path)
    with pytest.raises(FileError, match="the limit is"):
        read_plan(content + b" ", subject="plan.json")
    os.truncate(path, 1 << 40)
    with pytest.raises(FileError, match="found more"):
        plan_bytes(path)
    with pytest.raises(FileError, match="not a regular file"):
        plan_bytes(Path("/dev/zero"))


@with_cases(
    ("identity", "timed"),
    [
        ("timestamp, key, value and headers", True),
        ("timestamp, key, value, headers", True),
        ("key, value and headers", False),
        ("", False),
    ],
)
def test_a_proof_says_whether_timestamps_are_part_of_the_identity(identity: str, timed: bool) -> None:
    assert Proof(salt="ab", identity=identity).timed is timed


def requiring(side: str, partitions: int) -> Plan:
    cluster = getattr(PLAN.requirements, side)
    topics = tuple(replace(topic, partitions=partitions) for topic in cluster.topics)
    return replace(PLAN, requirements=replace(PLAN.requirements, **{side: replace(cluster, topics=topics)}))


@with_cases("side", ["old", "new"])
@with_cases("partitions", [-1, MAX_PARTITIONS + 1, 50_000_000, 2**31, 2**63 - 1])
def test_partitions_that_no_topic_has_are_refused_and_never_listed(side: str, partitions: int) -> None:
    data = files.dump(requiring(side, partitions)).encode()

    tracemalloc.start()
    with pytest.raises(PlanError, match=re.escape(f"{partitions:,} partitions")):
        read_plan(data, subject="plan.json")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 5_000_000


def test_an_export_of_a_plan_that_lacks_partitions_lists_none_of_them() -> None:
    tracemalloc.start()
    with pytest.raises(PlanError, match="each of the 2,147,483,648 partitions"):
        exports.starting_offsets(requiring("new", 2**31))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 5_000_000


@with_cases(("parallelism", "most"), [(0, 128), (129, 128), (2**31, 2**31), (4, 2**40), (-1, 1)])
def test_a_parallelism_that_no_job_has_is_refused_at_draft_and_when_a_plan_is_read(parallelism: int, most: int) -> None:
    savepoint = NewSavepoint(stream_arn="arn", uid="a", parallelism=parallelism, max_parallelism=most)

    stated = (("uid", "a"), ("stream_arn", "arn"), ("parallelism", str(parallelism)), ("max_parallelism", str(most)))
    with pytest.raises(PlanError, match=rf"found (max_)?parallelism.*\b({parallelism}|{most})\b"):
        drafted(None, Target(kind="flink-savepoint-from-positions"), settings=stated)
    with pytest.raises(PlanError, match="its savepoint is of a job with parallelism"):
        read_plan(files.dump(replace(PLAN, savepoint=savepoint)).encode(), subject="plan.json")
