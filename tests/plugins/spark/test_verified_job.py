"""What a running query of Spark says about the checkpoint that it is on, by its REST API and by its event log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pyarrow
import pytest

from offsetwise.errors import UsageError
from offsetwise.model import JobOrigin, Target, VerifiedJob
from offsetwise.plugins.spark.engine.event_log import read_event_log
from offsetwise.position import offset_of
from tests.apply.plans import COPY, IN_PLACE, PENDING, SEEDED
from tests.jobs import APPLICATION, EVENTS, QUERY, answering, events, spark
from tests.plugins.connect.service import Handler, endless, half, says, sends
from tests.test_verify import Applied
from tests.with_cases import with_cases

PLAN, OTHER, FRESH, UNKNOWN = JobOrigin
ANOTHER: Final = "0d1f2e3c-1111-4222-8333-0123456789ab"


class Asked(Applied):
    """A plan that was applied, and a query that is asked about it."""

    def __init__(self, folder: Path, target: Target = COPY, sample: str = "spark-4.0.0-agg-rocksdb") -> None:
        super().__init__(folder, target, sample=sample)
        self.log = folder / "log"

    @property
    def query_id(self) -> str:
        assert self.staged.plan.job_id is not None
        return self.staged.plan.job_id

    @property
    def first(self) -> int:
        """The first batch that is run from what the plan wrote."""
        restarts = (position.restart[0].batch for position in self.staged.plan.positions)
        return max(batch for batch in restarts if batch is not None) + 1

    def starts(self, add: int = 0) -> list[dict[str, dict[str, int]]]:
        """Return where every source begins as planned, `add` further on."""
        positions = self.staged.plan.positions
        starts: list[dict[str, dict[str, int]]] = [{} for _ in range(1 + max(int(one.source) for one in positions))]
        for position in positions:
            at = offset_of(position.new_offset) + add
            starts[int(position.source)].setdefault(position.new_topic, {})[str(position.partition)] = at
        return starts

    def ask(self, address: str | Path) -> VerifiedJob:
        verified = self.look(job=str(address)).job
        assert verified is not None
        return verified

    def rest(self, answers: Mapping[str, Any], path: str = "") -> VerifiedJob:
        with answering(answers) as api:
            return self.ask(f"{api.url}{path}")

    def logged(self, data: bytes, name: str = "app-20261127-0001") -> VerifiedJob:
        self.log.mkdir(exist_ok=True)
        (self.log / name).write_bytes(data)
        return self.ask(self.log / name)


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


@with_cases("path", ["", "/StreamingQuery/", f"/history/{APPLICATION}/jobs/", f"/api/v1/applications/{APPLICATION}"])
def test_by_rest_the_copy_must_have_the_batch_that_the_query_is_in(asked: Asked, path: str) -> None:
    answers = spark(asked.query_id, first=asked.first)
    elsewhere = asked.rest(answers, path)
    asked.batch(5)
    asked.batch(5)
    on_the_copy = asked.rest(answers, path)

    assert (elsewhere.origin, on_the_copy.origin) == (OTHER, PLAN)
    assert f"has no offsets/{asked.first + 1}" in elsewhere.told
    assert on_the_copy.id == asked.query_id


def test_a_batch_that_the_plan_wrote_itself_shows_nothing_until_it_is_committed(tmp_path: Path) -> None:
    asked = Asked(tmp_path, sample=PENDING)
    answers = spark(asked.query_id, first=asked.first - 1)
    before = asked.rest({path: answer[2:] if path.endswith("/sql") else answer for path, answer in answers.items()})
    asked.commit(asked.first)
    after = asked.rest({path: answer[2:] if path.endswith("/sql") else answer for path, answer in answers.items()})

    assert (before.origin, after.origin) == (UNKNOWN, PLAN)
    assert "whose offsets" in before.told


def test_a_query_that_began_with_an_earlier_batch_is_on_another_checkpoint(asked: Asked) -> None:
    verified = asked.rest(spark(asked.query_id, first=asked.first - 1))

    assert verified.origin is OTHER
    assert f"began with batch {asked.first - 1}, expected {asked.first}" in verified.told


@with_cases(
    ("first", "forgotten", "origin", "told"),
    [
        (0, 0, FRESH, f"found {ANOTHER}, which began with batch 0"),
        (7, 0, OTHER, f"found {ANOTHER} (batch 7 to 8)"),
        (0, 1, OTHER, f"found {ANOTHER} (batch 0 to 1)"),
        (0, 4, UNKNOWN, "found no batch of any"),
    ],
    ids=["from batch 0", "later", "its beginning is forgotten", "no batch"],
)
def test_a_query_of_another_id_is_another_job(
    asked: Asked, first: int, forgotten: int, origin: JobOrigin, told: str
) -> None:
    verified = asked.rest(spark(ANOTHER, first=first, forgotten=forgotten))

    assert verified.origin is origin
    assert told in verified.told


def test_the_event_log_says_where_the_first_batch_began(asked: Asked) -> None:
    planned = asked.logged(events(asked.query_id, first=asked.first, starts=asked.starts()))
    original = asked.logged(events(asked.query_id, first=asked.first, starts=asked.starts(100)))

    assert planned.origin is PLAN
    assert f"batch {asked.first} of query {asked.query_id}, its first one, began at exactly the planned" in planned.told
    assert original.origin is OTHER
    position = asked.staged.plan.positions[0]
    assert f"at {offset_of(position.new_offset) + 100:,}, expected {position.new_offset:,}" in original.told
    assert asked.look(job=str(asked.log / "app-20261127-0001")).exit_code == 5


@with_cases("as_text", [False, True])
def test_offsets_may_be_json_or_a_text_that_is_json(asked: Asked, as_text: bool) -> None:
    starts = [str(start).replace("'", '"') if as_text else start for start in asked.starts()]

    assert asked.logged(events(asked.query_id, first=asked.first, starts=starts)).origin is PLAN


def test_an_event_log_that_begins_later_is_judged_by_the_folder(asked: Asked) -> None:
    data = events(asked.query_id, first=asked.first + 1, starts=asked.starts(5))

    assert asked.logged(data).origin is OTHER
    for _ in range(3):
        asked.batch(5)
    assert asked.logged(data).origin is PLAN


def test_a_query_that_has_begun_no_batch_is_unknown(asked: Asked) -> None:
    data = events(asked.query_id, first=asked.first, starts=asked.starts())
    lines = [line for line in data.splitlines(keepends=True) if b"QueryProgressEvent" not in line]

    assert "has begun no batch yet" in asked.logged(b"".join(lines)).told


def test_a_seeded_checkpoint_has_an_id_that_no_other_one_has(tmp_path: Path) -> None:
    asked = Asked(tmp_path, SEEDED)
    own = json.loads((asked.place / "metadata").read_text())["id"]
    assert (asked.rest(spark(own, first=0)).origin, asked.rest(spark(ANOTHER, first=0)).origin) == (PLAN, FRESH)

    (asked.place / "metadata").unlink()
    assert "the id of its query is not known" in asked.rest(spark(own, first=0)).told


def test_in_place_the_folder_itself_is_asked_about(tmp_path: Path) -> None:
    asked = Asked(tmp_path, IN_PLACE)
    for _ in range(2):
        asked.batch(5)

    assert asked.rest(spark(asked.query_id, first=asked.first)).origin is PLAN


@with_cases("cut", [0, 1, 200])
def test_a_recorded_event_log_is_read_whole_or_as_far_as_it_was_written(tmp_path: Path, cut: int) -> None:
    data = EVENTS.read_bytes()
    (tmp_path / EVENTS.name).write_bytes(data[: len(data) - cut])

    (run,) = read_event_log(str(tmp_path)).runs
    assert (run.query_id, run.first_batch, run.is_whole, run.starts) == (QUERY, 2, True, ({"trades": {"0": 100}},))
    assert read_event_log(str(EVENTS.parent.parent / EVENTS.parent.name)).runs[0].newest_batch == 3


def test_files_of_a_rolled_event_log_are_read_in_their_order(asked: Asked) -> None:
    asked.log.mkdir()
    first, second = (
        events(asked.query_id, first=batch, starts=asked.starts(add))
        for batch, add in ((asked.first, 0), (asked.first + 2, 9))
    )
    (asked.log / "events_10_app.zstd").write_bytes(pyarrow.compress(second, codec="zstd", asbytes=True))
    (asked.log / "events_9_app").write_bytes(first)

    assert asked.ask(asked.log).origin is PLAN


BROKEN: Final = b'{"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$QueryStartedEvent"\n'
BAD_LOGS: Final = {
    "not there": ({}, "/gone", "expected a folder"),
    "of several": (
        {"app-1": b"", "app-2": b""},
        "",
        "event log of one application, found 2: app-1, app-2",
    ),
    "an empty folder": ({}, "", "found 0"),
    "of another codec": ({"events_1_app.lzf": b""}, "", "plain or compressed with zstd, lz4, snappy, found lzf"),
    "not JSON": (
        {"app": b'{"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$Query"\n'},
        "",
        "a line that",
    ),
    "something else": ({"app": b"\0\1\2\n"}, "", "found no batch of any"),
}


@with_cases(("names", "below", "told"), BAD_LOGS.values(), ids=BAD_LOGS)
def test_what_is_no_event_log_is_a_sentence(asked: Asked, names: Mapping[str, bytes], below: str, told: str) -> None:
    asked.log.mkdir()
    for name, data in names.items():
        (asked.log / name).write_bytes(data)

    verified = asked.ask(f"{asked.log}{below}")

    assert verified.origin is UNKNOWN
    assert told in verified.told


BAD: Final[dict[str, tuple[Any, str]]] = {
    "no application": ([], "expected exactly one application, found 0"),
    "several": (
        [{"id": "app-1", "name": "a"}, {"id": "app-2", "name": "b"}],
        "found 2: app-1 (a), app-2 (b). Where the job began is not known. Name the application",
    ),
    "another service": ({"jobs": []}, "expected a list of applications as Spark answers"),
    "starting up": (sends(b"<h1>Spark is starting up. Please wait</h1>"), "expected JSON of Spark"),
    "a redirect": (says(302, None, Location="/"), "a redirect (HTTP 302)"),
    "without end": (endless, "it sends more than 16,777,216 bytes"),
    "half an answer": (half, "bytes before the length that it states"),
}


@with_cases(("bad", "told"), BAD.values(), ids=BAD)
def test_a_bad_answer_is_a_sentence(asked: Asked, bad: Any, told: str) -> None:
    verified = asked.rest({"/api/v1/applications": bad})

    assert verified.origin is UNKNOWN
    assert told in verified.told


def test_an_application_that_is_not_there_is_named(asked: Asked) -> None:
    assert "expected the application app-9, found none" in asked.rest({}, "/history/app-9").told


def test_an_application_of_several_attempts_is_asked_by_its_newest(asked: Asked) -> None:
    answers = spark(ANOTHER, first=7)
    path = f"/api/v1/applications/{APPLICATION}"
    answers[path]["attempts"].insert(0, {"attemptId": "2", "completed": True})
    answers["/api/v1/applications"] = [answers[path]]
    answers[f"{path}/2/sql"] = answers.pop(f"{path}/sql")

    verified = asked.rest(answers)

    assert (verified.origin, verified.state) == (OTHER, "COMPLETED")


@with_cases("address", ["http://ada:hunter2@localhost:4040", "s3://ada:hunter2@bucket/log", "a b"])
def test_what_is_no_address_is_refused(asked: Asked, address: str) -> None:
    with pytest.raises(UsageError) as error:
        asked.ask(address)

    assert "hunter2" not in str(error.value)


def history(asked: Asked, log: Any) -> dict[str, Any]:
    """Return what a history server answers, with what it sends as the event log."""
    return spark(asked.query_id, first=asked.first) | {f"/api/v1/applications/{APPLICATION}/logs": log}


HUGE_BYTES: Final = 257 * 1024 * 1024


def huge(handler: Handler) -> None:
    """Send more than an event log may have."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):  # nobody listens any more
        for _ in range(HUGE_BYTES // (1024 * 1024)):
            handler.wfile.write(bytes(1024 * 1024))


def zip_of(*files: tuple[str, bytes]) -> bytes:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        for name, text in files:
            archive.writestr(name, text)
    return data.getvalue()


@with_cases(("add", "origin"), [(0, PLAN), (100, OTHER)])
def test_a_history_server_sends_the_event_log_too(asked: Asked, add: int, origin: JobOrigin) -> None:
    log = events(asked.query_id, first=asked.first, starts=asked.starts(add))
    answers = history(asked, sends(zip_of((f"eventlog_v2_a/events_1_{APPLICATION}", log))))

    verified = asked.rest(answers, f"/history/{APPLICATION}/StreamingQuery/")

    assert verified.origin is origin
    assert f"batch {asked.first} of query {asked.query_id}, its first one, began" in verified.told


@with_cases(
    ("log", "told"),
    [
        (sends(zip_of()), ""),
        (says(404, {}), ""),
        (sends(b"<html>"), "found none"),
        (says(500, {}), "found HTTP 500"),
        (says(302, None, Location="/"), "found a redirect"),
        (sends(zip_of(("app-1", b""), ("app-2", b""))), "found 2: app-1, app-2"),
        (huge, "it sends more than 268,435,456 bytes"),
        (half, "bytes before the length that it states"),
    ],
    ids=["of an application that runs", "missing", "a page", "an error", "a redirect", "two logs", "huge", "half"],
)
def test_without_its_event_log_a_query_is_judged_by_its_batches(asked: Asked, log: Any, told: str) -> None:
    verified = asked.rest(history(asked, log))

    assert verified.origin is OTHER
    assert f"has no offsets/{asked.first + 1}" in verified.told
    assert ("Its event log was not used: " in verified.told) == bool(told)
    assert told in verified.told
