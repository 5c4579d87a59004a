"""The old logs and their copies watched on a real lab: producers, transactions, a mirror that lags, late commits."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

import offsetwise as ow
from offsetwise.lab import Lab
from offsetwise.model import Cluster, Cutover, CutoverState, JobState
from offsetwise.watch import statuses
from offsetwise.watch.statuses import BackgroundStatuses, WatchedStatus
from tests.commands import call
from tests.integration.groups import Job, commit
from tests.integration.relay import Request, relayed
from tests.integration.topics import TIMEOUT_S, copies, create, create_divided, produce

STILL_S = 2.0
LIST_OFFSETS, DESCRIBE_PRODUCERS = 2, 61


def migration(folder: Path, old: str, new: str, **more: Any) -> Path:
    body: dict[str, Any] = {
        "name": "cut",
        "source": {"name": "old-one", "properties": {"bootstrap.servers": old}},
        "target": {"name": "new-one", "properties": {"bootstrap.servers": new}},
        "link": "other",
        "writers": "mirror-only",
        "spark": {"master": "local[2]"},
    }
    path = folder / "m.yaml"
    path.write_text(yaml.safe_dump(body | more), encoding="utf-8")
    return path


def cutover(path: Path, topic: str, **how: Any) -> Cutover:
    return ow.Migration.load(path).cutover(topics=[topic], still_for_s=STILL_S, every_s=0.5, **how)


@contextmanager
def writing(bootstrap: str, topic: str, seconds: float) -> Iterator[threading.Event]:
    """Write a record five times a second, for so long, or until the event is set."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, "log_level": 2})
    end, stop = time.monotonic() + seconds, threading.Event()

    def write() -> None:
        for number in range(1_000):
            if time.monotonic() > end or stop.is_set():
                break
            producer.produce(topic, value=f"late{number}", partition=0)
            producer.flush(TIMEOUT_S)
            time.sleep(0.2)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield stop
    finally:
        thread.join()


def both(lab: Lab, topic: str, old: int, new: int) -> None:
    """Create a topic on both clusters, whose copies begin 10 records later."""
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, topic)
    produce(lab.old_bootstrap, {topic: copies(0, old)})
    produce(lab.new_bootstrap, {topic: copies(10, new)})


def test_a_log_that_stands_still_is_frozen_and_once_the_mirror_has_brought_its_last_record_copied(
    lab: Lab, tmp_path: Path
) -> None:
    both(lab, "cut-mirrored", old=100, new=70)
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)

    lagging = cutover(path, "cut-mirrored")
    produce(lab.new_bootstrap, {"cut-mirrored": copies(70, 100)})
    copied = cutover(path, "cut-mirrored")

    (row,) = lagging.partitions
    assert (lagging.state, row.end, row.grown) == (CutoverState.FROZEN, 100, 0)
    assert row.still_ms >= STILL_S * 1000
    assert "The last record read before 100 has no copy on the new log, which ends at 60" in row.told
    (row,) = copied.partitions
    assert (copied.state, row.state) == (CutoverState.COPIED, CutoverState.COPIED)
    assert "Its last record is on the new cluster, where cut-mirrored-0 ends at 90" in row.told
    assert (copied.new.cluster_id, copied.old.cluster_id) != (None, None)
    assert not copied.findings


def test_a_log_that_grows_is_open_and_the_producer_is_named_at_once(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-growing", old=20, new=20)
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)

    with writing(lab.old_bootstrap, "cut-growing", 8):
        ran = call("cutover", "-m", path, "--topic", "cut-growing", "--every", "1", "--detailed-exitcode", "--json")

    assert ran.code == 2, ran.err
    found = json.loads(ran.out)
    (row,) = found["partitions"]
    assert (found["state"], row["state"]) == ("OPEN", "OPEN")
    assert int(row["grown"]) > 0
    assert found["looks_taken"] < 5, "it is over as soon as the log is seen to grow"
    (finding,) = found["findings"]
    assert finding["code"] == "OLD_LOG_GROWS"
    assert f"{int(row['writers'][0]['producer_id']):,}" in finding["message"]


