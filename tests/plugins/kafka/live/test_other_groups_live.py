"""Groups that are not consumer groups, of real brokers and real clients: share groups, and Kafka Streams."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient

from offsetwise.client_properties import client_properties
from offsetwise.lab import Lab
from offsetwise.lab.brokers import jvm
from offsetwise.lab.jars import KAFKA_VERSION
from offsetwise.plugins.kafka.stream.client import Deadline
from offsetwise.plugins.kafka.stream.group_types.others import read_others
from offsetwise.plugins.kafka.stream.wire import Wire
from tests.commands import Ran
from tests.integration.clusters import config, read
from tests.integration.groups import Job
from tests.integration.secured_broker import KAFKAS, NEWEST_KAFKA
from tests.integration.topics import Record, copies, create, produce
from tests.plugins.kafka.live.group_jobs import application, begin_shared, broker, copy, read_shared, records
from tests.plugins.positions.live.test_positions_live import TOOL

pytestmark = pytest.mark.usefixtures("lab")  # all in one process: brokers of two releases start slowly
RECORDS, START = 20, 3
"""Of the share group's topic: its records, and the first one that is not accepted."""
ACCEPTED = (0, 1, 2, 4, 5)
DIFFERENT, TIMES = 10, 3
WORDS, COUNTED = DIFFERENT * TIMES, 12
"""Records of the application's input, and how many of them it counted on the old cluster."""
APP = "counting"
REPARTITION, CHANGELOG = f"{APP}-by-value-repartition", f"{APP}-counts-changelog"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A broker of each release, the older one with a share group."""
    with ExitStack() as stack:
        addresses = {
            version: stack.enter_context(broker(tmp_path_factory.mktemp(version), version)) for version in KAFKAS
        }
        old = addresses[KAFKA_VERSION]
        create(old, "clicks")
        produce(old, {"clicks": copies(0, RECORDS)})
        assert len(read_shared(old, "sg", "clicks", RECORDS, accepted=ACCEPTED)) == RECORDS
        yield addresses


def test_a_share_group_is_read_with_its_start_offset(brokers: dict[str, str]) -> None:
    address = brokers[KAFKA_VERSION]

    snapshot = read(config(address), "clicks", groups=("sg", "gone"))

    shared, gone = snapshot.group("sg"), snapshot.group("gone")
    assert shared is not None
    assert (shared.type, shared.state, shared.offsets, shared.error) == ("Share", "Empty", (), None)
    assert [(str(each.topic_partition), each.offset) for each in shared.start_offsets] == [("clicks-0", START)]
    assert gone is not None
    assert (gone.type, gone.state, gone.start_offsets) == (None, "Dead", ())
    assert snapshot.problems == ()
    assert _listed(address)["sg"].type == "Share"


def test_a_share_group_is_compared_and_begins_where_the_comparison_says(
    brokers: dict[str, str], tmp_path: Path, lab: Lab
) -> None:
    new = brokers[NEWEST_KAFKA]
    create(new, "moved")
    produce(new, {"moved": copies(2, RECORDS)})
    job = Job(lab, "sg", tmp_path)
    _migrate(job, brokers[KAFKA_VERSION], new, topics={"policy": "identity", "map": {"clicks": "moved"}})

    compared = job.call("compare", "--group", "sg").answered()

    (row,) = compared["partitions"]
    assert (row["old_offset"], row["new_offset"], row["exactness"]) == (str(START), str(START - 2), "EXACT")
    (told,) = [each for each in compared["findings"] if each["code"] == "SHARE_GROUP_NOT_MOVED"]
    assert f"at most {RECORDS - START} records" in told["message"]
    refused = job.call(
        "draft",
        "--group",
        "sg",
        "--target",
        "consumer-group:sg",
        "--out",
        tmp_path / "p",
        "--author",
        "ann",
    )
    assert refused.code == 1
    assert "SHARE_GROUP_NOT_MOVED" in refused.out
    assert not (tmp_path / "p").exists()
    # What the finding says to do works.
    begin_shared(new, "sg", "moved", int(row["new_offset"]))
    begun = read(config(new), "moved", groups=("sg",)).group("sg")
    assert begun is not None
    assert [(str(each.topic_partition), each.offset) for each in begun.start_offsets] == [("moved-0", START - 2)]
    again = read_shared(new, "sg", "moved", RECORDS - START, accepted=(START,))
    assert sorted(again) == list(range(START - 2, RECORDS - 2))


@pytest.fixture(scope="module")
def app(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """An application that counted some words, and has the others unread in its repartition topic."""
    create(lab.old_bootstrap, "words")
    words = [Record(f"r{number % DIFFERENT}", headers=(("n", f"{number}".encode()),)) for number in range(WORDS)]
    produce(lab.old_bootstrap, {"words": words})
    admin = KafkaAdminClient(bootstrap_servers=lab.old_bootstrap)

    def committed() -> dict[str, int]:
        return {at.topic: each.offset for at, each in admin.list_group_offsets(APP)[APP].items()}

    with application(lab.old_bootstrap, APP, "words", tmp_path_factory.mktemp("app"), counted=COUNTED):
        end = time.monotonic() + 60
        while committed() != {"words": WORDS, REPARTITION: COUNTED} and time.monotonic() < end:
            time.sleep(0.1)
    assert committed() == {"words": WORDS, REPARTITION: COUNTED}
    admin.close()
    copy(lab.old_bootstrap, lab.new_bootstrap, "words")
    return lab


def test_an_application_of_kafka_streams_is_judged_and_not_moved(app: Lab, tmp_path: Path) -> None:
    job = Job(app, APP, tmp_path)
    job.write_migration()

    findings = _found(job.call("compare", "--group", APP, "--no-content"))

    assert "reads 1 input topic (words)" in findings["STREAMS_NOT_MOVED"]
    assert f"{CHANGELOG} (at most {COUNTED} records; it does not exist there)" in findings["STREAMS_STATE_NOT_MIRRORED"]
    assert (
        f"{REPARTITION} (at most {WORDS - COUNTED} records; it does not exist there)"
        in (findings["STREAMS_REPARTITION_UNREAD"])
    )
    refused = job.call(
        "draft",
        "--group",
        APP,
        "--target",
        f"consumer-group:{APP}",
        "--out",
        tmp_path / "p",
        "--author",
        "a",
    )
    assert refused.code == 1
    assert "STREAMS_NOT_MOVED" in refused.out

    renamed = f"old.{CHANGELOG}"
    create(app.new_bootstrap, renamed)
    job.write_migration(topics={"policy": "default", "map": {"words": "words"}})
    assert (
        f"it is there as {renamed}"
        in _found(job.call("compare", "--group", APP, "--no-content"))["STREAMS_STATE_NOT_MIRRORED"]
    )

    for topic in (CHANGELOG, REPARTITION):
        copy(app.old_bootstrap, app.new_bootstrap, topic)
    job.write_migration()
    compared = job.call("compare", "--group", APP).answered()
    assert [each["code"] for each in compared["findings"] if each["severity"] == "blocks"] == ["STREAMS_NOT_MOVED"]

    # What that finding says to do works: no word is lost or counted twice.
    rows = [f"{row['new_topic']},{row['partition']},{row['new_offset']}" for row in compared["partitions"]]
    assert sorted(rows) == [f"{REPARTITION},0,{COUNTED}", f"words,0,{WORDS}"]
    offsets = tmp_path / "offsets.csv"
    offsets.write_text("\n".join(rows))
    given = ("--bootstrap-server", app.new_bootstrap, "--group", APP, "--reset-offsets", "--from-file", str(offsets))
    subprocess.run(jvm(tmp_path, TOOL, *given, "--execute"), check=True, capture_output=True)
    with application(app.new_bootstrap, APP, "words", tmp_path, counted=WORDS - COUNTED):
        counts = counts_of_all(app.new_bootstrap)
    assert counts == [TIMES] * DIFFERENT


def counts_of_all(bootstrap: str) -> list[int]:
    """Return the counts in the changelog once they are of all words: the last one is written after it is counted."""
    end = time.monotonic() + 60
    while True:
        counts = {key: int.from_bytes(value, "big") for key, value in records(bootstrap, CHANGELOG)}
        if sum(counts.values()) >= WORDS or time.monotonic() > end:
            return list(counts.values())
        time.sleep(0.2)


def test_a_streams_group_is_named_by_its_broker(brokers: dict[str, str], tmp_path: Path) -> None:
    address = brokers[NEWEST_KAFKA]
    create(address, "words")
    produce(address, {"words": copies(0, WORDS)})
    with application(address, APP, "words", tmp_path, counted=COUNTED, protocol="streams"):
        pass

    (group,) = read(config(address), "words", groups=(APP,)).groups

    assert group.type == "Streams"
    assert group.application is not None
    assert (group.application.changelogs, group.application.repartitions) == ((CHANGELOG,), (REPARTITION,))


def _found(ran: Ran) -> dict[str, str]:
    return {each["code"]: each["message"] for each in ran.answered()["findings"]}


def _migrate(job: Job, old: str, new: str, **changes: Any) -> None:
    clusters = {
        "source": {"properties": {"bootstrap.servers": old}},
        "target": {"properties": {"bootstrap.servers": new}},
    }
    job.write_migration(**clusters, **changes)


def _listed(address: str) -> dict[str, Any]:
    reached = config(address)
    with Wire(reached, client_properties(reached), Deadline(20)) as wire:
        return {name: other.state for name, other in read_others(wire, None).items()}
