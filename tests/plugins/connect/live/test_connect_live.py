"""Sink connectors on a real Kafka Connect: compared, planned, written, verified, every record once; and rolled back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from offsetwise.lab import Lab
from tests.commands import Ran, call
from tests.integration.groups import committed
from tests.integration.topics import copies, create, produce
from tests.plugins.connect.live.connect_workers import PASSWORD, STORES, USER, Workers, workers
from tests.plugins.positions.live.test_positions_live import moved

ORDERS: Final = "connect-orders"
FILED: Final = "connect-filed"
READ, END = 250, 300
GONE: Final = 100
"""What the copy of the old log begins without."""


@pytest.fixture(scope="module")
def running(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workers, Workers]]:
    """Run workers on the old and on the new cluster, with a topic on both."""
    create(lab.old_bootstrap, ORDERS)
    create(lab.new_bootstrap, ORDERS)
    produce(lab.old_bootstrap, {ORDERS: copies(0, READ)})
    produce(lab.new_bootstrap, {ORDERS: copies(GONE, READ)})
    with workers(tmp_path_factory.mktemp("connect"), lab.old_bootstrap, lab.new_bootstrap) as both:
        yield both


@dataclass
class Job:
    """A connector on each side, and the commands on a migration between both."""

    lab: Lab
    old: Workers
    new: Workers
    folder: Path
    name: str

    @property
    def new_name(self) -> str:
        return f"{self.name}-new"

    def write_migration(self, *, first: int = 0) -> None:
        """Write the migration file; of the new workers the one of that number is asked first."""
        new = self.new.urls[first:] + self.new.urls[:first]
        (self.folder / "password").write_text(PASSWORD)
        (self.folder / "key-password").write_text(STORES)
        body = {
            "name": "moved",
            "source": {"properties": {"bootstrap.servers": self.lab.old_bootstrap}},
            "target": {"properties": {"bootstrap.servers": self.lab.new_bootstrap}},
            "link": "other",
            "writers": "mirror-only",
            "connect": [
                {"name": "sink", "connector": self.name, "urls": ["http://127.0.0.1:1", self.old.url]},
                {"name": "there", "connector": self.new_name, "urls": [*new], "cluster": "new"} | self.new.client,
            ],
            "spark": {"master": "local[2]"},
        }
        (self.folder / "m.yaml").write_text(yaml.safe_dump(body))

    def read_and_stop(self) -> None:
        """Let a new connector write what was read of the old cluster, and stop it."""
        self.write_migration()
        until(self.old.create(self.name, ORDERS), READ)
        self.old.change(self.name, "STOPPED")

    def call(self, command: str, *arguments: str | Path) -> Ran:
        return call(command, *arguments, "--migration", self.folder / "m.yaml", "--json")

    def compare(self) -> Ran:
        return self.call("compare", "--checkpoint", "sink")

    def draft(self) -> dict[str, Any]:
        """Draft a plan and sign it."""
        plan, key = self.folder / "plan.json", self.folder / "rea"
        chosen = ("--checkpoint", "sink", "--target", "connector:there", "--author", "ann", "--out", plan)
        made = self.call("draft", *chosen).answered()
        assert call("keygen", "--out", key, "--as", "rea").code == 0
        assert call("sign", plan, "--key", key, "--as", "rea", "--out", self.folder / "approval.json").code == 0
        return made

    def apply(self, receipt: str = "receipt.json") -> Ran:
        place = ("--receipt", self.folder / receipt, "--execute")
        return self.call("apply", self.folder / "plan.json", *self.signed, *place)

    def rollback(self, written: str, *more: str | Path) -> None:
        ran = self.call("rollback", self.folder / written, *self.signed, *more, "--execute")
        assert ran.code == 0, ran.err

    def turnouts(self, receipt: str = "receipt.json") -> set[str]:
        seen = self.call("verify", self.folder / receipt).answered()
        return {each["turnout"] for each in seen["positions"]}

    def asked(self, name: str, receipt: str) -> tuple[int, str, str]:
        """Ask a connector what it went on from; return the exit code, its answer in a word, and the sentence."""
        address = f"{self.new.url}/connectors/{name}"
        ran = self.call("verify", self.folder / receipt, "--job", address)
        job = json.loads(ran.out)["job"]
        return ran.code, job["origin"], job["told"]

    @property
    def signed(self) -> tuple[str | Path, ...]:
        return ("--approval", self.folder / "approval.json", "--trust", self.folder / "rea.pub")


def until(out: Path, count: int) -> list[str]:
    """Wait until a connector has written so many lines, and return what each says."""
    end = time.monotonic() + 60
    while out.read_text().count("\n") < count and time.monotonic() < end:
        time.sleep(0.1)
    return [json.loads(line)["serial"] for line in out.read_text().splitlines()]


def serials(first: int, end: int) -> list[str]:
    return [f"r{number}" for number in range(first, end)]


def test_a_sink_connector_moves_and_every_record_is_written_once(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path
) -> None:
    job = Job(lab, *running, tmp_path, "orders-sink")
    job.write_migration()
    written = job.old.create(job.name, ORDERS)
    assert until(written, READ) == serials(0, READ)
    assert job.old.offsets(job.name) == {}, "it has written and not committed"
    assert f"Connector {job.name} is RUNNING" in job.compare().refused()["problem"]

    job.old.change(job.name, "STOPPED")
    assert job.old.offsets(job.name) == {0: READ}
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        produce(bootstrap, {ORDERS: copies(READ, END)})
    there = job.new.create(job.new_name, ORDERS, state="STOPPED")
    document = job.compare().answered()
    (row,) = document["partitions"]
    assert (row["old_offset"], row["new_offset"], row["exactness"]) == (str(READ), str(READ - GONE), "EXACT")
    assert "CONNECTOR_GROUP" not in {finding["code"] for finding in document["findings"]}

    reviewed = job.draft()["requirements"]["targets"][0]["before"]
    assert (
        reviewed["connector"] == f"connect+{','.join(job.new.urls).replace(',https://', ',')}/connectors/{job.new_name}"
    )
    assert job.apply().answered()["steps"][0]["state"] == "done"
    assert job.turnouts() == {"CONFIRMED"}
    assert job.new.offsets(job.new_name) == {0: READ - GONE}
    assert committed(lab.new_bootstrap, f"connect-{job.new_name}") == {ORDERS: (READ - GONE, "")}

    job.write_migration(first=1)  # of the two, one leads and is forwarded to what the other one is asked for
    job.rollback("receipt.json")
    job.write_migration()
    assert job.new.offsets(job.new_name) == {}
    assert "successfully" in job.new.write(job.new_name, ORDERS, 10**9), "a worker takes any number"
    drifted = job.call("drift", tmp_path / "plan.json")
    assert f"{ORDERS}-0: reviewed nothing, now {10**9}" in drifted.err
    job.new.reset(job.new_name)
    assert job.apply("again.json").answered()["steps"][0]["state"] == "done"

    assert job.asked(job.new_name, "again.json")[:2] == (1, "UNKNOWN"), "it is stopped"
    job.new.change(job.new_name, "RUNNING")
    until(there, END - READ)
    code, origin, told = job.asked(job.new_name, "again.json")
    assert (code, origin) == (0, "RESTORED_FROM_PLAN"), told
    job.new.change(job.new_name, "STOPPED")
    lines = [json.loads(line)["serial"] for out in (written, there) for line in out.read_text().splitlines()]
    assert lines == serials(0, END), "every record once, in order"
    assert job.turnouts("again.json") == {"MOVED_ON"}


def test_a_connector_whose_offsets_were_changed_after_the_plan_says_that_it_began_elsewhere(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path
) -> None:
    job = Job(lab, *running, tmp_path, "changed-sink")
    job.read_and_stop()
    job.new.create(job.new_name, ORDERS, state="STOPPED")
    job.draft()
    assert job.apply().answered()["steps"][0]["state"] == "done"
    (planned,) = job.new.offsets(job.new_name).values()

    def started() -> tuple[int, str, str]:
        job.new.change(job.new_name, "RUNNING")
        answer = job.asked(job.new_name, "receipt.json")
        job.new.change(job.new_name, "STOPPED")
        return answer

    job.new.reset(job.new_name)
    assert started()[:2] == (5, "FRESH_START")
    job.new.write(job.new_name, ORDERS, planned - 1)
    code, origin, told = started()
    assert (code, origin) == (5, "RESTORED_FROM_OTHER")
    assert f"{ORDERS}-0 at {planned - 1:,}, expected {planned:,} or more" in told


def test_offsets_that_a_worker_printed_are_moved_in_a_file_and_taken_by_another_worker(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path
) -> None:
    old, new = running
    create(lab.old_bootstrap, FILED)
    create(lab.new_bootstrap, FILED)
    produce(lab.old_bootstrap, {FILED: copies(0, READ)})
    produce(lab.new_bootstrap, {FILED: copies(GONE, READ)})
    written = old.create("filed", FILED)
    until(written, READ)
    old.change("filed", "STOPPED")
    printed = json.dumps(old.ask("GET", "/connectors/filed/offsets"))
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        produce(bootstrap, {FILED: copies(READ, END)})
    there = new.create("filed-new", FILED, state="STOPPED")

    file, receipt = moved(lab, tmp_path, printed)
    assert f"--data @{file} " in receipt["steps"][0]["told"]
    new.ask("PATCH", "/connectors/filed-new/offsets", json.loads(file.read_text()))
    assert new.offsets("filed-new") == {0: READ - GONE}
    new.change("filed-new", "RUNNING")
    until(there, END - READ)
    new.change("filed-new", "STOPPED")

    lines = [json.loads(line)["serial"] for out in (written, there) for line in out.read_text().splitlines()]
    assert lines == serials(0, END), "every record once, in order"


def test_a_connector_that_is_not_stopped_or_is_a_source_has_no_position(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path
) -> None:
    job = Job(lab, *running, tmp_path, "unusable")
    job.write_migration()

    def refused() -> str:
        assert not (tmp_path / "plan.json").exists()
        return str(job.compare().refused()["problem"])

    assert "expected a connector, found HTTP 404" in refused()
    job.old.create(job.name, ORDERS)
    assert f"Connector {job.name} is RUNNING" in refused()
    job.old.change(job.name, "PAUSED")
    assert f"Connector {job.name} is PAUSED" in refused()
    job.old.ask("DELETE", f"/connectors/{job.name}")
    config = {"topics": ORDERS, "file": str(tmp_path / "no folder" / "out"), "tasks.max": "1"}
    failing = config | {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}
    job.old.ask("POST", "/connectors", {"name": job.name, "config": failing})
    job.old.wait(job.name, "RUNNING", task="FAILED")
    assert f"Connector {job.name} is RUNNING" in refused()

    reading = {"topic": "connect-lines", "file": "lines.txt", "tasks.max": "1"}
    source = reading | {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector"}
    job.old.ask("POST", "/connectors", {"name": "reads-a-file", "config": source, "initial_state": "STOPPED"})
    job.old.wait("reads-a-file", "STOPPED")
    at = {"partition": {"filename": "lines.txt"}, "offset": {"position": 7}}
    job.old.ask("PATCH", "/connectors/reads-a-file/offsets", {"offsets": [at]})
    inspected = call("inspect", f"connect+{job.old.url}/connectors/reads-a-file", "--json").answered()
    assert [problem["code"] for problem in inspected["problems"]] == ["CONNECTOR_SOURCE"]
    assert json.loads(inspected["sources"][0]["raw"]) == [at]
    assert not inspected["sources"][0]["positions"]


def test_nothing_stays_written_to_a_connector_that_runs_or_reads_another_cluster(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path
) -> None:
    job = Job(lab, *running, tmp_path, "late-sink")
    job.read_and_stop()
    clients = ("consumer", "admin")
    elsewhere = {f"{client}.override.bootstrap.servers": lab.old_bootstrap for client in clients}
    job.new.create(job.new_name, ORDERS, state="STOPPED", **elsewhere)
    job.draft()

    assert "the connector reads another cluster" in job.apply().refused()["problem"]
    job.rollback("receipt.json.journal", "--plan", tmp_path / "plan.json")
    assert job.new.offsets(job.new_name) == {}
    job.new.change(job.new_name, "RUNNING")
    assert f"found {job.new_name} RUNNING" in job.apply("again.json").refused()["problem"]


def test_init_finds_the_connectors_of_both_clusters(
    lab: Lab, running: tuple[Workers, Workers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = running
    old.create("found-sink", ORDERS, state="STOPPED")
    old.write("found-sink", ORDERS, READ)
    new.create("found-sink-there", ORDERS, state="STOPPED")
    monkeypatch.setenv("WORKERS_PASSWORD", PASSWORD)
    out = tmp_path / "m.yaml"
    monkeypatch.setenv("KEY_PASSWORD", STORES)
    by_certificate = f"&ca={new.ca}&certificate={new.ca}&key={new.client['key']}&key_password=${{KEY_PASSWORD}}"
    signed_on = f"{new.url}?user={USER}&password=${{WORKERS_PASSWORD}}{by_certificate}"
    clusters = ("--old", lab.old_bootstrap, "--new", lab.new_bootstrap)

    ran = call("init", *clusters, "--connect", old.url, "--connect", signed_on, "--out", out, "--json")

    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    found = {each["name"]: each for each in document["connectors"]}
    here, there = found["found-sink"], found["found-sink-there"]
    assert (here["cluster"], here["state"], here["partitions"], here["left_out"]) == ("old", "STOPPED", 1, None)
    assert (there["cluster"], there["state"], there["partitions"], there["left_out"]) == ("new", "STOPPED", 0, None)
    assert PASSWORD not in out.read_text()
    compared = call("compare", "--migration", out, "--checkpoint", "found-sink", "--no-content", "--json").answered()
    assert compared["checkpoint"]["sources"][0]["positions"][0]["offset"] == str(READ)