def test_an_open_transaction_keeps_a_log_draining_until_it_ends(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-transaction", old=20, new=20)
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap, isolation_level="read_committed")
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "transactional.id": "cut", "log_level": 2})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("cut-transaction", value="open", partition=0)
    producer.flush(TIMEOUT_S)

    opened = cutover(path, "cut-transaction")
    producer.abort_transaction(TIMEOUT_S)
    ended = cutover(path, "cut-transaction")

    assert opened.state is CutoverState.DRAINING
    assert "a transaction is open: the last stable offset is 20" in opened.partitions[0].told
    assert ended.state is CutoverState.COPIED, "an aborted transaction leaves nothing to copy"


@pytest.mark.gates
def test_watching_ends_when_producers_have_stopped_and_the_mirror_has_caught_up(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-watched", old=50, new=40)
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)
    seen: list[CutoverState] = []

    def heard(judged: Cutover) -> None:
        if judged.state is CutoverState.FROZEN and CutoverState.FROZEN not in seen:
            produce(lab.new_bootstrap, {"cut-watched": copies(40, 50)})
        seen.append(judged.state)

    last = cutover(path, "cut-watched", until_copied=True, heard=heard)

    assert last.state is CutoverState.COPIED
    order = [*CutoverState]
    assert [*dict.fromkeys(seen)] == order
    assert last.looks_taken > 3


def test_the_sample_that_mirrormaker_copied_is_copied(sample: Path) -> None:
    ran = call("cutover", "-m", sample, "--still-for", "2s", "--detailed-exitcode", width=200)

    assert ran.code == 0, ran.out + ran.err
    assert "Every record of" in ran.out
    assert "clicks-0 → old.clicks-0" in ran.out


def test_commits_that_came_after_the_plan_are_named(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-commits", old=40, new=40)
    commit(lab.old_bootstrap, "cut-group", {"cut-commits": 20})
    job = Job(lab, "cut-group", tmp_path)
    job.write_migration()
    job.drafted()
    arguments = ("cutover", "-m", tmp_path / "m.yaml", "--plan", tmp_path / "plan.json", "--still-for", "1s")

    before = call(*arguments, "--every", "0.5", "--detailed-exitcode")
    commit(lab.old_bootstrap, "cut-group", {"cut-commits": 25})
    late = call(*arguments, "--every", "0.5", "--detailed-exitcode", "--json")

    assert before.code == 0, before.out + before.err
    assert late.code == 2
    found = json.loads(late.out)
    assert found["state"] == "COPIED"
    assert [(each["planned"], each["committed"]) for each in found["late_commits"]] == [("20", "25")]
    assert [each["code"] for each in found["findings"]] == ["LATE_COMMIT"]


def test_a_look_asks_each_broker_three_times_however_many_partitions(lab: Lab, tmp_path: Path) -> None:
    create_divided(lab.old_bootstrap, "cut-wide", 1_200)
    create_divided(lab.new_bootstrap, "cut-wide", 1_200)
    asked: Counter[int] = Counter()

    def forwards(request: Request) -> bool:
        asked[request.api] += 1
        return True

    with relayed([int(lab.old_bootstrap.rpartition(":")[2])], forwards=forwards) as address:
        path = migration(tmp_path, address, lab.new_bootstrap)
        while any(each.error for each in ow.Migration.load(path).snapshot(Cluster.OLD).partitions().values()):
            time.sleep(0.5)  # leaders of as many partitions take a moment
        asked.clear()
        with writing(lab.old_bootstrap, "cut-wide", 6):
            found = cutover(path, "cut-wide", records=False)

    assert found.state is CutoverState.OPEN
    assert len(found.partitions) == 1_200
    assert asked[LIST_OFFSETS] == 2 * found.looks_taken
    assert 1 <= asked[DESCRIBE_PRODUCERS] <= found.looks_taken - 1


@pytest.mark.gates
def test_a_cluster_that_falls_silent_leaves_it_open_where_it_is_watched_and_is_an_error_else(
    lab: Lab, tmp_path: Path
) -> None:
    both(lab, "cut-silent", old=20, new=20)
    silent = threading.Event()
    seen: list[Cutover] = []

    def heard(judged: Cutover) -> None:
        seen.append(judged)
        if len(seen) == 2:
            silent.set()
        elif len(seen) == 3:
            silent.clear()

    def forwards(_: Request) -> bool:
        return not silent.is_set()

    with relayed([int(lab.old_bootstrap.rpartition(":")[2])], forwards=forwards) as address:
        path = migration(tmp_path, address, lab.new_bootstrap)
        last = cutover(path, "cut-silent", until_copied=True, heard=heard)
        silent.set()
        with pytest.raises(ow.ClusterError):
            cutover(path, "cut-silent")

    assert seen[2].state is CutoverState.OPEN
    assert seen[2].partitions[0].told == "Where the log ends is not known: the cluster gave no answer."
    assert "'old-one'" in seen[2].problems[0].message
    assert last.state is CutoverState.COPIED


def test_topics_that_are_not_there_are_named(lab: Lab, tmp_path: Path) -> None:
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)

    error = call("cutover", "-m", path, "--topic", "cut-nowhere", "--json").refused()
    nothing = call("cutover", "-m", path, "--json").refused()

    assert "expected the topics cut-nowhere, found none of them" in error["problem"]
    assert "expected topics to watch, found none that its jobs read" in nothing["problem"]


