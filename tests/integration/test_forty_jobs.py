"""A migration of 40 real jobs in three waves, from `init` to all CAUGHT_UP: every record is counted exactly once."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from offsetwise.lab import Lab, consumers, migration, queries
from offsetwise.lab import plan_of_jobs as of
from offsetwise.lab.job_sinks import JobSink
from offsetwise.lab.plan_of_jobs import JobKind, LabJob
from tests.commands import call
from tests.integration.flink_distribution import DISTRIBUTIONS
from tests.integration.forty_jobs import JOBS, TARGETS, Forty, of_wave, target_of
from tests.integration.groups import committed
from tests.integration.test_comparing_all_live import stable

pytestmark = pytest.mark.timeout(1800)  # 40 jobs with their clusters, on a machine that may be busy
POLLUTED: Final = ("checkpoint prices-count", "group prices-etl")
DRAFTED: Final = ("drafted_at", "compared_at")
ALONE: Final = (
    *("checkpoint orders-count", "checkpoint orders-retry-count", "checkpoint clicks-count"),
    "group clicks-and-views-sync",
)
"""Jobs that are compared alone too: one of each kind and engine, one with a pending batch, one with renamed topics."""
OF_FLINK: Final = {job for job, planned in JOBS.items() if planned.flink}


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two clusters of this file alone: `init` finds all groups and topics that there are."""
    folder = tmp_path_factory.mktemp("forty")
    with Lab.up(folder).no_longer_than_this_process() as running:
        yield running


