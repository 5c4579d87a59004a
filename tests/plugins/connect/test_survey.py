"""The connectors of a survey: asked of workers over HTTP, written into the migration file, and read by its reader."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.api.init import _updated as updated
from offsetwise.config import Migration, load_migration
from offsetwise.errors import ConfigError
from offsetwise.model import Cluster, GroupOffset, GroupState, Snapshot
from offsetwise.plugins.connect.section import ConnectConfig
from offsetwise.progress import no_progress
from offsetwise.survey.connectors import parse_connect, surveyed_connectors
from offsetwise.survey.naming import naming
from offsetwise.survey.reading import surveyed
from offsetwise.survey.results import Survey, SurveyedConnector, Trouble
from offsetwise.survey.text import migration_text
from tests.plugins.connect.service import ConnectCluster, Connector, Worker, endless, half, says, serving
from tests.survey.recorded import GIVEN, LIB, MIRRORED, snapshots
from tests.with_cases import with_cases

TOPIC = {"topics": "orders"}


@pytest.fixture
def taken() -> dict[Cluster, Snapshot]:
    """What both clusters of the sample said, with the group of a connector on the old one."""
    read = {side: snapshot for side, snapshot in snapshots("sample").items() if snapshot is not None}
    old = read[Cluster.OLD]
    group = GroupState(
        name="connect-orders-sink",
        state="Empty",
        offsets=tuple(GroupOffset(topic="orders", partition=each, offset=1050) for each in range(2)),
    )
    return {**read, Cluster.OLD: replace(old, groups=(*old.groups, group))}


@pytest.fixture
def both(taken: dict[Cluster, Snapshot]) -> Iterator[tuple[Worker, Worker]]:
    """Workers on the old cluster and on the new one."""
    old = {
        "orders-sink": Connector(offsets={("orders", 0): 1050, ("orders", 1): 1050}, config=TOPIC),
        "busy": Connector(state="RUNNING", tasks=2, config=TOPIC),
        "ending": Connector(state="STOPPED", tasks=1, config=TOPIC),
        "bare": Connector(config=TOPIC),
        "jdbc": Connector(kind="source", state="RUNNING", tasks=1, entries=[]),
        "split": Connector(config={**TOPIC, "consumer.override.bootstrap.servers": "elsewhere:9092"}),
    }
    new = {"orders-sink": Connector(config=TOPIC)}
    clusters = [
        ConnectCluster(connectors=connectors, kafka=taken[side].cluster_id)
        for side, connectors in ((Cluster.OLD, old), (Cluster.NEW, new))
    ]
    with serving(*clusters) as workers:
        yield workers[0], workers[1]


def asked(
    taken: dict[Cluster, Snapshot], *urls: str, problems: list[Trouble] | None = None
) -> tuple[SurveyedConnector, ...]:
    found = [] if problems is None else problems
    return surveyed_connectors([parse_connect(url) for url in urls], GIVEN, taken, found, no_progress)


def survey(taken: dict[Cluster, Snapshot], *urls: str, root: Path | None = None) -> Survey:
    connectors = asked(taken, *urls)
    names = naming(taken[Cluster.OLD], taken[Cluster.NEW])
    roots = () if root is None else (str(root),)
    return surveyed(GIVEN, taken, names, link=MIRRORED, roots=roots, connectors=connectors)


def written(found: Survey, folder: Path) -> tuple[str, Migration]:
    text, left = migration_text(found, folder, "moved")
    assert left == 0
    (folder / "m.yaml").write_text(text, encoding="utf-8")
    return text, load_migration(folder / "m.yaml")


def test_sinks_are_named_and_the_others_are_comments_with_their_reason(
    taken: dict[Cluster, Snapshot], both: tuple[Worker, Worker], tmp_path: Path
) -> None:
    found = survey(taken, both[0].url, both[1].url)
    text, migration = written(found, tmp_path)

    by_name = {config.name: config for config in migration.entries_of(ConnectConfig)}
    assert {*by_name} == {"orders-sink", "busy", "ending", "orders-sink-2"}
    assert by_name["orders-sink"].cluster is Cluster.OLD
    assert by_name["orders-sink-2"].cluster is Cluster.NEW
    assert by_name["orders-sink-2"].address.connector == "orders-sink"
    assert by_name["orders-sink"].urls == (both[0].url,)
    told = " ".join(line.strip(" #") for line in text.splitlines())
    assert "Sink connector, STOPPED, 2 offsets" in told
    assert "CONNECTOR_RUNNING: Connector busy is RUNNING" in told
    assert "CONNECTOR_RUNNING: Connector ending is STOPPED and has 1 task" in told
    reasons = {connector.name: connector.left_out or "" for connector in found.connectors}
    assert reasons["jdbc"].startswith("CONNECTOR_SOURCE: a source connector has no positions in Kafka")
    assert reasons["bare"] == "it is stopped and has committed nothing, so there is no position to move"
    assert "one Kafka cluster" in reasons["split"]
    for name in ("jdbc", "bare", "split"):
        assert f"left out: {found_kind(found, name)} {name}: " in told


def found_kind(found: Survey, name: str) -> str:
    return next(connector.kind for connector in found.connectors if connector.name == name)


def test_the_group_of_a_connector_is_no_job_of_its_own(
    taken: dict[Cluster, Snapshot], both: tuple[Worker, Worker], tmp_path: Path
) -> None:
    assert "connect-orders-sink" in written(survey(taken), tmp_path)[1].group_names

    text, migration = written(survey(taken, both[0].url), tmp_path)

    assert "connect-orders-sink" not in migration.group_names
    assert "connect-orders-sink: it holds the offsets of the connector orders-sink" in text


def test_a_connector_of_neither_cluster_is_a_comment(taken: dict[Cluster, Snapshot], tmp_path: Path) -> None:
    cluster = ConnectCluster(connectors={"sink": Connector(config=TOPIC)}, kafka="another")
    with serving(cluster) as (worker,):
        found = survey(taken, worker.url)

    assert written(found, tmp_path)[1].entries == ()
    assert found.connectors[0].left_out == (
        "its workers are on Kafka cluster another, which is not known to be one of the two clusters"
    )


@with_cases(
    ("answer", "said"),
    [
        (says(409, {"error_code": 409, "message": "rebalancing"}), "the workers are rebalancing"),
        (says(302, None, Location="http://elsewhere"), "found a redirect (HTTP 302), which is not followed"),
        (half, "found none"),
        (endless, "found none"),
        (says(200, ["orders-sink"]), "expected the connectors by name, with info and status, of a connector"),
        (says(200, {"sink": {"info": {}, "status": {}}}), "expected name and config of a connector"),
        (says(200, {"sink": None}), "expected name and config of a connector"),
        (says(200, {}), "expected connectors, found none on these workers"),
    ],
    ids=["409", "redirect", "half", "endless", "names alone", "nothing in it", "null", "none"],
)
def test_workers_that_answer_badly_are_a_problem_and_the_rest_is_found(
    taken: dict[Cluster, Snapshot], both: tuple[Worker, Worker], answer: object, said: str
) -> None:
    bad = ConnectCluster(kafka=taken[Cluster.OLD].cluster_id)
    problems: list[Trouble] = []
    with serving(bad) as (worker,):
        bad.bad["GET", "list"] = answer  # type: ignore[assignment]
        found = asked(taken, worker.url, both[1].url, problems=problems)

    assert [connector.name for connector in found] == ["orders-sink"]
    assert [said in trouble.problem for trouble in problems] == [True], problems


@with_cases(
    "text",
    ["localhost:8083", "ftp://localhost:8083", "http://localhost:8083?token=x", "http://", "http://a:1;b:2"],
)
def test_what_is_no_address_of_workers_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--connect: expected http://HOST:PORT"):
        parse_connect(text)


def test_a_secret_is_a_reference_and_is_written_as_one(
    taken: dict[Cluster, Snapshot], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_connect("http://localhost:8083?user=ada&password=hunter2")
    assert "hunter2" not in str(refused.value)
    monkeypatch.setenv("CONNECT_PASSWORD", "hunter2")
    header = "Basic YWRhOmh1bnRlcjI="
    cluster = ConnectCluster(
        connectors={"sink": Connector(offsets={("orders", 0): 5}, config=TOPIC)},
        kafka=taken[Cluster.OLD].cluster_id,
        users={header: "ada"},
    )
    with serving(cluster) as (worker,):
        text, migration = written(survey(taken, f"{worker.url}?user=ada&password=${{CONNECT_PASSWORD}}"), tmp_path)

    assert "hunter2" not in text
    (sink,) = migration.entries_of(ConnectConfig)
    assert (sink.user, sink.password) == ("ada", "${CONNECT_PASSWORD}")


def test_an_update_adds_what_has_appeared_and_keeps_comments(
    taken: dict[Cluster, Snapshot], both: tuple[Worker, Worker], tmp_path: Path
) -> None:
    shutil.copytree(LIB / "sample" / "checkpoints", tmp_path / "checkpoints")
    (tmp_path / "etl.json").write_text('{"orders":{"0":1050}}')
    text, _ = written(survey(taken, both[0].url), tmp_path)
    before = commented(text, "busy") + "positions: [{name: etl, file: ./etl.json, shape: offsets-json}]\n"
    path = tmp_path / "m.yaml"
    path.write_text(before)
    said = load_migration(path)

    more = survey(taken, both[0].url, both[1].url, root=tmp_path / "checkpoints")
    made = updated(path, before.encode(), said, more, lambda _: True)

    assert made.written
    assert not [line for line in made.differences if "etl" in line or "sink" in line], "no folder holds these"
    after = load_migration(path)
    assert [config.name for config in after.entries_of(ConnectConfig)] == ["ending", "orders-sink", "orders-sink-2"]
    assert {"orders", "payments", "etl", "orders-sink"} <= {checkpoint.name for checkpoint in after.checkpoints}
    assert "# connector: busy" in path.read_text()


def commented(text: str, name: str) -> str:
    """Make a comment of the lines of one connector."""
    entry = re.search(rf"^  - name: {name}\n(?:    .*\n)+", text, re.MULTILINE)
    assert entry is not None
    return text.replace(entry[0], "".join(f"  # {line.strip()}\n" for line in entry[0].splitlines()))