def test_a_topic_that_is_deleted_meanwhile_is_open(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-deleted", old=20, new=20)
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap, "log_level": 2})
    seen: list[Cutover] = []

    def heard(judged: Cutover) -> None:
        if not seen:
            admin.delete_topics(["cut-deleted"])["cut-deleted"].result(TIMEOUT_S)
        seen.append(judged)

    found = cutover(path, "cut-deleted", heard=heard)

    assert found.state is CutoverState.OPEN
    assert found.partitions[0].told == "Where the log ends is not known: it is not there any more."
    assert [each.code for each in found.problems] == ["TOPIC_MISSING"]


def required(lab: Lab, folder: Path, name: str, *flags: str, old: int = 40, new: int = 40) -> Job:
    """Draft and sign a plan for a group that requires something of the old log."""
    both(lab, name, old=old, new=new)
    commit(lab.old_bootstrap, name, {name: 20})
    job = Job(lab, name, folder)
    job.write_migration()
    job.drafted(*flags)
    return job


def test_a_plan_is_refused_while_a_producer_goes_on_and_applied_once_it_has_stopped(lab: Lab, tmp_path: Path) -> None:
    job = required(lab, tmp_path, "cut-required", "--require", "frozen", "--still-for", "4s")
    before = sorted(tmp_path.iterdir())

    with writing(lab.old_bootstrap, "cut-required", 60) as stop:
        tried = job.apply()
        refused = job.apply("--execute")
        stop.set()
    written, files = job.now(), sorted(tmp_path.iterdir())
    next_step = ("-m", tmp_path / "m.yaml", "--plan", tmp_path / "plan.json", "--watch", "--detailed-exitcode")
    watched = call("cutover", *next_step)
    applied = job.apply("--execute")

    assert (tried.code, refused.code) == (3, 3), refused.err
    error = json.loads(refused.out)
    assert "have stood still for 4 s, but cut-required-0 is open. It grew by" in error["problem"]
    assert "Its leader remembers producer" in error["problem"]
    assert "Nothing was written." in error["problem"]
    assert "`offsetwise cutover -m FILE --plan PLAN --watch`" in error["fix"]
    assert written == {}, "nothing is committed on the new cluster"
    assert files == before, "nor is there a journal"
    assert watched.code == 0, watched.out + watched.err
    assert "▲ frozen" in watched.out
    assert "✓ copied" not in watched.out, "the plan requires that the log stands still, and nothing more"
    assert applied.code == 0, applied.err
    assert job.now()["cut-required"][0] == 10