@pytest.fixture(scope="module")
def forty(own_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Forty:
    """The migration, as `offsetwise lab migration` makes it with a Flink."""
    forty = Forty(lab=own_lab)
    flink = DISTRIBUTIONS[-1].linked(tmp_path_factory.mktemp("flink"))
    for command, more in {"lab migration": ("--flink", str(flink)), "keygen": ()}.items():
        ran = forty.of_page(command, of.PILOT, *more)
        assert ran.code == 0, ran.err
    forty.out.mkdir()
    return forty


@pytest.mark.gates
def test_forty_jobs_move_in_three_waves_and_count_every_record_exactly_once(
    forty: Forty, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = forty.init()
    places = {Path(each["uri"]).relative_to(forty.lab.directory / of.ROOT).parts[0] for each in found["checkpoints"]}
    assert places == {job.name for job in of_kind(JobKind.CHECKPOINT)}
    flinks = {each["name"].partition("-savepoint-")[0] for each in found["checkpoints"] if each["engine"] == "flink"}
    assert {f"checkpoint {name}" for name in flinks} == OF_FLINK
    assert {each["name"] for each in found["groups"]} == {job.name for job in of_kind(JobKind.GROUP)}
    assert found["link"]["link"] == "mirrormaker"
    forty.fill_in()
    queries_of_spark = {job.subject for job in of_kind(JobKind.CHECKPOINT)} - OF_FLINK
    running = dict.fromkeys(queries_of_spark, "RUNNING")
    # Two minutes without a batch are the rule; a busy machine writes and reads all checkpoints in more than that.
    monkeypatch.setattr("offsetwise.api.job_evidence.RUNNING_AGE_MS", 3_600_000)
    assert forty.states() == dict.fromkeys(JOBS, "STOPPED") | running
    # Nobody here writes to a checkpoint of the old cluster any more.
    monkeypatch.setattr("offsetwise.api.job_evidence.RUNNING_AGE_MS", 1_000)
    time.sleep(1)
    forty.age()
    assert forty.states() == dict.fromkeys(JOBS, "STOPPED")

    assert forty.watch_old_logs()["state"] == "COPIED"
    assert forty.states() == dict.fromkeys(JOBS, "MIRRORED")
    compare_all(forty)
    polluted = dict.fromkeys(POLLUTED, "BLOCKED")
    assert forty.states() == dict.fromkeys(JOBS, "COMPARED") | polluted
    move(forty, of.PILOT)
    forty.arrive(40)  # more than any of them had left to read when it was moved
    lagging = forty.states("--wave", of.PILOT)
    assert lagging == dict.fromkeys((job.subject for job in of_wave(of.PILOT)), "STARTED")
    waiting = ["Wave pilot comes first: 0 of 8 jobs caught up."]
    assert [row["waits_for"] for row in forty.status("--wave", of.CORE).values()] == [waiting] * len(of_wave(of.CORE))
    forty.start(of_wave(of.PILOT))
    assert set(forty.states("--wave", of.PILOT).values()) == {"CAUGHT_UP"}
    move(forty, of.CORE, refused=POLLUTED)
    decide_about_polluted(forty)
    move(forty, of.REST)
    forty.start(of_wave(of.PILOT, of.CORE))
    with committed_elsewhere(forty, "views-alerts", ("old.views", 0)) as job:
        assert forty.states("--wave", of.REST)[job] == "DIFFERENT"

    assert forty.states() == dict.fromkeys(JOBS, "CAUGHT_UP")
    assert forty.miscounted(JOBS.values()) == {}


def of_kind(kind: JobKind) -> list[LabJob]:
    return [job for job in JOBS.values() if job.kind is kind]


def compare_all(forty: Forty) -> None:
    """Compare all jobs at once, and some alone: the answers are the same."""
    ran = forty.of_page("compare", of.PILOT, "--json")
    assert ran.code == 0, ran.err
    together = {body["job"]: body for body in map(json.loads, ran.out.splitlines())}
    assert {*together} == {*JOBS}
    for job in ALONE:
        kind, _, name = job.partition(" ")
        alone = forty.run("compare", f"--{kind}", name, "--json").answered()
        assert stable(together[job]) == stable(alone)
    exact = Counter(row["exactness"] for body in together.values() for row in body["partitions"])
    assert exact["EXACT"] == sum(exact.values()) - 2 * len(POLLUTED)


def move(forty: Forty, wave: str, refused: tuple[str, ...] = ()) -> None:
    """Draft, sign, apply, start and verify the jobs of a wave; assert how far they are after each."""
    moving = [job for job in of_wave(wave) if job.subject not in refused]
    ran = forty.of_page("draft", wave, "--json")
    drafted = json.loads(ran.out)
    assert (ran.code, [each["job"] for each in drafted["refused"]]) == (1 if refused else 0, [*refused]), ran.err
    assert {each["job"] for each in drafted["plans"]} == {job.subject for job in moving}
    assert states_of(forty, moving) == {"PLANNED"}
    if wave == of.PILOT:
        for job in (moving[0], JOBS["checkpoint clicks-count"], moving[-1]):
            assert drafted_alone(forty, job) == stable_plan(forty.out / wave / f"{job.file_name}.plan.json")
    for command, state in (("sign", "APPROVED"), ("apply", "APPLIED")):
        ran = forty.of_page(command, wave)
        assert ran.code == 0, ran.err
        assert states_of(forty, moving) == {state}
    assert forty.verify(wave) == {"CONFIRMED"}
    ran = forty.of_page("lab run", wave, "--json")
    assert (ran.code, set(json.loads(ran.out)["not_moved"])) == (0, {*refused}), ran.err
    assert forty.verify(wave) == {"MOVED_ON"}
    assert states_of(forty, moving) == {"CAUGHT_UP"}
    assert forty.miscounted(moving) == {}


def drafted_alone(forty: Forty, job: LabJob) -> dict[str, Any]:
    """Draft a job that its wave has drafted; return its plan."""
    out = forty.lab.directory / f"{job.file_name}-alone.json"
    given = ("--target", target_of(job), "--author", "ada", "--out", out)
    ran = forty.run("draft", f"--{job.kind}", job.name, *given)
    assert ran.code == 0, ran.err
    return stable_plan(out)


def stable_plan(path: Path) -> dict[str, Any]:
    """Return a plan without what is another each time that it is drafted."""
    body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    stated: dict[str, Any] = stable({key: value for key, value in body.items() if key not in DRAFTED})
    return stated


def states_of(forty: Forty, jobs: list[LabJob]) -> set[str]:
    states = forty.states("--wave", jobs[0].wave)
    return {states[job.subject] for job in jobs}


@contextmanager
def committed_elsewhere(forty: Forty, group: str, partition: tuple[str, int]) -> Iterator[str]:
    """Let somebody commit the start of a log for a moved group, and what it had committed again behind the block."""
    bootstrap = forty.lab.new_bootstrap
    (at,) = [offset for topic, (offset, _) in committed(bootstrap, group).items() if topic == partition[0]]
    consumers.commit(bootstrap, group, {partition: 0})
    yield f"group {group}"
    consumers.commit(bootstrap, group, {partition: at})


def decide_about_polluted(forty: Forty) -> None:
    """Decide that the jobs need not read what others wrote below their positions, and move each alone."""
    for job in POLLUTED:
        row = forty.status("--wave", of.CORE)[job]
        assert (row["state"], "NATIVE_BELOW" in row["evidence"]) == ("BLOCKED", True)
        plan = forty.out / f"{JOBS[job].file_name}.plan.json"
        kind, _, name = job.partition(" ")
        body = json.loads((forty.out / f"{JOBS[job].file_name}.json").read_text(encoding="utf-8"))
        decided = [f"--override=prices:{row['partition']}={counted_cut(row)}" for row in body["partitions"]]
        given = (
            "--target",
            target_of(JOBS[job]),
            "--author",
            "ada",
            "--reason",
            "others wrote these, the job need not read them",
        )
        ran = forty.run("draft", f"--{kind}", name, *given, *decided, "--out", plan)
        assert ran.code == 0, ran.err
        approval = forty.sign_alone(plan)
        output = ("--output", forty.applied / JOBS[job].file_name) if kind == "checkpoint" else ()
        ran = forty.run("apply", plan, "--approval", approval, *forty.trusted, *output, "--execute")
        assert ran.code == 0, ran.err
    jobs = [JOBS[job] for job in POLLUTED]
    forty.start(jobs)
    assert states_of(forty, jobs) == {"CAUGHT_UP"}
    assert forty.miscounted(jobs) == {}


def counted_cut(row: dict[str, Any]) -> int:
    """Return the position that `compare` states as the counted cut: no record of the old log is skipped or repeated."""
    return int(row["bounds"][1])


@pytest.mark.gates
def test_what_cannot_move_is_named_and_stops_no_other(forty: Forty, tmp_path: Path) -> None:
    """A checkpoint that is torn, one of the new cluster, and two jobs of one group, beside two that can move."""
    root = tmp_path / of.ROOT
    for name in ("views-count", "payments-audit"):
        shutil.copytree(forty.lab.directory / of.ROOT / name, root / name)
    torn = shutil.copytree(root / "views-count", root / "torn")
    newest = max((torn / "offsets").iterdir(), key=lambda path: int(path.name) if path.name.isdigit() else -1)
    newest.write_bytes(newest.read_bytes()[:30])
    moved_before = queries.LabQuery(
        job=JOBS["checkpoint clicks-archive"],
        bootstrap=forty.lab.new_bootstrap,
        topics=("old.clicks",),
        checkpoint=root / "moved-before",
        sink=JobSink(tmp_path / "output"),
    )
    queries.run_all([moved_before])
    body = migration.migration_of(forty.lab)
    names = ("views-count", "payments-audit", "torn", "moved-before")
    shared = {"name": "payments-audit", "job": {"commits_to": of.SHARED_GROUP}}
    body |= {
        "checkpoints": [
            {"name": name, "uri": f"./{of.ROOT}/{name}"} | (shared if name == "payments-audit" else {})
            for name in names
        ],
        "groups": [of.SHARED_GROUP],
        "waves": [],
    }
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")

    compared = call("compare", "-m", path, "--all", "--json")
    status = call("status", "-m", path, "--json")
    drafted = call("draft", "-m", path, "--all", *TARGETS, "--out", tmp_path / "plans", "--json")

    assert (compared.code, status.code, drafted.code) == (1, 0, 1), compared.err + status.err + drafted.err
    jobs = [*(f"checkpoint {name}" for name in names), f"group {of.SHARED_GROUP}"]
    problems = {each["job"]: each.get("problem") for each in map(json.loads, compared.out.splitlines())}
    found = json.loads(status.out)
    states = {row["job"]: row["state"] for row in found["jobs"]}
    sets = json.loads(drafted.out)
    refused = {each["job"]: each["problem"] for each in sets["refused"]}
    bad = {"checkpoint torn", "checkpoint moved-before"}
    assert {*problems} == {*states} == {*jobs}
    assert {job for job, problem in problems.items() if problem} == {*refused} == bad
    assert "found positions of the new one" in problems["checkpoint moved-before"]
    assert (problems["checkpoint torn"] or "").startswith(f"{torn}: expected positions of Kafka, found none")
    assert {job for job, state in states.items() if state == "BLOCKED"} == bad
    assert {each["job"] for each in sets["plans"]} == {*jobs} - bad
    assert [each["message"] for each in found["findings"] if each["code"] == "GROUP_SHARED"] == [
        "Group audit-trail is the group of checkpoint payments-audit, group audit-trail."
    ]
