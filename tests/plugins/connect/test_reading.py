"""A connector is read over HTTP: what can be relied on becomes positions, everything else a sentence."""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from offsetwise.config import load_migration
from offsetwise.engines import exchange
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import (
    CheckpointError,
    ConfigError,
    MissingError,
    OffsetwiseError,
    OutsideRootsError,
    StorageError,
)
from offsetwise.model import Checkpoint, Cluster
from offsetwise.plugins.connect.section import new_connector
from offsetwise.workflow import checkpoint_reading, fleet
from tests.commands import call
from tests.plugins.connect.service import (
    Bad,
    ConnectCluster,
    Connector,
    Worker,
    certificate,
    drips,
    endless,
    half,
    hangs_up,
    says,
    sends,
    serving,
    uri,
)
from tests.with_cases import with_cases

OFFSETS = {("orders", 0): 1050, ("orders", 1): 7, ("views", 0): 0}
CLUSTERS = """\
name: moved
source: {name: old, properties: {bootstrap.servers: "127.0.0.1:19092"}}
target: {name: new, properties: {bootstrap.servers: "127.0.0.1:29092"}}
"""


@pytest.fixture
def cluster() -> ConnectCluster:
    return ConnectCluster({"sink": Connector(dict(OFFSETS))})


@pytest.fixture
def worker(cluster: ConnectCluster) -> Iterator[Worker]:
    with serving(cluster) as (made,):
        yield made


def positions(read: Checkpoint) -> dict[tuple[str, int], object]:
    return {(each.topic, each.partition): each.offset for source in read.sources for each in source.positions}


def codes(read: Checkpoint) -> list[str]:
    return [problem.code for problem in read.problems]


def refused(address: str, kind: type[OffsetwiseError] = StorageError) -> str:
    with pytest.raises(OffsetwiseError) as caught:
        read_checkpoint(address)
    assert type(caught.value) is kind, caught.value
    return caught.value.problem


def test_a_stopped_sink_connector_is_a_checkpoint(worker: Worker) -> None:
    read = read_checkpoint(uri(worker.host))

    assert positions(read) == OFFSETS
    assert (read.engine, read.job_id, read.problems) == ("connect", "sink", ())
    assert read.restart == "Connector sink is STOPPED and goes on with orders-0 at 1,050, orders-1 at 7, views-0 at 0."


def test_its_fingerprint_changes_with_every_offset_and_not_with_their_order(
    cluster: ConnectCluster, worker: Worker
) -> None:
    first = read_checkpoint(uri(worker.host)).pins
    cluster.connectors["sink"].offsets = dict(reversed(OFFSETS.items()))
    assert read_checkpoint(uri(worker.host)).pins == first
    cluster.connectors["sink"].offsets["views", 0] = 1
    assert read_checkpoint(uri(worker.host)).pins != first


@with_cases("state", ["RUNNING", "PAUSED", "FAILED", "UNASSIGNED", "RESTARTING"])
def test_offsets_of_a_connector_that_is_not_stopped_are_no_positions(
    state: str, cluster: ConnectCluster, worker: Worker
) -> None:
    cluster.connectors["sink"].state = state
    read = read_checkpoint(uri(worker.host))

    assert positions(read) == {}
    assert codes(read) == ["CONNECTOR_RUNNING"]
    assert f"Connector sink is {state}" in read.problems[0].message


def test_a_running_connector_that_tells_an_empty_list_is_running(cluster: ConnectCluster, worker: Worker) -> None:
    cluster.connectors["sink"] = Connector({}, state="RUNNING", tasks=1)

    assert codes(read_checkpoint(uri(worker.host))) == ["CONNECTOR_RUNNING"]


def test_tasks_that_are_left_of_a_stopped_connector_are_seen(cluster: ConnectCluster, worker: Worker) -> None:
    cluster.connectors["sink"].tasks = 2
    read = read_checkpoint(uri(worker.host))

    assert positions(read) == {}
    assert "STOPPED and still has 2 tasks" in read.problems[0].message


def test_a_connector_that_starts_while_it_is_read_is_seen(cluster: ConnectCluster, worker: Worker) -> None:
    sink = cluster.connectors["sink"]

    def resumed(handler: Any) -> None:
        sink.state = "RUNNING"
        handler.answer(200, {"offsets": sink.listed()})

    cluster.bad["GET", "/offsets"] = resumed
    read = read_checkpoint(uri(worker.host))

    assert positions(read) == {}
    assert "RUNNING now, and was stopped a moment ago" in read.problems[0].message