def test_a_plan_that_requires_copies_is_refused_until_the_mirror_has_brought_the_last_record(
    lab: Lab, tmp_path: Path
) -> None:
    job = required(lab, tmp_path, "cut-copies", "--require", "copied", "--still-for", "2s", new=40)
    produce(lab.old_bootstrap, {"cut-copies": copies(40, 60)})

    refused = job.apply("--execute")
    untouched = job.now()
    produce(lab.new_bootstrap, {"cut-copies": copies(40, 60)})
    tried = job.apply()
    applied = job.apply("--execute")

    assert refused.code == 3, refused.err
    problem = json.loads(refused.out)["problem"]
    assert "cut-copies-0 is frozen. It has ended at 60 for" in problem
    assert "has no copy on the new log, which ends at 30" in problem
    assert untouched == {}
    assert tried.code == 0, tried.err
    (of_cutover,) = (each for each in json.loads(tried.out)["held"] if each["cutover"])
    assert (of_cutover["outcome"], of_cutover["topic"]) == ("passed", None)
    assert applied.code == 0, applied.err


@pytest.mark.gates
def test_the_console_watches_until_somebody_stops_it_also_logs_that_grow_again(lab: Lab, tmp_path: Path) -> None:
    both(lab, "cut-console", old=30, new=20)
    commit(lab.old_bootstrap, "cut-console", {"cut-console": 20})
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap, groups=["cut-console"])
    command = statuses.command(path, None, still_for_s=STILL_S, every_s=0.5)
    watches = BackgroundStatuses()

    assert watches.watched("cut") is None
    watches.start("cut", command)
    behind = until(watches, lambda seen: seen.logs is not None and seen.logs.state is CutoverState.FROZEN)
    watches.stop("cut")
    stopped = until(watches, lambda seen: not seen.running)
    produce(lab.new_bootstrap, {"cut-console": copies(20, 30)})
    watches.start("cut", command)
    copied = until(watches, lambda seen: state_of(seen) is JobState.MIRRORED)
    produce(lab.old_bootstrap, {"cut-console": copies(30, 31)})
    until(watches, lambda seen: state_of(seen) is JobState.STOPPED)
    produce(lab.new_bootstrap, {"cut-console": copies(30, 31)})
    # Another job in the file is seen, and nothing about the logs begins anew.
    migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap, groups=["cut-console", "cut-added"])
    again = until(watches, lambda seen: state_of(seen) is JobState.MIRRORED)
    watches.close()

    assert behind.logs is not None
    assert "has no copy on the new log" in behind.logs.partitions[0].told
    assert stopped.error is None
    assert copied.logs is not None
    assert copied.logs.state is CutoverState.COPIED
    assert copied.error is None
    assert again.history.newest is not None
    assert [job.job for job in again.history.newest.jobs] == ["group cut-console", "group cut-added"]
    assert again.logs is not None
    assert again.logs.began_at == copied.logs.began_at
    assert watches.begun == 2, "one process for each time that somebody asked"


def test_a_watch_that_fails_says_why(lab: Lab, tmp_path: Path) -> None:
    path = migration(tmp_path, lab.old_bootstrap, lab.new_bootstrap)
    watches = BackgroundStatuses()

    watches.start("cut", statuses.command(path, None, still_for_s=STILL_S))
    failed = until(watches, lambda seen: not seen.running)

    assert "expected checkpoints or groups" in str(failed.error)


def state_of(seen: WatchedStatus) -> JobState | None:
    newest = seen.history.newest
    return None if newest is None else newest.jobs[0].state


def until(watches: BackgroundStatuses, reached: Callable[[WatchedStatus], bool]) -> WatchedStatus:
    """Wait until a watch has come so far."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        seen = watches.watched("cut")
        if seen is not None and reached(seen):
            return seen
        time.sleep(0.1)
    raise AssertionError(f"it never came so far: {watches.watched('cut')}")
