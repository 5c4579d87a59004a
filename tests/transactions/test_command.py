"""`offsetwise transactions` before any cluster is asked, and what people see of its answer."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from rich.console import Console

import offsetwise
from offsetwise.cli import documents
from offsetwise.cli.render import sinks as render_sinks
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.plugins.kafka.stream import reader
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.observed import HeldTransactions, Missing, TransactionLook
from offsetwise.transactions.report import LogEnds, LookPair, SinkTransactions, report
from offsetwise.transactions.upgrade import MAX_TIMEOUT, Broker, TransactionFacts
from offsetwise.workflow.sink_looks import ask_sink
from tests.commands import call
from tests.plugins.flink.targets.test_flink_marks import LAYOUTS, committer, job
from tests.transactions.recorded import DATA
from tests.transactions.test_deciding import NAME, holding, look, said
from tests.with_cases import with_cases

POOLED = DATA / "c50-pooling"
SPARK = Path(offsetwise.__file__).parent / "sample" / "checkpoints" / "orders"


def migration(folder: Path, *checkpoints: dict[str, Any]) -> Path:
    body = {
        "name": "moving",
        "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
        "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
        "sinks": [{"name": "third", "properties": {"bootstrap.servers": "third.invalid:9092"}}],
        "checkpoints": list(checkpoints),
    }
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def entry(name: str, uri: Path, **job: str) -> dict[str, Any]:
    return {"name": name, "uri": str(uri), "job": job}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, HeldTransactions]]:
    """Record who is asked about what, by which the way to a cluster is chosen; nobody answers about any id."""
    calls: list[tuple[str, HeldTransactions]] = []

    def answer(config: ClusterConfig, held: HeldTransactions, **_: object) -> LookPair:
        calls.append((config.name, held))
        seen = TransactionLook(
            taken_ms=0, answers={each.transactional_id: Missing.ABSENT for each in held.transactions}
        )
        brokers = frozenset({config.properties["bootstrap.servers"]})
        return LookPair(cluster_id="c", brokers=brokers, first=seen, second=seen)

    monkeypatch.setattr(reader, "look_at_transactions", answer)
    monkeypatch.setattr(reader, "transaction_facts", lambda config, **_: TransactionFacts(name=config.name, brokers=()))
    return calls


@with_cases(
    ("job", "cluster"),
    [
        ({"sink_cluster": "old"}, "old"),
        ({"sink_cluster": "new"}, "new"),
        ({"sink_cluster": "third"}, "third"),
        ({"sink_servers": "new.invalid:9092"}, "new"),
        ({"sink_servers": "third.invalid:9092"}, "third"),
    ],
)
def test_the_cluster_that_is_stated_is_asked_about_what_the_checkpoint_holds(
    job: dict[str, str], cluster: str, asked: list[tuple[str, HeldTransactions]], tmp_path: Path
) -> None:
    path = migration(tmp_path, entry("orders", POOLED / "savepoint-3-pending", **job))
    ran = call("transactions", "orders", "--migration", path, "--json", "--detailed-exitcode")

    ((name, held),) = asked
    assert (name, held.checkpoint_id, held.prefixes, len(held.transactions)) == (cluster, 3, ("tx-c50-pool",), 2)
    assert ran.code == 2
    assert '"decision": "UNKNOWN"' in ran.out


def test_a_path_beside_a_checkpoint_that_the_file_names_is_of_the_same_sink(
    asked: list[tuple[str, HeldTransactions]], tmp_path: Path
) -> None:
    other = entry("other", DATA / "c40-incrementing" / "savepoint-2-pending", sink_cluster="new")
    path = migration(tmp_path, other, entry("orders", POOLED / "savepoint-3-pending", sink_cluster="third"))
    made = offsetwise.Migration.load(path).transactions(str(POOLED / "chk-1"))

    assert [(name, held.checkpoint_id) for name, held in asked] == [("third", 1)]
    assert {each.decision for each in made.open} == {Decision.UNKNOWN}


JOB = "a0d17f" + "0" * 26


@with_cases(
    ("started", "others", "roots", "newer", "searched"),
    [
        pytest.param(f"{JOB}/chk-3", [f"{JOB}/chk-2", f"{JOB}/chk-11"], (), 11, True, id="beside it"),
        pytest.param("copies/chk-3", ["copies/chk-4"], (), 4, False, id="beside it, in another folder"),
        pytest.param("copies/chk-3", ["copies/chk-2"], (), None, False, id="alone in another folder"),
        pytest.param(f"{JOB}/chk-3", [f"{JOB}/chk-2"], (), None, True, id="the newest"),
        pytest.param("savepoint-a0d17f-1", [f"{JOB}/chk-4"], (), 4, True, id="savepoint beside the job"),
        pytest.param("s/savepoint-a0d17f-1", [f"c/{JOB}/chk-4"], ("c", "s"), 4, True, id="savepoint, job in a root"),
        pytest.param("s/savepoint-a0d17f-1", [f"c/{JOB}/chk-4"], (f"c/{JOB}", "s"), 4, True, id="job is a root"),
        pytest.param("s/savepoint-a0d17f-1", [f"c/{JOB}/chk-4"], (), None, False, id="savepoint alone"),
        pytest.param("savepoint-a0d17f-1", ["b" * 32 + "/chk-4"], (), 4, False, id="submitted again, beside"),
        pytest.param(
            f"{JOB}/chk-3", ["x/" + "b" * 32 + "/chk-4"], (JOB, "x"), 4, True, id="submitted again, in a root"
        ),
        pytest.param(
            "s/savepoint-a0d17f-1", [f"{JOB}/chk-2", "o/n/chk-5"], ("s", "o"), 5, False, id="deeper in a root"
        ),
    ],
)
def test_16_newer_checkpoints_of_the_job_are_found_without_being_configured(
    started: str,
    others: list[str],
    roots: tuple[str, ...],
    newer: int | None,
    searched: bool,
    asked: list[tuple[str, HeldTransactions]],
    tmp_path: Path,
) -> None:
    for each in (started, *others):
        shutil.copytree(DATA / "c50-incrementing" / "savepoint-3-pending", tmp_path / each)
    path = migration(tmp_path, entry("orders", tmp_path / started, sink_cluster="old"))
    if roots:
        body = yaml.safe_load(path.read_text("utf-8")) | {"checkpoint_roots": [str(tmp_path / each) for each in roots]}
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
    offsetwise.Migration.load(path).transactions("orders")

    ((_, held),) = asked
    assert (held.newer, held.searched) == (newer, searched)


@with_cases(("sink", "newer"), [("c50-incrementing", 4), ("c50-pooling", None)])
def test_16_a_newer_checkpoint_of_another_job_counts_where_its_sinks_make_the_same_ids(
    sink: str, newer: int | None, asked: list[tuple[str, HeldTransactions]], tmp_path: Path
) -> None:
    shutil.copytree(DATA / "c50-incrementing" / "savepoint-3-pending", tmp_path / "savepoint-a0d17f-1")
    shutil.copytree(DATA / sink / "savepoint-3-pending", tmp_path / ("b" * 32) / "chk-4")
    path = migration(tmp_path, entry("orders", tmp_path / "savepoint-a0d17f-1", sink_cluster="old"))
    offsetwise.Migration.load(path).transactions("orders")

    ((_, held),) = asked
    assert held.newer == newer


def test_17_a_stated_address_that_is_no_broker_there_is_another_cluster(
    asked: list[tuple[str, HeldTransactions]], tmp_path: Path
) -> None:
    job = {"sink_cluster": "old", "sink_servers": "elsewhere.invalid:9092"}
    path = migration(tmp_path, entry("orders", POOLED / "savepoint-3-pending", **job))
    made = offsetwise.Migration.load(path).transactions("orders")

    assert asked
    assert {each.decision for each in made.transactions} == {Decision.WRONG_CLUSTER}
    assert "elsewhere.invalid:9092" in made.transactions[0].reason


@with_cases(
    ("argument", "checkpoint", "problem"),
    [
        ("orders", entry("orders", POOLED / "chk-1"), "expected job.sink_cluster in the migration file, found none"),
        ("order", entry("orders", POOLED / "chk-1", sink_cluster="old"), "expected a checkpoint named 'order'"),
        ("./elsewhere/chk-1", entry("orders", POOLED / "chk-1"), "found 0 such clusters"),
        ("orders", entry("orders", SPARK, sink_cluster="old"), "expected a Flink checkpoint of a job with an exactly"),
        ("orders", entry("orders", POOLED / "none", sink_cluster="old"), "none"),
    ],
    ids=["no cluster", "no such name", "path of another job", "spark", "missing"],
)
def test_what_cannot_be_asked_is_refused_before_a_cluster_is_contacted(
    argument: str, checkpoint: dict[str, Any], problem: str, asked: list[tuple[str, HeldTransactions]], tmp_path: Path
) -> None:
    ran = call("transactions", argument, "--migration", migration(tmp_path, checkpoint), "--json")

    assert problem in ran.refused()["problem"]
    assert asked == []


def shown(made: SinkTransactions) -> str:
    out = StringIO()
    render_sinks.transactions(Console(file=out, width=200, highlight=False), made)
    return out.getvalue()


def test_38_people_see_hostile_names_escaped_and_programs_get_them_whole() -> None:
    name = "[red]<b>\x1b[2J-0-7"
    held = holding(name)
    made = report(
        HeldTransactions(
            checkpoint_id=7, written_ms=None, prefixes=("[red]<b>\x1b[2J",), transactions=held.transactions
        ),
        LookPair(
            cluster_id="c",
            brokers=frozenset(),
            first=look({name: said("Ongoing")}),
            second=look({name: said("Ongoing")}),
        ),
    )

    assert "\x1b" not in shown(made)
    assert "[red]<b>" in shown(made)
    assert "\\u001b" in documents.dump(made)


def test_people_see_a_line_for_each_that_counts_and_where_the_logs_end() -> None:
    answers = {NAME: said("Ongoing"), "orders-0-1": said("CompleteCommit", 9), "orders-1-1": said("CompleteCommit", 8)}
    looks = LookPair(
        cluster_id="abc",
        brokers=frozenset(),
        first=look(answers),
        second=look(answers),
        partitions=(LogEnds(topic="orders", partition=0, last_stable_offset=3, log_end_offset=1_005),),
    )
    lines = shown(report(holding(NAME), looks)).splitlines()

    assert lines == [
        "3 transactions on cluster id abc: 1 COMMIT, 2 NOTHING",
        "orders-0-7 (producer 100, epoch 4), held (received), broker: Ongoing, 59 min left: COMMIT. The checkpoint "
        "holds it, and the broker has it open with the same producer and epoch.",
        "2 transactions of this job are over and not held: NOTHING; --json lists them.",
        "orders-0: last stable offset 3, log end 1,005",
    ]


def test_the_document_is_as_its_schema_says() -> None:
    seen = look({NAME: said("Ongoing"), "orders-0-8": said("Ongoing", 9)})
    body = json.loads(
        documents.dump(report(holding(NAME), LookPair(cluster_id="c", brokers=frozenset(), first=seen, second=seen)))
    )

    jsonschema.validate(body, documents.schema("transactions"))
    assert body["transactions"][0] == {
        "transactional_id": NAME,
        "producer_id": "100",
        "epoch": 4,
        "held": True,
        "held_state": "received",
        "broker_state": "Ongoing",
        "left_ms": "3540000",
        "decision": "COMMIT",
        "reason": body["transactions"][0]["reason"],
        "partitions": [{"topic": "orders", "partition": 0, "start_offset": None, "records": None}],
        "deadline": "1970-01-12T14:45:40.000Z",
        "coordinator_epoch": None,
        "newer_may_hold": False,
    }
    assert (body["format"], body["complete"], body["cluster_id"]) == ("offsetwise/transactions", True, "c")


def facts(most: str, config: ClusterConfig) -> TransactionFacts:
    broker = Broker(id=1, apis=frozenset(), init_producer_id=5, config={MAX_TIMEOUT: most})
    return TransactionFacts(name=config.name, brokers=(broker,), authorizer=False)


@with_cases(
    ("traits", "timeout_ms"), [({"sink_cluster": "third"}, 60_000), ({"sink_servers": "third.invalid:9092"}, None)]
)
def test_a_comparison_asks_the_sinks_cluster_for_the_time_outs_where_it_is_stated(
    traits: dict[str, str], timeout_ms: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(config: ClusterConfig, held: HeldTransactions, **_: object) -> LookPair:
        assert config.name == "third"
        seen = look({each.transactional_id: said("Ongoing", timeout_ms=60_000) for each in held.transactions})
        return LookPair(cluster_id="c", brokers=frozenset(), first=seen, second=seen)

    monkeypatch.setattr(reader, "look_at_transactions", answer)
    path = migration(tmp_path, entry("orders", POOLED / "savepoint-3-pending", **traits))
    moving = load_migration(path)
    (stated,) = moving.checkpoints
    told = ask_sink(moving, stated, read_checkpoint(stated.uri))

    assert (None if told is None else told.timeout_ms) == timeout_ms
    assert ask_sink(moving, stated, read_checkpoint(str(SPARK))) is None


@with_cases(
    ("most", "timeout_ms", "codes"),
    [
        ("900000", None, ["TRANSACTION_TIMEOUT_REFUSED"]),
        ("900000", 900_000, []),
        ("3600000", None, []),
        ("900000", 900_001, ["TRANSACTION_TIMEOUT_REFUSED"]),
    ],
)
@pytest.mark.usefixtures("asked")
def test_31_a_time_out_that_the_sinks_new_cluster_refuses_is_said(
    most: str, timeout_ms: int | None, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of: list[str] = []

    def answer(config: ClusterConfig, **_: object) -> TransactionFacts:
        of.append(config.name)
        return facts(most, config)

    monkeypatch.setattr(reader, "transaction_facts", answer)
    traits: dict[str, Any] = {"sink_cluster": "old", "new_sink_cluster": "third"}
    stated = entry("orders", POOLED / "savepoint-3-pending")
    stated["job"] = traits if timeout_ms is None else traits | {"transaction_timeout_ms": timeout_ms}
    made = offsetwise.Migration.load(migration(tmp_path, stated)).transactions("orders", upgrade=True)

    assert [each.code for each in made.findings] == codes
    assert of == ["third", "old"], "the one that the sink moves to, then the one it wrote to"
    assert made.upgrade is not None
    assert made.upgrade.blocked_by == "1. brokers with KIP-939"
    assert ("TRANSACTION_TIMEOUT_REFUSED" in shown(made)) is bool(codes)
    assert "Two-phase commit" in shown(made)


def test_13_another_jobs_id_that_begins_with_a_pooled_prefix_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(config: ClusterConfig, held: HeldTransactions, **_: object) -> LookPair:
        del config
        seen = look({f"{prefix}-eu-0-1": said("Ongoing") for prefix in held.prefixes})
        return LookPair(cluster_id="c", brokers=frozenset(), first=seen, second=seen)

    monkeypatch.setattr(reader, "look_at_transactions", answer)
    monkeypatch.setattr(reader, "transaction_facts", lambda config, **_: facts("3600000", config))
    pooled = migration(tmp_path, entry("orders", POOLED / "savepoint-3-pending", sink_cluster="old"))
    made = offsetwise.Migration.load(pooled).transactions("orders")
    other = DATA / "c50-incrementing" / "savepoint-3-pending"
    numbered = migration(tmp_path, entry("orders", other, sink_cluster="old"))

    assert [each.code for each in made.findings] == ["PREFIX_OVERLAPS"]
    assert "tx-c50-pool-eu-0-1 of another job begins with that" in made.findings[0].message
    assert offsetwise.Migration.load(numbered).transactions("orders").findings == ()


def test_32_a_checkpoint_of_flip_319_is_judged_without_being_asked_to(
    asked: list[tuple[str, HeldTransactions]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "transaction_facts", lambda config, **_: facts("3600000", config))
    version, body = LAYOUTS["FLIP-319 as proposed"]
    folder = tmp_path / "savepoint-1"
    folder.mkdir()
    (folder / "_metadata").write_bytes(job(committer((version, body, 0)))["_metadata"])
    path = migration(tmp_path, entry("orders", folder, sink_cluster="old"))

    made = offsetwise.Migration.load(path).transactions("orders")

    assert asked
    assert made.upgrade is not None
    assert "no release can resume them" in made.upgrade.steps[3].told
