"""Aggregates of the Kinesis Producer Library: where in one a position is, and what that means to every target."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import offsetwise as ow
from offsetwise import files
from offsetwise.errors import PlanError
from offsetwise.model import Exactness, Left, PlannedPosition
from offsetwise.plan import options
from offsetwise.plugins.kinesis.stream import client
from offsetwise.plugins.kinesis.stream.aggregates import MAGIC, user_records
from offsetwise.plugins.kinesis.stream.spec import after
from offsetwise.plugins.kinesis.targets.kcl_leases.spec import place_of
from tests.gates import of_all
from tests.plugins.kinesis.aggregates import aggregate
from tests.plugins.kinesis.streams import STREAM, Stream, lease, stream
from tests.with_cases import with_cases

__all__ = ["stream"]

TRAITS = "{stream: chain, stateful: false}"
COPY = "chain-copy"
Data = Sequence[bytes]


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=40), st.text(max_size=50))
def test_an_aggregate_is_taken_apart_into_as_many_records_as_were_put_in(data: list[bytes], key: str) -> None:
    assert user_records(aggregate(data, key=key)) == len(data)


@given(st.binary(max_size=200))
def test_anything_else_is_a_plain_record(data: bytes) -> None:
    assert user_records(data) is None
    assert user_records(MAGIC + data) is None


@with_cases("count", [1, 5])
def test_a_cut_or_changed_aggregate_is_a_plain_record_as_the_kcl_takes_it(count: int) -> None:
    whole = aggregate([b"%d" % number for number in range(count)])

    assert [length for length in range(len(whole)) if user_records(whole[:length]) is not None] == []
    changed = (whole[:at] + bytes([whole[at] ^ 0x11]) + whole[at + 1 :] for at in range(len(whole)))
    assert {user_records(each) for each in changed} == {None}


def fill(stream: Stream, *records: bytes, name: str = STREAM) -> None:
    """Make the stream anew, of one shard with these records, numbered from 1."""
    with suppress(stream.client.exceptions.ResourceNotFoundException):
        stream.client.delete_stream(StreamName=name)
    stream.client.create_stream(StreamName=name, ShardCount=1)
    for number, data in enumerate(records):
        stream.client.put_record(StreamName=name, PartitionKey=f"k{number}", Data=data)


def packed(count: int) -> bytes:
    return aggregate([b"user%d" % number for number in range(count)])


def at(number: int, sub: int) -> dict[str, Any]:
    return lease(0, str(number), checkpointSubSequenceNumber={"N": str(sub)})


def checkpoint_of(stream: Stream, folder: Path, *leases: dict[str, Any]) -> Any:
    folder.mkdir(exist_ok=True)
    return ow.Migration.load(stream.migration(folder, *leases, job=TRAITS)).checkpoint("app")


def draft(checkpoint: Any, target: str) -> ow.Plan | str:
    """Draft a plan, or say which codes refuse it."""
    more: dict[str, Any] = {}
    if target.startswith("flink"):
        arn = f"arn:aws:kinesis:us-east-1:123456789012:stream/{STREAM}"
        more["settings"] = {"uid": "src", "stream_arn": arn, "parallelism": 1, "max_parallelism": 128}
    try:
        plan: ow.Plan = checkpoint.draft(options.target(target), author="ada", **more)
    except PlanError as error:
        return error.problem
    return plan


def planned(plan: ow.Plan | str) -> PlannedPosition:
    assert isinstance(plan, ow.Plan), plan
    (position,) = plan.document.positions
    return position


CASES = of_all(
    [(count, sub) for count in range(1, 5) for sub in range(count)],
    [(1, 0), (2, 0), (2, 1), (4, 2)],
)
"""How many user records an aggregate has, and at which the lease is."""


@with_cases("front", [(), (b"plain",)], ids=["packed first", "plain first"])
def test_a_lease_inside_an_aggregate_says_so_and_goes_only_to_what_can_hold_that(
    front: Data, stream: Stream, tmp_path: Path
) -> None:
    for count, sub in CASES:
        fill(stream, *front, packed(count), b"more")
        number = len(front) + 1
        app = checkpoint_of(stream, tmp_path / f"{count}-{sub}-{len(front)}", at(number, sub))
        made = app.compare()
        (row,) = made
        whole = sub == count - 1
        case = f"user record {sub} of {count}"

        assert row.source_offset == after(number, sub or None), case
        assert row.target_offset == after(number, None if whole else sub), case
        assert (row.aggregate, row.replay, row.skip) == (count, 0, 0), case
        left = row.behind_old
        assert left is not None, case
        assert (left.left, left.records) == (Left.RECORDS, 1 if whole else 2), case
        told = [each.message for each in made.findings if each.code == "INSIDE_AGGREGATE"]
        assert any(f"this aggregate of {count} user records" in each for each in told) is not whole, case
        assert "AGGREGATED" in {each.code for each in made.findings}, case
        assert files.load(files.dump(made), "comparison", subject="it") == made

        leases, spark, flink = (
            draft(app, target) for target in ("kcl-leases:app", "starting-position", "flink-savepoint-from-positions")
        )
        assert str(place_of(planned(leases))) == str(after(number, sub or None)), case
        assert "AGGREGATED" in str(flink), case
        if whole:
            assert planned(spark).new_offset == after(number), case
        else:
            assert "PLACE_NOT_HELD" in str(spark), case
            assert f"at:{number} reads all of it again" in str(spark), case


def test_a_plain_record_is_whole_and_needs_nothing_new(stream: Stream, tmp_path: Path) -> None:
    fill(stream, b"plain", packed(3))
    app = checkpoint_of(stream, tmp_path / "plain", at(1, 0))
    (row,) = app.compare()

    assert (row.target_offset, row.aggregate, row.replay) == (after(1), None, 0)
    assert '"aggregate"' not in files.dump(app.compare())
    assert planned(draft(app, "starting-position")).new_offset == after(1)
    assert row.behind_old is not None
    assert row.behind_old.records == 1


def test_aggregates_behind_a_plain_record_are_found(stream: Stream, tmp_path: Path) -> None:
    for number, leases in enumerate([lease(0, "TRIM_HORIZON"), at(1, 0), at(2, 0), at(3, 0)]):
        fill(stream, b"plain", b"plain", packed(2), b"plain")
        made = checkpoint_of(stream, tmp_path / str(number), leases).compare()
        (told,) = [each for each in made.findings if each.code == "AGGREGATED"]
        assert "'chain' holds aggregates" in told.message


def test_aggregates_far_behind_the_oldest_record_are_found_at_the_positions(stream: Stream, tmp_path: Path) -> None:
    for number, position in enumerate([30, 31]):
        fill(stream, *[b"plain"] * 30, packed(2), b"plain")
        made = checkpoint_of(stream, tmp_path / str(number), at(position, 0)).compare()
        (told,) = [each for each in made.findings if each.code == "AGGREGATED"]
        assert "records at positions of shardId-000000000000" in told.message


@with_cases("count", range(1, 5))
def test_what_has_read_a_whole_aggregate_becomes_a_lease_at_its_last_user_record(
    count: int, stream: Stream, tmp_path: Path
) -> None:
    fill(stream, packed(count), b"plain", b"plain")
    for number, wanted in ((1, after(1, count - 1 or None)), (2, after(2))):
        root = tmp_path / f"query{number}"
        ends = root / "sources" / "0" / "shard-source" / "0"
        ends.mkdir(parents=True)
        (root / "offsets").mkdir()
        (root / "commits").mkdir()
        name = "shardId-000000000000"
        (root / "metadata").write_text('{"id":"93298073-9b45-41ce-8380-7a139ab5c479"}')
        begins = f'{{"metadata":{{"batchId":"0","streamName":"{STREAM}"}},"{name}":{{"subSequenceNumber":"-1"'
        begins += ',"isLast":"true","iteratorType":"TRIM_HORIZON","iteratorPosition":""}}'
        (root / "offsets" / "0").write_text(f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{{}}}}\n{begins}')
        (root / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
        (ends / name).write_text(
            f'{{"shardId":"{name}","iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"{number}",'
            '"subSequenceNumber":-1,"isLast":true}'
        )
        folder = tmp_path / f"migration{number}"
        folder.mkdir()
        path = stream.migration(folder, job=TRAITS)
        path.write_text(path.read_text().replace("./dumps/app.json", str(root)))
        plan = draft(ow.Migration.load(path).checkpoint("app"), "kcl-leases:app")

        assert planned(plan).new_offset == after(number)
        assert (place_of(planned(plan)), planned(plan).replay) == (wanted, 0)
        assert files.load(files.dump(plan.document), "plan", subject="it") == plan.document  # type: ignore[union-attr]


def test_on_another_stream_the_copy_of_a_part_read_aggregate_is_read_again_and_counted(
    stream: Stream, tmp_path: Path
) -> None:
    for count, sub in CASES:
        records = [*(b"read%d" % number for number in range(4)), packed(count), *(b"new%d" % n for n in range(4))]
        fill(stream, *records)
        fill(stream, *records, name=COPY)
        folder = tmp_path / f"{count}-{sub}"
        folder.mkdir()
        path = stream.migration(folder, at(5, sub), job=TRAITS)
        path.write_text(path.read_text() + f"topics: {{map: {{{STREAM}: {COPY}}}}}\nwriters: mirror-only\n")
        (row,) = ow.Migration.load(path).checkpoint("app").compare()
        whole, case = sub == count - 1, f"user record {sub} of {count}"

        assert str(row.source_offset) == f"0@{after(5, sub or None)}", case
        assert (row.target_offset, row.skip) == (after(5 if whole else 4), 0), case
        assert row.exactness is (Exactness.EXACT if whole else Exactness.BOUNDED), case
        assert row.replay == (0 if whole else sub + 1), case
        told = " ".join(row.evidence.statements)
        assert ("is processed in part" in told) is not whole, case
    stream.client.delete_stream(StreamName=COPY)


def test_a_lease_whose_record_no_read_was_left_for_is_only_claimed(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any, **__: Any) -> None:
        raise client.BusyError("as AWS says it", fix="Wait.")

    fill(stream, packed(3))
    app = checkpoint_of(stream, tmp_path / "busy", at(1, 0))
    monkeypatch.setattr("offsetwise.plugins.kinesis.stream.at_positions._Shard._read", busy)
    (row,) = app.compare()

    assert (row.exactness, row.replay, row.skip) == (Exactness.CLAIMED, None, None)
    assert "seq:1/0 is certain, and more of an aggregate may be unread" in row.evidence.reason
    assert "UNTRANSLATED" in str(draft(app, "starting-position"))


def test_without_an_answer_nothing_is_counted_of_a_lease(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, at(1, 0), job=TRAITS)
    path.write_text(path.read_text().replace(stream.address, "http://127.0.0.1:9"))
    (row,) = ow.Migration.load(path).checkpoint("app").compare()

    assert (row.exactness, row.replay, row.skip) == (Exactness.PRESERVED, None, None)
    assert "more of an aggregate may be unread" in row.evidence.reason
