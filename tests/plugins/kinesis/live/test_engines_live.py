"""One engine stops in mid-stream, and another goes on: each unread record is read exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.flink_cluster import running
from tests.plugins.kinesis.live.engines import FLINK, Application, Job, Query
from tests.plugins.kinesis.live.moving import approved, migrated, ready
from tests.plugins.kinesis.live.servers import Server, Stream

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("ready")]


@pytest.fixture(scope="module")
def stream(kinesis_mock: Server) -> Stream:
    return kinesis_mock.stream(2)


@pytest.fixture(scope="module")
def app(dynamodb_local: Server, tmp_path_factory: pytest.TempPathFactory) -> Application:
    """An application with one table for all tests; the first one makes it."""
    return Application(
        version="2.7.2", name="orders-app", dynamodb=dynamodb_local, folder=tmp_path_factory.mktemp("kcl")
    )


def test_qubole_goes_on_where_an_application_stopped_and_the_application_where_qubole_did(
    stream: Stream, app: Application, tmp_path: Path
) -> None:
    stream.put(range(60))
    query = Query(folder=tmp_path / "query")
    first = app.read(stream, 30)

    folder = migrated(tmp_path / "there", stream, app.uri, app.dynamodb)
    drafted = folder.draft("--target", "starting-position")
    assert drafted.code == 0, drafted.err
    start = folder.path / "out" / "start.json"
    approved(folder, "--output", start)
    second = query.read(stream, 10, begin=start.read_text().strip())
    left = set(range(60)) - {each.number for each in (*first, *second)}
    assert 0 < len(left) < 30, "it stopped in mid-stream"

    folder = migrated(tmp_path / "back", stream, query.checkpoint, app.dynamodb)
    drafted = folder.draft("--target", f"kcl-leases:{app.name}")
    assert drafted.code == 0, drafted.err
    approved(folder)
    third = app.read(stream, len(left))

    assert sorted(each.number for each in (*first, *second, *third)) == list(range(60))


@pytest.mark.gates
def test_an_application_goes_on_where_the_legacy_consumer_of_flink_stopped(
    stream: Stream, app: Application, tmp_path: Path
) -> None:
    written = len(stream.places)
    with running(FLINK, tmp_path / "flink") as flink:
        job = Job(flink=flink, stream=stream)
        begun = job.start()
        assert sorted(job.until(begun, written)) == list(range(written))
        savepoint = flink.stop(begun, tmp_path / "savepoints")
    stream.put(range(written, written + 20))

    folder = migrated(tmp_path / "there", stream, savepoint, app.dynamodb)
    drafted = folder.draft("--target", f"kcl-leases:{app.name}")
    assert drafted.code == 0, drafted.err
    approved(folder)

    assert sorted(each.number for each in app.read(stream, 20)) == list(range(written, written + 20))
