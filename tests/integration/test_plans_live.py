"""Plans of a group on a real lab: where people let it start, what makes a plan stale, and watching it begin."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab
from tests.commands import COMMAND, call
from tests.integration.groups import Job, commit, committed, read_on
from tests.integration.topics import START_MS, Record, copies, create, produce, trim

EARLIEST, LATEST, TIMED, OTHERS, OWN, HALF = (
    f"start-{name}" for name in ("earliest", "latest", "timed", "others", "own", "half")
)
CHOSEN: Final = [EARLIEST, LATEST, TIMED, OTHERS, OWN]
GONE: Final = 20
"""How many records of each old log its copy begins without."""
N: Final = 100
READ: Final = 60
"""The next record to read on the old cluster, of every topic."""
TIME_MS: Final = START_MS + 220_000
REASON: Final = "the tables are loaded anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A plan that people decided most positions of, applied."""

    job: Job
    plan: dict[str, Any]


@pytest.fixture(scope="module")
def started(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Started:
    """One group on topics that each start in another way, one of them with a partition that it never committed."""
    everything = [*CHOSEN, HALF]
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, *CHOSEN)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(HALF, 2, 1)])[HALF].result(30)
        produce(bootstrap, {topic: copies(first, N) for topic in everything})
    trim(lab.new_bootstrap, EARLIEST, 10)
    job = Job(lab, "started", tmp_path_factory.mktemp("started"))
    job.write_migration(groups=[{"name": job.group, "job": {"auto_offset_reset": "earliest"}}])
    commit(lab.old_bootstrap, job.group, dict.fromkeys(everything, READ))
    commit(lab.new_bootstrap, "others", {OTHERS: 33})
    moment = datetime.fromtimestamp(TIME_MS / 1000, UTC).isoformat()
    choices = {EARLIEST: "earliest", LATEST: "latest", TIMED: f"timestamp:{moment}", OTHERS: "group:others"}
    starts = [flag for topic, choice in choices.items() for flag in ("--start", f"{topic}={choice}")]
    plan = job.drafted("--override", f"{OWN}:0=47", *starts, "--reason", REASON)
    job.apply("--execute").answered()
    return Started(job=job, plan=plan)


def test_every_start_that_people_chose_is_planned_with_its_reason_and_what_it_costs(started: Started) -> None:
    place = READ - GONE
    timed = next(at for at, record in enumerate(copies(GONE, N)) if record.time_ms >= TIME_MS)
    starts = {EARLIEST: 10, LATEST: N - GONE, TIMED: timed, OTHERS: 33, OWN: 47}
    planned = {(each["topic"], each["partition"]): each for each in started.plan["positions"]}

    assert {topic: int(planned[topic, 0]["new_offset"]) for topic in CHOSEN} == starts
    kinds = ["earliest", "latest", "timestamp", "group", "specific"]
    assert [planned[topic, 0]["start"] for topic in CHOSEN] == kinds
    assert {planned[topic, 0]["override"]["reason"] for topic in CHOSEN} == {REASON}
    for topic, start in starts.items():
        again, missed = max(0, place - start), max(0, start - place)
        assert (int(planned[topic, 0]["replay"]), int(planned[topic, 0]["skip"])) == (again, missed), topic
    assert started.plan["totals"]["overridden"] == len(CHOSEN)


def test_a_partition_without_an_old_commit_is_planned_where_the_stated_setting_begins(started: Started) -> None:
    planned = {each["partition"]: each for each in started.plan["positions"] if each["topic"] == HALF}

    assert (planned[0]["start"], int(planned[0]["new_offset"])) == ("translated", READ - GONE)
    assert (planned[1]["old_offset"], planned[1]["start"], int(planned[1]["new_offset"])) == (None, "earliest", 0)
    assert "auto.offset.reset says, which the migration file states as earliest" in planned[1]["reason"]
    assert not {each["code"] for each in started.plan["findings"]} & {"NEW_PARTITION", "NO_COMMIT"}


