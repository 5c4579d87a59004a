"""Findings about positions that are not there say how much is at stake, as far as numbers and clusters tell."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import offsetwise as ow
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings import judge_migration
from offsetwise.model import Checkpoint, Cluster, PartitionState, TopicPartition, TopicState
from offsetwise.plugins.kinesis.kcl.findings import lease_at_latest
from offsetwise.plugins.kinesis.stream.findings import held_by
from offsetwise.plugins.kinesis.stream.numbers import evidence_of, moment
from offsetwise.plugins.kinesis.stream.spec import LATEST, at
from offsetwise.wording import duration, utc
from tests.findings.cases import migration, snapshot
from tests.plugins.kinesis.streams import STREAM, Stream, lease, stream
from tests.with_cases import with_cases

__all__ = ["stream"]

DATA = Path(__file__).parents[2] / "data" / "kinesis"
NOW_S = 1_780_000_000
HOUR_MS = 3_600_000
REAL = "49680455763250547512785282537201273657299891119728885762"


def number(shard: int, arrived_s: int) -> int:
    """Make the number of a record that arrived then, as Kinesis numbers it."""
    made = 2 << 184 | (NOW_S - 9_000_000) << 148 | shard % 16 << 144 | arrived_s << 36 | shard << 4 | 2
    found = evidence_of(made)
    assert found is not None
    assert (found.shard, found.arrived_s) == (shard, arrived_s)
    return made


def held(
    ages_s: Mapping[int, int | None], asked: Collection[int], *, hours: int | None = 24, there: bool = True
) -> str:
    """Ask about shards of a stream whose oldest records are so old; an age of None is a number that tells none."""
    oldest = {shard: 1 if age is None else number(shard, NOW_S - age) for shard, age in ages_s.items()}
    topic = TopicState(
        name="s",
        id="arn" if there else None,
        partitions=tuple(
            PartitionState(partition=shard, log_start=at(first), hw=LATEST, lso=LATEST)
            for shard, first in oldest.items()
        ),
        config=() if hours is None else (("retention.ms", str(hours * HOUR_MS)),),
    )
    case = migration(now_ms=NOW_S * 1000, old=snapshot(Cluster.OLD, topics=(topic,)))
    return held_by(case, [TopicPartition("s", shard) for shard in asked])


@with_cases("seed", range(30))
def test_shards_hold_as_much_as_lies_between_their_oldest_record_and_the_look(seed: int) -> None:
    chosen = random.Random(seed)
    ages = {shard: chosen.choice([None, chosen.randrange(8_000_000)]) for shard in range(chosen.randrange(1, 6))}
    asked = chosen.sample(sorted(ages), chosen.randrange(1, len(ages) + 1))
    hours = chosen.choice([24, 168])
    most_ms = max(hours * HOUR_MS if (age := ages[shard]) is None else age * 1000 for shard in asked)

    whose = "it holds" if len(asked) == 1 else f"the {len(asked)} shards hold"
    assert held(ages, asked, hours=hours) == (
        f"When the stream was read, {whose} the records of up to {duration(most_ms)}."
    )


def test_nothing_is_said_of_what_nobody_listed() -> None:
    assert held({0: 5}, [1]) == ""
    assert held({0: 5}, [0], there=False) == ""
    assert held({0: None}, [0], hours=None) == ""


@with_cases("newest_s", [None, 1_700_000_000])
def test_a_lease_at_latest_says_until_when_the_application_ran_at_least(newest_s: int | None) -> None:
    (problem,) = lease_at_latest("shardId-000000000000", newest_s)

    assert ("was not stopped before" in problem.message) == (newest_s is not None)
    assert newest_s is None or moment(newest_s) in problem.message


def of_code(found: Checkpoint, code: str) -> str:
    (message,) = (each.message for each in found.problems if each.code == code)
    return message


def test_a_lease_at_latest_is_said_with_what_its_shard_holds(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "LATEST"), lease(1, "9"), lease(2, REAL))
    evidence = evidence_of(int(REAL))
    assert evidence is not None
    read = of_code(read_checkpoint(str(tmp_path / "dumps" / "app.json")), "LEASE_AT_LATEST")
    assert read.endswith(f"arrived at {moment(evidence.arrived_s)}: it was not stopped before.")

    comparison = ow.Migration.load(path).checkpoint("app").compare()

    (told,) = (each.message for each in comparison.findings if each.code == "LEASE_AT_LATEST")
    assert told == f"{read} When the stream was read, it holds the records of up to 1 d. As much can be skipped."


def test_shards_that_a_query_does_not_name_are_said_with_what_they_hold(stream: Stream, tmp_path: Path) -> None:
    folder = shutil.copytree(
        DATA / "spark" / "awslabs-2.0.0-committed", tmp_path / "query", ignore=shutil.ignore_patterns("*.crc")
    )
    for shard, last in ((0, "1"), (1, "9")):
        end = folder / "sources" / "0" / "shard-source" / "0" / f"shardId-{shard:012}"
        end.write_text(json.dumps(json.loads(end.read_text()) | {"iteratorPosition": last}))
    line = folder / "offsets" / "0"
    line.write_text(line.read_text().replace('"spk"', f'"{STREAM}"'))
    stream.split()
    path = stream.migration(tmp_path)
    path.write_text(path.read_text().replace("./dumps/app.json", "./query"))

    comparison = ow.Migration.load(path).checkpoint("app").compare()

    (told,) = (each.message for each in comparison.findings if each.code == "CHILDREN_AT_NOW")
    assert told.endswith("When the stream was read, the 2 shards hold the records of up to 1 d.")


@with_cases("hours", [0, 30])
def test_an_empty_state_is_said_with_what_came_since_it_was_written(hours: int) -> None:
    read = read_checkpoint(str(DATA / "flink" / "streams-source-5.1.0-positions-lost"))
    written_ms = read.details.written_ms
    assert written_ms is not None
    assert f"at {utc(written_ms)}." in of_code(read, "STATE_EMPTY")

    found = judge_migration(replace(migration(), checkpoint=read, now_ms=written_ms + hours * HOUR_MS))

    (told,) = (each.message for each in found if each.code == "STATE_EMPTY")
    assert told.endswith(f"When the clusters were read, that was {duration(hours * HOUR_MS)} of records.")
