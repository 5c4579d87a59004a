"""How far positions are behind in time: what the stream is asked, what its answers mean, and what that takes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import offsetwise as ow
from offsetwise import files
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.lag.view import lag_view
from offsetwise.model import Behind, Cluster, Left, ShardRange, Snapshot, TopicPartition, TopicState
from offsetwise.plugins.kinesis.stream import at_positions, client
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, TRIM_HORIZON, ShardPlace, after
from offsetwise.store.store import open_store
from offsetwise.streams.abilities import Place, ReadAt
from offsetwise.watch.reading import take_samples
from offsetwise.watch.sampler import subjects_of
from offsetwise.wording.time_lag import lag_text
from offsetwise.workflow.time_lag import worst
from tests.commands import call
from tests.plugins.kinesis.streams import Stream, lease, stream
from tests.with_cases import with_cases

__all__ = ["stream"]

NUMBER = 49680455763250547512785282537201273657299891119728885762
"""After it, nothing came since the time that it tells."""
CONFIG = ClusterConfig(name="old", stream="kinesis", properties={"region": "us-east-1"})


class Answers:
    """A client that answers each read of a shard with the next answer: records, what is behind, whether it goes on."""

    def __init__(self, answers: Mapping[int, Sequence[tuple[int, int, bool] | str]]) -> None:
        self.left = {shard: [*each] for shard, each in answers.items()}

    def get_shard_iterator(self, *, ShardId: str, **_: Any) -> dict[str, str]:  # noqa: N803 - boto3's own
        return {"ShardIterator": ShardId}

    def get_records(self, *, ShardIterator: str, Limit: int) -> dict[str, Any]:  # noqa: N803 - as above
        answer = self.left[int(ShardIterator[-12:])].pop(0)
        if isinstance(answer, str):
            from botocore.exceptions import ClientError  # noqa: PLC0415 - of an extra

            raise ClientError({"Error": {"Code": answer, "Message": "as AWS says it"}}, "GetRecords")
        count, behind_ms, goes_on = answer
        record = {"Data": b"12345", "PartitionKey": "key", "ApproximateArrivalTimestamp": datetime.now(UTC)}
        given = {"Records": [record] * min(count, Limit), "MillisBehindLatest": behind_ms}
        return given | ({"NextShardIterator": ShardIterator} if goes_on else {})


def asked(
    monkeypatch: pytest.MonkeyPatch,
    answers: Mapping[int, Sequence[tuple[int, int, bool] | str]],
    *places: tuple[int, ShardPlace],
    closed: bool = False,
) -> tuple[ReadAt, dict[tuple[int, ShardPlace], Behind]]:
    pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    ready = client.asking(CONFIG)
    ready.client = Answers(answers)
    monkeypatch.setattr(at_positions, "asking", lambda _: ready)
    monkeypatch.setattr(client.PACE, "apart_s", 0.0)
    shards = tuple(ShardRange(partition=each, low=0, high=1, closed=closed) for each in range(4))
    topic = TopicState(name="s", id="arn@1", shards=shards)
    at = "2026-11-23T00:00:00Z"
    taken = Snapshot(cluster=Cluster.OLD, name="old", alias="old", cluster_id="x", taken_at=at, topics=(topic,))
    made = at_positions.read_at(CONFIG, [(TopicPartition("s", shard), place) for shard, place in places], taken)
    return made, {(key.partition, place): each for (key, place), each in made.lag_by_position.items()}  # type: ignore[misc]


@with_cases(
    ("answers", "place", "closed", "said"),
    [
        ([(1, 90_000, True)], after(NUMBER), False, "1 min 30 s"),
        ([(1, 0, True)], after(NUMBER), False, "0 s, 1 record"),
        ([(0, 0, True)], after(NUMBER), False, "0 s, no record since 2026-11-22 09:21:04 UTC"),
        ([(0, 0, True)], after(5), False, "0 s"),
        ([(0, 4_000, True)], TRIM_HORIZON, False, "4 s"),
        (["ProvisionedThroughputExceededException"], TRIM_HORIZON, False, "?"),
        ([], LATEST, False, None),
        ([], SHARD_END, True, "ended"),
        ([(0, 0, False)], after(5), True, "ended"),
        ([(9, 2_000, True), (3, 1_000, False)], after(5), True, "2 s, 12 records"),
        ([(1_000, 7_000, True)], after(5), True, "7 s"),
        ([(0, 0, True)] * 3, after(5), True, "?"),
    ],
    ids=str,
)
def test_an_answer_is_told_as_time_and_counted_only_where_all_was_read(
    answers: Sequence[tuple[int, int, bool] | str],
    place: ShardPlace,
    closed: bool,
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, told = asked(monkeypatch, {0: answers}, (0, place), closed=closed)
    assert {key: lag_text(each) for key, each in told.items()} == ({} if said is None else {(0, place): said})


def test_a_position_in_several_shards_is_as_far_behind_as_the_worst_of_them() -> None:
    def of(*parts: Behind | None) -> Behind | None:
        places: list[Place] = [(TopicPartition("s", number), after(5)) for number in range(len(parts))]
        told = {place: part for place, part in zip(places, parts, strict=True) if part is not None}
        return worst(places, ReadAt(lag_by_position=told))

    late, one, idle = (
        Behind(left=Left.RECORDS, ms=ms, records=records) for ms, records in ((3_000, None), (0, 1), (0, 0))
    )
    ended = Behind(left=Left.ENDED)
    assert of(one, late, ended) == late
    assert of(one, idle, ended) == one
    assert of(one, one) == replace(one, records=2)
    assert (of(ended, ended), of(one, None), of()) == (replace(ended, records=0), None, None)


def test_a_shard_is_read_once_a_second_whatever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", sleep)
    pace = client.Pace(1.0)
    for shard in ("0", "1", "0", "0"):
        pace.wait("us-east-1", "s", shard)
    clock[0] += 5
    pace.wait("us-east-1", "s", "0")
    assert slept == [1.0, 1.0]


def test_the_lag_is_in_the_table_the_file_and_the_sentence_of_what_it_took(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"))
    made = ow.Migration.load(path).checkpoint("app").compare()

    assert [(row.lag_old, row.behind_old == row.behind_new) for row in made.partitions] == [(None, True)] * 2
    assert [row.behind_old and row.behind_old.left for row in made.partitions] == [Left.RECORDS, Left.NOTHING]
    assert made.quota is not None
    assert (made.quota.partitions, made.quota.reads, made.quota.most_reads) == (2, 2, 1)
    assert files.load(files.dump(made), "comparison", subject="it") == made
    told = call("compare", "--migration", path, "--checkpoint", "app", width=200).out
    assert "The lag took 2 reads of 2 shards, at most 1 of one" in told
    assert "of the 5 reads and 2.0 MiB a second that all its readers share" in told
    row = call("compare", "--migration", path, "--checkpoint", "app", "--json").answered()["partitions"][1]
    assert row["behind_old"] == {"last_ms": None, "left": "NOTHING", "ms": 0, "records": "0"}


def test_watch_samples_the_time_and_the_store_keeps_it(stream: Stream, tmp_path: Path) -> None:
    path, store = stream.migration(tmp_path, lease(0, "5"), lease(1, "9")), f"sqlite:///{tmp_path / 'store.sqlite'}"
    sample = call("watch", "-m", path, "--count", "1", "--store", store, "--json").answered()
    assert [(row["position"], row["behind_old"]["left"]) for row in sample["partitions"]] == [
        ("seq:5", "RECORDS"),
        ("seq:9", "NOTHING"),
    ]
    assert (sample["missing"], sample["quota"]["reads"]) == ([], 2)
    (subject,) = subjects_of(load_migration(path))
    with open_store(store) as opened:
        view = lag_view(opened, subject, 3_600_000)
    assert view is not None
    assert [each.furthest[Cluster.OLD] is not None for each in view.points] == [True]
    assert view.newest.sample.partitions[1].behind_old == Behind(left=Left.NOTHING, ms=0, records=0)


def test_a_stream_that_is_not_named_leaves_the_sample_without_positions(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), job="{stateful: false}")
    (sample,) = take_samples(load_migration(path), subjects_of(load_migration(path)), sampled_by="a test")
    (missing,) = sample.missing
    assert (missing.part.value, "expected the name of a stream" in missing.problem) == ("positions", True)