def test_a_stopped_connector_without_offsets_is_refused(cluster: ConnectCluster, worker: Worker) -> None:
    cluster.connectors["sink"].offsets.clear()

    assert "stopped and has committed nothing" in refused(uri(worker.host), CheckpointError)


def test_a_source_connector_is_shown_and_not_moved(cluster: ConnectCluster, worker: Worker) -> None:
    entries = [{"partition": {"filename": "in.txt"}, "offset": {"position": 30}}]
    cluster.connectors["sink"] = Connector(kind="source", state="RUNNING", tasks=1, entries=entries)
    read = read_checkpoint(uri(worker.host))

    assert positions(read) == {}
    assert codes(read) == ["CONNECTOR_SOURCE"]
    assert json.loads(str(read.sources[0].raw)) == entries
    assert "in.txt" in call("inspect", uri(worker.host)).out


BAD: dict[str, tuple[tuple[str, str], Bad, str]] = {
    "the connector is gone": (("GET", "/status"), says(404, {"message": "No status found"}), "found HTTP 404, 'No s"),
    "workers without offsets": (("GET", "/offsets"), says(404), "a connector and its offsets, found HTTP 404"),
    "a rebalance": (("GET", "/status"), says(409, {"message": "stale"}), "HTTP 409: the workers are rebalancing, 'st"),
    "a worker that cannot": (("GET", "/offsets"), says(500, {"message": "timed out"}), "HTTP 500: the worker cannot"),
    "not allowed": (("GET", "/offsets"), says(403), "lets us in, found HTTP 403"),
    "a redirect": (("GET", "/status"), says(302, Location="http://localhost:1/"), "found a redirect (HTTP 302)"),
    "half an answer": (("GET", "/offsets"), half, "its answer ends 388 bytes before"),
    "no answer": (("GET", "/offsets"), hangs_up, "its answer breaks off"),
    "an answer without end": (("GET", "/offsets"), endless, "it sends more than 16,777,216 bytes"),
    "no JSON": (("GET", "/offsets"), sends(b"<html>"), "JSON of Kafka Connect, found another answer"),
    "nested JSON": (("GET", "/offsets"), sends(b"[" * 100_000), "JSON of Kafka Connect, found another answer"),
    "another service": (("GET", "/"), says(200, {"name": "schema registry"}), "found another service"),
    "another service that knows no root": (("GET", "/"), says(404), "found another service"),
    "another shape of a status": (("GET", "/status"), says(200, {"connector": {"state": "GONE"}}), "state, tasks and"),
    "a status of nothing": (("GET", "/status"), says(200, None), "expected state, tasks and type"),
    "another connector": (("GET", ""), says(200, {"name": "other", "config": {}}), "expected name and config"),
}


@with_cases("name", BAD)
def test_a_bad_answer_is_a_sentence(name: str, cluster: ConnectCluster, worker: Worker) -> None:
    at, bad, told = BAD[name]
    cluster.bad[at] = bad
    kind = MissingError if "404, " in told or "its offsets" in told else StorageError

    assert told in refused(uri(worker.host), kind)
    assert cluster.changes == []


def entry(topic: object = "orders", partition: object = 0, offset: object = 1) -> dict[str, object]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}


OFFENDING: dict[str, object] = {
    "a float": {"offsets": [entry(offset=1.5)]},
    "2^63": {"offsets": [entry(offset=2**63)]},
    "below 0": {"offsets": [entry(offset=-1)]},
    "a text": {"offsets": [entry(offset="1")]},
    "true": {"offsets": [entry(offset=True)]},
    "null": {"offsets": [{"partition": entry()["partition"], "offset": None}]},
    "a partition twice": {"offsets": [entry(), entry(offset=2)]},
    "a partition of 2^31": {"offsets": [entry(partition=2**31)]},
    "no topic": {"offsets": [entry(topic="a b")]},
    "a topic that is a number": {"offsets": [entry(topic=7)]},
    "of a source": {"offsets": [{"partition": {"filename": "a"}, "offset": {"position": 1}}]},
    "more than offsets": {"offsets": [], "next": 2},
    "no list": {"offsets": {}},
    "nothing": None,
}


