"""The runbook and the pipeline are what happens: each command is run on two real clusters, and shows what they show."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab
from offsetwise.pipeline.session import open_session
from tests.commands import COMMAND, call
from tests.docs_pages import blocks, run_here, section, text, walk
from tests.integration.topics import copies, create, produce

PAGE = "docs/runbook.md"
TOPIC, GROUP = "trades", "trades-etl"
READ, END = 1_050, 1_200
"""What the job read on the old cluster, and where its log ends."""
COPIED_FROM = 100
"""The mirror's copy lacks what retention had deleted before: 1050 there is 950 here."""
KEYS = 5
APPLY = "Apply, if it is approved"
Counts = dict[str, tuple[int, int]]


def read_as_stream(bootstrap: str, checkpoint: Path, counts: Counts) -> None:
    """Run the stateful job, count and sum of serials by key, up to the end of the log."""

    def write(batch: DataFrame, _batch_id: int) -> None:
        counts.update({row["key"]: (row["count"], row["sum"]) for row in batch.collect()})

    spark = open_session(SparkSettings(master="local[2]"), kafka=True)
    serial = F.regexp_extract(F.col("value").cast("string"), r"r(\d+)", 1).cast("long")
    query = (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": TOPIC, "startingOffsets": "earliest"})
        .load()
        .select((serial % KEYS).cast("string").alias("key"), serial.alias("serial"))
        .groupBy("key")
        .agg(F.count("*").alias("count"), F.sum("serial").alias("sum"))
        .coalesce(1)
        .writeStream.outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()


def truth(end: int) -> Counts:
    serials = {str(key): range(key, end, KEYS) for key in range(KEYS)}
    return {key: (len(each), sum(each)) for key, each in serials.items()}


def tree(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def stopped(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Counts]:
    """Give the checkpoint of a job that was stopped on the old cluster, and what its sink holds."""
    checkpoint = tmp_path_factory.mktemp("runbook") / "trades"
    counts: Counts = {}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, TOPIC)
    produce(lab.old_bootstrap, {TOPIC: copies(0, READ)})
    read_as_stream(lab.old_bootstrap, checkpoint, counts)
    assert counts == truth(READ)
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, READ)], asynchronous=False)
    consumer.close()
    produce(lab.old_bootstrap, {TOPIC: copies(READ, END)})
    produce(lab.new_bootstrap, {TOPIC: copies(COPIED_FROM, END)})
    return checkpoint, counts


@pytest.fixture
def desk(lab: Lab, stopped: tuple[Path, Counts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder that the page works in: a migration file, the checkpoint, room to write."""
    shutil.copytree(stopped[0], tmp_path / "checkpoints" / "trades")
    (tmp_path / "applied").mkdir()
    old = {"name": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}}
    new = {"name": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}}
    job = {"stateful": True, "sink": "kafka", "tolerates_replay": False}
    body: dict[str, Any] = {
        "name": "trades-to-new",
        "source": old,
        "target": new,
        "checkpoint_roots": ["./checkpoints", "./applied"],
        "checkpoints": [{"name": "trades", "uri": "./checkpoints/trades", "job": job, "belongs_to": "old"}],
        "write_roots": ["./applied", "./checkpoints"],
        "groups": [GROUP],
        "writers": "mirror-only",
        "spark": {"master": "local[2]"},
    }
    (tmp_path / "migration.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    moved = {"name": "trades", "uri": "./applied/trades", "job": job, "belongs_to": "old"}
    back = {"name": "trades-back", "source": new, "target": old, "checkpoints": [moved]}
    (tmp_path / "back.yaml").write_text(yaml.safe_dump(body | back), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(*headings: str) -> None:
    for heading in headings:
        walk(section(PAGE, heading), run_here)


@pytest.fixture
def keyed(desk: Path) -> Path:
    """Give the folder with the reviewer's key in it."""
    assert call("keygen", "--out", "reviewer", "--as", "bob").code == 0
    return desk


def test_the_main_path_moves_a_stateful_job_and_the_failback_leads_back(
    lab: Lab, stopped: tuple[Path, Counts], desk: Path
) -> None:
    counts = dict(stopped[1])
    untouched = tree(desk / "checkpoints")
    follow("1. Look at the checkpoint", "2. Compare", "3. Draft the plan", "4. Have it signed", "5. Dry run")
    assert not (desk / "applied" / "trades").exists(), "until now nothing was written"
    follow("6. Apply", "7. Verify before the start")

    read_as_stream(lab.new_bootstrap, desk / "applied" / "trades", counts)

    assert counts == truth(END), "every record once"
    follow("8. Start the job, and verify again")
    assert tree(desk / "checkpoints") == untouched

    follow("After it: failback")


def test_before_the_job_starts_the_copy_is_taken_back(keyed: Path) -> None:
    follow("3. Draft the plan")
    assert call("sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json").code == 0
    follow("6. Apply", "Before the sink took a batch")

    assert not (keyed / "applied" / "trades").exists()


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("heading", ["In place", "A fresh checkpoint", "A consumer group"])
def test_the_other_ways_are_as_the_page_says(heading: str) -> None:
    follow(heading)


class Pipeline:
    """The workflow of the page on automation, its steps run as a runner would: bash, one process each."""

    def __init__(self, folder: Path) -> None:
        (workflow,) = (each for each in blocks(text("docs/automation.md"), "yaml") if "jobs:" in each)
        body = yaml.safe_load(workflow)
        self.folder = folder
        self.jobs = {name: [step for step in job["steps"] if "run" in step] for name, job in body["jobs"].items()}
        path = os.pathsep.join([str(Path(COMMAND).parent), os.environ["PATH"]])
        self.environment = {**os.environ, **body["env"], "PATH": path, "AUTHOR": "ada"}

    def run(self, job: str, *, only: str | None = None) -> tuple[str, int]:
        """Run a job, or one step of it; give the name of the last step that was run, and its exit code."""
        name, code = "", 0
        for step in (each for each in self.jobs[job] if only in (None, each["name"])):
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            name, done = step["name"], subprocess.run(command, cwd=self.folder, env=self.environment, check=False)
            if code := done.returncode:
                break
        return name, code


def test_the_pipeline_applies_what_was_signed_and_nothing_else(keyed: Path) -> None:
    public = json.loads((keyed / "reviewer.pub").read_text(encoding="utf-8"))
    trusted = {"file": "reviewer.pub", "issuer": public["issuer"], "subject": public["subject"]}
    body = yaml.safe_load((keyed / "migration.yaml").read_text(encoding="utf-8"))
    body["approval"] = {"required": 1, "trusted_keys": [trusted]}
    (keyed / "migration.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    pipeline = Pipeline(keyed)
    assert pipeline.run("plan") == ("Say what would be signed", 0)
    sign = ("sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json")
    assert call(*sign).code == 0
    plan = (keyed / "plan.json").read_bytes()

    (keyed / "plan.json").write_bytes(plan + b"\n")
    assert pipeline.run("apply", only=APPLY) == (APPLY, 4)
    assert not (keyed / "applied" / "trades").exists()
    assert json.loads((keyed / "applied.json").read_text(encoding="utf-8"))["error"] == "NotApprovedError"

    (keyed / "plan.json").write_bytes(plan)
    assert pipeline.run("apply") == ("Verify what was written", 0)
    verified = json.loads((keyed / "verification.json").read_text(encoding="utf-8"))
    assert [(each["found"], each["turnout"]) for each in verified["positions"]] == [("950", "CONFIRMED")]
