"""Streams that are not the ones that were read: made again, or others with shards of the same ids."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise.errors import PlanError
from offsetwise.model import Cluster, Exactness, Override, ShardRange, Snapshot, TopicPartition, TopicState
from offsetwise.plan import options
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, SPEC, TRIM_HORIZON, after, at
from tests.plugins.kinesis.streams import STREAM, Stream, lease, stream
from tests.plugins.kinesis.test_another_stream import Copy, copy, read_first
from tests.with_cases import with_cases

__all__ = ["copy", "stream"]

BORN_S, TRAITS = 1_795_000_000, "{stream: chain, stateful: false, tolerates_replay: true}"
APART_S = (-86_400, -1, 0, 1, 3_600)
OF_ANOTHER = "of another stream, or of one that was deleted and made again"


def number(shard: int, born_s: int, arrived_s: int = BORN_S + 200_000) -> int:
    return int(f"2{born_s:09x}{shard % 16:x}{7:016x}00{arrived_s:09x}{shard:08x}2", 16)


def asked(shards: int, *, closed: bool, born_s: int = BORN_S) -> Snapshot:
    """Return what a stream lists whose shards were made at one time."""
    ranges = tuple(
        ShardRange(partition=each, low=each, high=each, first=str(number(each, born_s, born_s)), closed=closed)
        for each in range(shards)
    )
    topic = TopicState(name=STREAM, id=f"arn@{born_s}", shards=ranges)
    moment = "2026-11-27T00:00:00Z"
    return Snapshot(cluster=Cluster.OLD, name="old", alias="a", cluster_id="b", taken_at=moment, topics=(topic,))


@with_cases("shard", range(3))
@with_cases("closed", [True, False])
def test_a_position_that_the_listed_shard_refutes_is_never_preserved(shard: int, *, closed: bool) -> None:
    assert SPEC.translate is not None
    for apart_s, kind in product(APART_S, ["after", "at", "SHARD_END", "TRIM_HORIZON"]):
        sequence = number(shard, BORN_S + apart_s)
        given = {"after": after(sequence), "at": at(sequence), "SHARD_END": SHARD_END}.get(kind, TRIM_HORIZON)
        key = TopicPartition(STREAM, shard)
        there = asked(3, closed=closed)
        told = SPEC.translate(given, key, key, old=there, new=there)
        refuted = bool(apart_s) if kind in ("after", "at") else kind == "SHARD_END" and not closed

        assert (told.place is None) is refuted, (apart_s, given)
        assert (OF_ANOTHER in told.reason) is refuted
        assert told.exactness is (Exactness.UNKNOWN if refuted else Exactness.PRESERVED)
        silent = replace(there, topics=(replace(there.topics[0], id=None),))
        assert SPEC.translate(given, key, key, old=silent, new=silent).exactness is Exactness.PRESERVED


@with_cases(("position", "begins"), [(LATEST, "when the job starts"), ("AT_TIMESTAMP", "the time in the job's code")])
def test_what_saves_no_place_says_where_a_start_begins(
    position: object, begins: str, stream: Stream, tmp_path: Path
) -> None:
    path = stream.migration(tmp_path, lease(0, str(position)), lease(1, "9"))
    row = ow.Migration.load(path).checkpoint("app").compare()[f"{STREAM}-0"]

    assert (row.exactness, row.target_offset) == (Exactness.UNKNOWN, None)
    assert row.evidence.reason == f"{position} saves no position: where it is depends on {begins}."


@with_cases("target", ["starting-position", "kcl-leases:another"])
@with_cases("ended", [(1,), (0, 1)], ids=str)
def test_an_open_shard_that_was_read_to_its_end_is_read_from_where_a_person_decides(
    ended: tuple[int, ...], target: str, stream: Stream, tmp_path: Path
) -> None:
    leases = [lease(each, "SHARD_END" if each in ended else "TRIM_HORIZON") for each in (0, 1)]
    checkpoint = ow.Migration.load(stream.migration(tmp_path, *leases, job=TRAITS)).checkpoint("app")
    made = checkpoint.compare()

    for each in made:
        assert (each.exactness is Exactness.UNKNOWN) is (each.partition in ended)
        assert each.behind_old is not None or each.partition in ended
    told = [each.message for each in made.findings if each.code == "UNTRANSLATED"]
    assert len(told) == len(ended)
    assert all(OF_ANOTHER in each and "decide that the shard is read from its oldest record" in each for each in told)
    with pytest.raises(PlanError, match="UNTRANSLATED"):
        checkpoint.draft(options.target(target), author="ada")
    decided = Override(offset=TRIM_HORIZON, reason="the stream was made again", by="ada")
    plan = checkpoint.draft(
        options.target(target),
        author="ada",
        overrides=tuple((TopicPartition(STREAM, each), decided) for each in ended),
    )
    assert {each.new_offset for each in plan.document.positions} == {TRIM_HORIZON}


@with_cases("ended", [0, 1])
def test_nothing_is_found_on_another_stream_for_a_shard_that_cannot_be_at_its_end(ended: int, copy: Copy) -> None:
    copy.make(2, read_first(copy.records))
    made = copy.compare(lease(ended, "SHARD_END"), lease(1 - ended, "4"))

    assert {(row.exactness, row.target_offset) for row in made} == {(Exactness.UNKNOWN, None)}
    assert all(f"lists shardId-00000000000{ended} as open" in row.evidence.reason for row in made)