@with_cases("name", OFFENDING)
def test_offsets_that_cannot_be_used_are_refused_whole(name: str, cluster: ConnectCluster, worker: Worker) -> None:
    cluster.bad["GET", "/offsets"] = says(200, OFFENDING[name])

    with pytest.raises((CheckpointError, StorageError), match="expected"):
        read_checkpoint(uri(worker.host))


def test_an_answer_that_is_cut_anywhere_gives_no_position(cluster: ConnectCluster, worker: Worker) -> None:
    whole = json.dumps({"offsets": cluster.connectors["sink"].listed()}).encode()
    for length in range(0, len(whole), 7):
        cluster.bad["GET", "/offsets"] = sends(whole[:length])
        assert "JSON of Kafka Connect, found another answer" in refused(uri(worker.host)), length


@with_cases("below", ["/", "", "/status", "/offsets"])
def test_a_changed_answer_is_a_sentence_or_positions(below: str, cluster: ConnectCluster, worker: Worker) -> None:
    sink = cluster.connectors["sink"]
    told = {"state": "STOPPED", "worker_id": "w"}
    whole = {
        "/": {"version": "4.1.1", "commit": "c", "kafka_cluster_id": "k"},
        "": {"name": "sink", "config": {}, "tasks": [], "type": "sink"},
        "/status": {"name": "sink", "connector": told, "tasks": [], "type": "sink"},
        "/offsets": {"offsets": sink.listed()},
    }[below]
    chosen = random.Random(32)
    for _ in range(40):
        data = bytearray(json.dumps(whole).encode())
        for _ in range(chosen.choice((1, 1, 3))):
            data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
        cluster.bad["GET", below] = sends(bytes(data))
        with suppress(OffsetwiseError):
            read = read_checkpoint(uri(worker.host))
            assert below == "/offsets" or read.problems or positions(read) == OFFSETS, bytes(data)


def test_a_slow_answer_is_ended_by_the_clock(
    cluster: ConnectCluster, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "ANSWER_S", 0.3)
    cluster.bad["GET", "/offsets"] = drips

    assert "it does not answer in time" in refused(uri(worker.host))


def test_the_next_worker_is_asked_where_one_is_away(cluster: ConnectCluster) -> None:
    with serving(cluster, cluster) as (first, second):
        first.shutdown()
        first.server_close()
        read = read_checkpoint(uri(first.host, second.host))

    assert positions(read) == OFFSETS
    assert "1 worker did not answer: http://localhost:" in read.restart


def test_that_no_worker_answers_is_said_with_every_reason(cluster: ConnectCluster) -> None:
    with serving(cluster) as (gone,):
        pass
    told = refused(uri(gone.host))

    assert "expected a worker that answers, found none" in told
    assert "Connection refused" in told


def test_workers_of_two_clusters_are_told_apart_by_their_kafka(cluster: ConnectCluster) -> None:
    other = ConnectCluster({"sink": Connector({("orders", 0): 1})}, kafka="another")
    with serving(cluster, other) as (first, second):
        told = refused(uri(first.host, second.host))

    assert "expected workers of one Connect cluster, found several" in told
    assert "is on Kafka cluster another" in told


def test_workers_of_two_clusters_on_one_kafka_are_told_apart_by_the_connector(cluster: ConnectCluster) -> None:
    with serving(ConnectCluster(), cluster) as (first, second):
        told = refused(uri(first.host, second.host))

    assert f"{second.url} has the connector, and {first.url} has not" in told


def named(folder: Path, **entry: object) -> Path:
    path = folder / "m.yaml"
    path.write_text(f"{CLUSTERS}connect: [{json.dumps({'name': 'etl', 'connector': 'sink'} | entry)}]\n")
    return path


