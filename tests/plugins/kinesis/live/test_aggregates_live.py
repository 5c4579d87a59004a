"""An application of the KCL stops inside an aggregate, and another engine goes on: the records that are read count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.plugins.kinesis.aggregates import aggregate
from tests.plugins.kinesis.live.engines import Application, Query
from tests.plugins.kinesis.live.moving import approved, migrated, ready
from tests.plugins.kinesis.live.servers import Server, Stream

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("ready")]
PACKED: Final = 4
WRITTEN: Final = 1 + 3 * PACKED
"""A plain record, and three aggregates."""


@pytest.fixture
def stream(kinesis_mock: Server) -> Stream:
    """Return a stream of one shard, whose oldest record is a plain one."""
    made = kinesis_mock.stream(1)
    made.put([0])
    for first in range(1, WRITTEN, PACKED):
        data = aggregate([b"%d" % number for number in range(first, first + PACKED)])
        made.server.client.put_record(StreamName=made.name, PartitionKey="k", Data=data)
    return made


def app_of(stream: Stream, dynamodb_local: Server, tmp_path: Path) -> Application:
    return Application(version="2.7.2", name=f"kcl-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)


@pytest.mark.gates
def test_what_cannot_go_on_inside_an_aggregate_is_refused_and_reads_it_again_where_a_person_decides(
    stream: Stream, dynamodb_local: Server, tmp_path: Path
) -> None:
    app = app_of(stream, dynamodb_local, tmp_path)
    first = app.read(stream, 2)
    ((key, row),) = app.rows().items()
    assert (key, row["checkpointSubSequenceNumber"]) == ("shardId-000000000000", {"N": "0"}), "as a plain record has it"

    folder = migrated(tmp_path / "there", stream, app.uri, app.dynamodb)
    refused = folder.draft("--target", "starting-position")
    assert refused.code == 1
    place = f"at:{row['checkpoint']['S']}"
    assert f"{place} reads all of it again" in " ".join(refused.err.split())
    decided = folder.draft(
        *("--target", "starting-position", "--override", f"{stream.name}:0={place}", "--reason", "reads it again")
    )
    assert decided.code == 0, decided.err
    start = folder.path / "out" / "start.json"
    approved(folder, "--output", start)
    second = Query(folder=tmp_path / "query").read(stream, WRITTEN - 1, begin=start.read_text().strip())

    assert Counter(each.number for each in (*first, *second)) == Counter([*range(WRITTEN), 1]), "one record twice"


def test_at_the_last_user_record_another_engine_goes_on_and_comes_back_reading_each_record_once(
    stream: Stream, dynamodb_local: Server, tmp_path: Path
) -> None:
    app = app_of(stream, dynamodb_local, tmp_path)
    first = app.read(stream, 1 + PACKED)
    (row,) = app.rows().values()
    assert row["checkpointSubSequenceNumber"] == {"N": str(PACKED - 1)}

    folder = migrated(tmp_path / "there", stream, app.uri, app.dynamodb)
    drafted = folder.draft("--target", "starting-position")
    assert drafted.code == 0, drafted.err
    start, query = folder.path / "out" / "start.json", Query(folder=tmp_path / "query")
    approved(folder, "--output", start)
    second = query.read(stream, 2 * PACKED, begin=start.read_text().strip())
    stream.put([WRITTEN])

    folder = migrated(tmp_path / "back", stream, query.checkpoint, app.dynamodb)
    drafted = folder.draft("--target", f"kcl-leases:{app.name}")
    assert drafted.code == 0, drafted.err
    approved(folder)
    third = app.read(stream, 1)

    assert sorted(each.number for each in (*first, *second, *third)) == list(range(WRITTEN + 1))