def test_a_watch_goes_on_until_the_group_has_begun_where_it_was_started(started: Started) -> None:
    """It ends by itself, so that a script may wait for it."""
    lab, job = started.job.lab, started.job
    receipt, migration = job.folder / "receipt.json", job.folder / "m.yaml"
    watch = [COMMAND, "verify", str(receipt), "-m", str(migration), "--watch", "--every", "0.5", "--json"]
    with subprocess.Popen(watch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watching:
        assert watching.stdout is not None
        before = json.loads(watching.stdout.readline())
        assert {each["turnout"] for each in before["positions"]} == {"CONFIRMED"}
        assert before["started"] is False

        produce(lab.new_bootstrap, {LATEST: [Record("later")]})
        unread = {topic: serials(started, topic) for topic in [*CHOSEN, HALF]}
        unread[LATEST] = ["later"]
        found = read_on(lab.new_bootstrap, job.group, [*CHOSEN, HALF], sum(map(len, unread.values())))
        assert found == unread, "each begins exactly where it was decided"

        after = json.loads(watching.stdout.read().splitlines()[-1])
        assert watching.wait(120) == 0
    assert after["started"] is True
    assert {each["turnout"] for each in after["positions"] if each["partition"] == 0} == {"MOVED_ON"}


def serials(started: Started, topic: str) -> list[str]:
    """Return what lies at and after the planned place."""
    (place,) = {int(each["new_offset"]) for each in started.plan["positions"] if each["topic"] == topic} - {0}
    return [f"r{number}" for number in range(place + GONE, N)]


GROWN, CUT, MADE = "stale-grown", "stale-cut", "stale-made"


@pytest.fixture(scope="module")
def waiting(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A plan that was signed, and waits."""
    topics = (GROWN, CUT, MADE)
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, *topics)
        produce(bootstrap, {topic: copies(first, N) for topic in topics})
    job = Job(lab, "waiting", tmp_path_factory.mktemp("waiting"))
    job.write_migration()
    commit(lab.old_bootstrap, job.group, dict.fromkeys(topics, READ))
    job.drafted()
    return job


def drift(job: Job, code: int) -> dict[tuple[str, str | None], str]:
    """Look for drift; give what is there now, by kind and topic."""
    ran = job.call("drift", job.folder / "plan.json")
    assert ran.code == code, ran.err
    return {(each["kind"], each["topic"]): each["now"] for each in json.loads(ran.out)["drift"]}


def refused(job: Job, why: str) -> None:
    """Try to apply; see that it is refused, and that nothing was written."""
    ran = job.apply("--execute")
    assert ran.code == 3, ran.err
    problem = json.loads(ran.out)["problem"]
    assert why in problem
    assert "Nothing was written" in problem
    assert job.now() == {}
    assert not [*job.folder.glob("receipt.json*")], "no receipt, no journal"


KEPT, TAKEN = "proof-kept", "proof-taken"


def test_a_proof_that_retention_took_is_applied_only_where_the_reviewer_accepted_that(lab: Lab, tmp_path: Path) -> None:
    """The records at the old position are deleted after the plan was signed; the other topic keeps its proof."""
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, KEPT, TAKEN)
        produce(bootstrap, {KEPT: copies(first, N), TAKEN: copies(first, N)})
    job = Job(lab, "accepting", tmp_path)
    job.write_migration()
    commit(lab.old_bootstrap, job.group, dict.fromkeys((KEPT, TAKEN), READ))
    job.drafted()
    trim(lab.old_bootstrap, TAKEN, READ + 10)

    assert drift(job, 0) == {}
    assert job.apply().code == 3
    refused(job, "PROOF_NOT_REPEATED: expected to make the proof of every position again, found 2 readings")

    def signed(*accepting: str) -> None:
        (tmp_path / "approval.json").unlink()
        ran = call(
            *("sign", tmp_path / "plan.json", "--key", tmp_path / "rea", "--as", "rea"),
            *("--out", tmp_path / "approval.json", "--reason", "counted by hand"),
            *(flag for topic in accepting for flag in ("--accept-unproven", f"{topic}:0")),
        )
        assert ran.code == 0, ran.err
        assert f"{accepting[0]}-0 is accepted as unproven: counted by hand" in ran.err

    signed(KEPT, TAKEN)
    needless = job.apply("--execute")
    assert needless.code == 4
    assert f"the proof was made again: {KEPT}-0" in json.loads(needless.out)["problem"]
    assert job.now() == {}

    signed(TAKEN)
    tried = job.apply()
    assert tried.code == 0, tried.out
    told = [each["told"] for each in json.loads(tried.out)["held"] if each["unproven"] == [TAKEN, 0]]
    assert len(told) == 2
    assert all("rea accepted it as unproven: counted by hand." in each for each in told)
    receipt = job.apply("--execute").answered()
    assert receipt["approvers"][0]["accepted_unproven"] == [
        {"topic": TAKEN, "partition": 0, "reason": "counted by hand"}
    ]
    assert job.now() == dict.fromkeys((KEPT, TAKEN), (READ - GONE, ""))
    assert {each["turnout"] for each in job.receipt("verify").answered()["positions"]} == {"CONFIRMED"}


def test_logs_that_grow_are_no_drift(waiting: Job) -> None:
    assert drift(waiting, 0) == {}
    for bootstrap in (waiting.lab.old_bootstrap, waiting.lab.new_bootstrap):
        produce(bootstrap, {topic: copies(N, N + 50) for topic in (GROWN, CUT, MADE)})

    assert drift(waiting, 0) == {}
    assert waiting.apply("--detailed-exitcode").code == 2, "it would still be written"


def test_a_plan_is_refused_on_other_clusters(waiting: Job) -> None:
    lab = waiting.lab
    old, new = ({"properties": {"bootstrap.servers": each}} for each in (lab.old_bootstrap, lab.new_bootstrap))
    waiting.write_migration(source=new, target=old)
    try:
        assert {kind for kind, _ in drift(waiting, 3)} >= {"CLUSTER_REPLACED"}
        refused(waiting, "cluster id: reviewed")
        assert committed(lab.old_bootstrap, waiting.group) == dict.fromkeys((GROWN, CUT, MADE), (READ, ""))
    finally:
        waiting.write_migration()
    assert drift(waiting, 0) == {}


def test_a_log_start_that_passed_the_place_makes_a_plan_stale(waiting: Job) -> None:
    trim(waiting.lab.new_bootstrap, CUT, READ - GONE + 1)

    assert drift(waiting, 3) == {("LOG_START_PASSED", CUT): str(READ - GONE + 1)}
    refused(waiting, f"{CUT}-0, log start")


def test_a_topic_that_was_made_again_makes_a_plan_stale_even_with_the_same_records(waiting: Job) -> None:
    admin = AdminClient({"bootstrap.servers": waiting.lab.new_bootstrap, "log_level": 2})
    admin.delete_topics([MADE])[MADE].result(30)
    create(waiting.lab.new_bootstrap, MADE)
    produce(waiting.lab.new_bootstrap, {MADE: copies(GONE, N + 50)})

    assert ("TOPIC_RECREATED", MADE) in drift(waiting, 3)
    refused(waiting, f"Topic '{MADE}'")