def test_it_signs_on_over_tls_with_secrets_by_reference_that_no_document_has(
    cluster: ConnectCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.users = {f"Basic {b64encode(b'ada:secret').decode()}": "ada"}
    (tmp_path / "password").write_text("secret\n")
    monkeypatch.setenv("CONNECT_USER", "ada")
    with serving(cluster, tls=certificate(tmp_path)) as (worker,):
        stated = {"url": worker.url, "user": "${CONNECT_USER}", "password": "file:password", "ca": "./ca.pem"}
        migration = load_migration(named(tmp_path, **stated))
        read = checkpoint_reading(migration, "etl").checkpoint
        monkeypatch.setenv("CONNECT_USER", "eve")
        with pytest.raises(StorageError, match="HTTP 401"):
            checkpoint_reading(migration, "etl")
        untrusted = load_migration(named(tmp_path, **{**stated, "ca": None}))
        with pytest.raises(StorageError, match="its certificate is not trusted"):
            checkpoint_reading(untrusted, "etl")

    assert positions(read) == OFFSETS
    assert read.uri == uri(worker.host, scheme="https")
    assert "password" not in repr(read)


def test_a_connector_that_the_migration_file_does_not_name_is_not_asked(worker: Worker, tmp_path: Path) -> None:
    roots = load_migration(named(tmp_path, url="http://localhost:1")).checkpoint_roots

    with pytest.raises(OutsideRootsError, match="a connector that the migration file names"):
        read_checkpoint(uri(worker.host), roots=roots)


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "a secret written out": ({"url": "http://h:1", "user": "a", "password": "s3cret"}, "found it written out"),
    "a password alone": ({"url": "http://h:1", "password": "${P}"}, "expected user beside password"),
    "a key alone": ({"url": "https://h:1", "key": "k.pem"}, "expected certificate beside key"),
    "certificates without TLS": ({"url": "http://h:1", "ca": "ca.pem"}, "expected addresses of https"),
    "no address": ({}, "expected url, or urls"),
    "url and urls": ({"url": "http://h:1", "urls": ["http://i:1"]}, "expected url, or urls"),
    "two schemes": ({"urls": ["http://h:1", "https://i:1"]}, "urls of one scheme and path"),
    "credentials in the address": ({"url": "http://ada:secret@h:1"}, "url cannot be used"),
    "a query": ({"url": "http://h:1/?a=b"}, "url cannot be used"),
    "another scheme": ({"url": "ftp://h:1"}, "url cannot be used"),
    "a slash in the name": ({"url": "http://h:1", "connector": "a/b"}, "connector cannot be used"),
}


@with_cases("name", REFUSED)
def test_a_section_that_cannot_be_used_is_refused(name: str, tmp_path: Path) -> None:
    stated, told = REFUSED[name]
    with pytest.raises(ConfigError) as caught:
        load_migration(named(tmp_path, **stated))

    assert told in caught.value.problem
    assert "s3cret" not in str(caught.value)


def test_only_the_section_connect_names_a_connector(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    for section in ("checkpoints: [{name: a, uri: URI}]", "checkpoint_roots: [URI]"):
        path.write_text(f"{CLUSTERS}{section.replace('URI', uri('h:1'))}\n")
        with pytest.raises(ConfigError, match="found a connector of Kafka Connect"):
            load_migration(path)


def test_a_connector_of_the_new_cluster_is_no_checkpoint(tmp_path: Path) -> None:
    migration = load_migration(named(tmp_path, url="http://localhost:1", cluster="new"))

    assert migration.checkpoints == ()
    assert new_connector(migration, "etl").address.connector == "sink"


def test_the_fleet_lists_a_connector_once_and_without_how_to_sign_on(worker: Worker, tmp_path: Path) -> None:
    migration = load_migration(named(tmp_path, url=worker.url, user="ada"))
    read = fleet(migration)

    assert [(row.uri, row.names) for row in read.rows] == [(uri(worker.host), ("etl",))]
    assert "user" not in repr(read.rows)


def test_a_migration_file_with_roots_of_its_own_reads_its_connectors_too(worker: Worker, tmp_path: Path) -> None:
    path = named(tmp_path, url=worker.url)
    path.write_text(f"{path.read_text()}checkpoint_roots: [./checkpoints]\n")
    migration = load_migration(path)

    assert positions(checkpoint_reading(migration, "etl").checkpoint) == OFFSETS
    assert migration.checkpoint("etl").job.commits_to == "connect-sink"
    assert migration.checkpoint("etl").belongs_to is Cluster.OLD


@with_cases(
    "given",
    [
        "connect+http://h:1/sink",
        "connect+http://a:b@h:1/connectors/s",
        "connect+http://h:1/connectors/a%2Fb",
        "connect+http://h:1/connectors/s?password=x&password=y",
        "connect+http://h:1/connectors/s?token=x",
    ],
)
def test_another_form_of_a_uri_is_refused(given: str) -> None:
    told = refused(given)

    assert re.search("expected (connect|the name of a connector)", told)
    assert "password" not in told


def test_a_secret_that_is_typed_out_is_refused_unseen() -> None:
    assert "s3cret" not in refused("connect+http://h:1/connectors/s?user=a&password=s3cret", ConfigError)
