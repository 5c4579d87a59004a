"""A real query of qubole's connector on a repaired copy: it starts, and skips no record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from offsetwise.engines.checkpoint import read_checkpoint
from tests.plugins.kinesis.live.engines import Query, Read
from tests.plugins.kinesis.live.moving import ready
from tests.plugins.kinesis.live.servers import Server
from tests.plugins.spark.repair.flow import repaired

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("ready")]


def began(offsets: Path) -> dict[str, int]:
    """Return after which sequence number a batch began, by shard; a batch may hold less than what was there."""
    shards = json.loads(offsets.read_text(encoding="utf-8").splitlines()[2])
    return {shard: int(at.get("iteratorPosition") or 0) for shard, at in shards.items() if shard != "metadata"}


@pytest.mark.gates
def test_a_shard_whose_single_end_was_lost_is_read_from_its_beginning_and_on_the_copy_from_the_batch(
    kinesis_mock: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    query = Query(folder=tmp_path / "query")
    second: list[Read] = []
    for first in (0, 20):
        stream.put(range(first, first + 20))
        second = query.read(stream, 20)
    last = max(int(path.name) for path in (query.checkpoint / "commits").iterdir() if path.name.isdigit())
    for path in (query.checkpoint / "offsets").iterdir():  # the next batch may be planned already
        if path.name.isdigit() and int(path.name) > last:
            path.unlink()
    begun = began(query.checkpoint / "offsets" / str(last))
    lost = min(begun)
    of_lost = set(stream.of_shard(lost))
    again = {each.number for each in second if each.number in of_lost and int(each.sequence) > begun[lost]}
    assert again
    end = query.checkpoint / "sources/0/shard-commit" / str(last) / lost
    for path in (end, end.with_name(f".{end.name}.crc")):
        path.unlink()
    (damage,) = [each for each in read_checkpoint(str(query.checkpoint)).problems if lost in each.message]
    assert "reads it from TRIM_HORIZON" in damage.message
    assert "--set repair=rebuild-shard-commit" in damage.fix

    copy, _ = repaired(query.checkpoint, "rebuild-shard-commit", tmp_path / "work")
    stream.put(range(40, 50))
    there = tmp_path / "there"
    there.mkdir()
    shutil.move(copy, there / "checkpoint")
    on_the_copy = sorted(each.number for each in Query(folder=there).read(stream, len(again) + 10))
    as_it_was = {each.number for each in query.read(stream, 10)}

    assert on_the_copy == sorted([*again, *range(40, 50)]), "from where the last batch began, each record once"
    assert min(of_lost) in as_it_was, "the connector has begun the shard anew"


def test_a_query_whose_shard_commit_was_lost_goes_on_where_its_last_batch_began(
    kinesis_mock: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(20))
    query = Query(folder=tmp_path / "query")
    assert sorted(each.number for each in query.read(stream, 20)) == list(range(20))
    stream.put(range(20, 40))
    second = query.read(stream, 20)
    assert {each.number for each in second} == set(range(20, 40))
    last = max(int(path.name) for path in (query.checkpoint / "commits").iterdir() if path.name.isdigit())
    for path in (query.checkpoint / "offsets").iterdir():  # the next batch may be planned already
        if path.name.isdigit() and int(path.name) > last:
            path.unlink()
    begun = began(query.checkpoint / "offsets" / str(last))
    shards = {number: shard for shard in begun for number in stream.of_shard(shard)}
    again = [each.number for each in second if int(each.sequence) > begun[shards[each.number]]]
    assert again
    shutil.rmtree(query.checkpoint / "sources/0/shard-commit" / str(last))

    copy, plan = repaired(query.checkpoint, "rebuild-shard-commit", tmp_path / "work")
    stream.put(range(40, 50))
    there = tmp_path / "there"
    there.mkdir()
    shutil.move(copy, there / "checkpoint")
    read = sorted(each.number for each in Query(folder=there).read(stream, len(again) + 10))

    assert read == sorted([*again, *range(40, 50)]), "from where the last batch began, each record once"
    assert "is read twice" in plan["repair"]["costs"][0]
