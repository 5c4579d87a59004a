"""What a running job itself says about where it began, by its own REST API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.verification import decided, verify, watch
from offsetwise.cli.render import applied as render_apply
from offsetwise.config import Migration
from offsetwise.engines import exchange
from offsetwise.errors import SecretError, UsageError
from offsetwise.model import JobOrigin, Receipt, Verification, VerifiedJob
from offsetwise.plugins.flink.targets.source_metrics import metric_name
from offsetwise.position import offset_of
from tests.apply.plans import STARTING
from tests.jobs import Api, answering, flink
from tests.plugins.connect.connectors import Stage, clusters, stage
from tests.plugins.connect.service import Bad, Worker, certificate, drips, endless, half, hangs_up, says, sends, serving
from tests.plugins.flink.test_verified import Restored
from tests.test_verify import Applied
from tests.with_cases import with_cases

PLAN, OTHER, FRESH, UNKNOWN = JobOrigin
VERSIONS: Final = ("1.20.3", "2.2.0")
OLD_SAVEPOINT: Final = "file:/flink/other/savepoint-0d1f2e-0123456789ab"


class Asked(Restored):
    """A savepoint that was moved, and a job that is asked about it."""

    jobs: tuple[Mapping[str, Any], ...] = ()
    """The section of the migration file."""

    @property
    def place_text(self) -> str:
        return self.receipt.steps[0].place

    def ask(self, address: str) -> Verification:
        live = self.staged.world.live
        migration = Migration.model_validate(live.migration.model_dump(exclude={"checkpoints"}) | {"jobs": self.jobs})
        self.staged.world.live = LiveReaders(migration=migration, progress=lambda *_: None)
        return verify(self.receipt, self.staged.world, verified_at="2026-11-21T12:00:00Z", job=address)

    def say(self, api: Api, path: str) -> VerifiedJob:
        verified = self.ask(f"{api.url}{path}").job
        assert verified is not None
        return verified


@pytest.fixture(scope="module")
def applied_once(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Apply the plan once: asking a job changes nothing."""
    return Asked(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def asked(applied_once: Asked) -> Asked:
    applied_once.jobs = ()
    return applied_once


@with_cases("version", VERSIONS)
@with_cases("spelled", ["file:{}", "file://{}", "{}/", "file:{}/_metadata"])
def test_a_job_that_was_restored_from_the_copy_says_so(asked: Asked, version: str, spelled: str) -> None:
    job, answers = flink("restored", version, place=spelled.format(asked.place_text))

    with answering(answers) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    assert verified.job is not None
    assert (verified.job.origin, verified.job.id, verified.job.state) == (PLAN, job, "RUNNING")
    assert (verified.exit_code, verified.started, decided(verified)) == (0, True, True)
    assert {method for method, _, _ in api.requests} == {"GET"}, "it is read only"


@with_cases(
    "address",
    ["/jobs/{}/checkpoints", "/#/job/running/{}/overview", "/#/job/{}/overview", "/v1/jobs/{}", "", "/#/overview", "/"],
)
def test_the_job_is_found_by_any_address_that_names_it_or_the_only_one(asked: Asked, address: str) -> None:
    job, answers = flink("restored", "2.2.0", place=asked.place_text)
    answers["/jobs/overview"]["jobs"].append({"jid": "ab" * 16, "name": "an old one", "state": "FINISHED"})

    with answering(answers) as api:
        assert asked.say(api, address.format(job)).origin is PLAN


def test_the_address_may_have_the_path_of_a_proxy(asked: Asked) -> None:
    job, answers = flink("restored", "2.2.0", place=asked.place_text)

    with answering({f"/flink/a{path}": answer for path, answer in answers.items()}) as api:
        verified = asked.say(api, f"/flink/a/#/job/running/{job}")

    assert (verified.origin, verified.address) == (PLAN, f"{api.url}/flink/a/jobs/{job}")


@with_cases("moment", ["fresh", "stopped"])
@with_cases("version", VERSIONS)
def test_a_job_that_was_restored_from_nothing_started_fresh(asked: Asked, moment: str, version: str) -> None:
    job, answers = flink(moment, version)

    with answering(answers) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    assert verified.job is not None
    assert (verified.job.origin, verified.job.restored_from) == (FRESH, None)
    assert f"restored from nothing, expected {asked.place_text}" in verified.job.told
    assert (verified.exit_code, decided(verified)) == (5, True)


def test_a_job_that_has_just_begun_is_unknown_until_answers_are_not_cached_any_more(asked: Asked) -> None:
    job, answers = flink("fresh", "2.2.0")
    answers[f"/jobs/{job}"]["now"] = answers[f"/jobs/{job}"]["timestamps"]["RUNNING"] + 2_999

    with answering(answers) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    assert verified.job is not None
    assert (verified.job.origin, verified.exit_code, decided(verified)) == (UNKNOWN, 1, False)


@with_cases(
    ("path", "origin", "told"),
    [
        (OLD_SAVEPOINT, OTHER, f"restored from savepoint 1, {OLD_SAVEPOINT}, expected"),
        ("{source}", OTHER, "the one that the plan was drafted from"),
        ("s3://elsewhere/out/copy", UNKNOWN, "may be one that the two machines reach by different paths"),
        ("/mnt/other/copy", UNKNOWN, "may be one that the two machines reach by different paths"),
        ("s3://elsewhere/other", OTHER, "s3://elsewhere/other"),
    ],
    ids=["another savepoint", "the original", "one name in a bucket", "one name on a disk", "another bucket"],
)
def test_a_job_that_was_restored_from_another_folder_says_which(
    asked: Asked, path: str, origin: JobOrigin, told: str
) -> None:
    job, answers = flink("restored", "2.2.0", place=path.format(source=asked.staged.source))

    with answering(answers) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    assert verified.job is not None
    assert verified.job.origin is origin
    assert told in verified.job.told
    assert verified.exit_code == (5 if origin is OTHER else 1)


@with_cases("version", VERSIONS)
def test_a_job_that_failed_over_to_a_checkpoint_of_its_own_is_unknown(asked: Asked, version: str) -> None:
    job, answers = flink("after a failure", version)

    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is UNKNOWN
    assert "which the job has taken itself" in verified.told
    assert "(2 restored)" in verified.told


@with_cases("own", ["{job}/chk-2", "savepoint-{short}-0123456789ab"])
def test_a_checkpoint_of_the_job_is_its_own_also_where_its_history_is_lost(asked: Asked, own: str) -> None:
    job, answers = flink("restored", "2.2.0")
    path = f"s3://b/{own.format(job=job, short=job[:6])}"
    answers[f"/jobs/{job}/checkpoints"]["latest"]["restored"]["external_path"] = path

    with answering(answers) as api:
        assert asked.say(api, f"/jobs/{job}").origin is UNKNOWN


def test_after_several_restores_another_savepoint_shows_nothing_of_the_first(asked: Asked) -> None:
    job, answers = flink("restored", "2.2.0", place=OLD_SAVEPOINT)
    answers[f"/jobs/{job}/checkpoints"]["counts"]["restored"] = 2

    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is UNKNOWN
    assert "restored 2 times" in verified.told


def test_a_job_without_statistics_is_unknown(asked: Asked) -> None:
    job, answers = flink("fresh", "2.2.0")
    del answers[f"/jobs/{job}/checkpoints"]

    with answering(answers) as api:
        assert "keeps no statistics" in asked.say(api, f"/jobs/{job}").told


@with_cases(
    ("listed", "told"),
    [
        ([("ab", "RUNNING"), ("cd", "RESTARTING")], f"found 2 that run: {'ab' * 16} (j, RUNNING), {'cd' * 16} (j, RES"),
        ([("ab", "FINISHED")], f"found none that runs: {'ab' * 16} (j, FINISHED)"),
        ([], "found none that runs."),
    ],
    ids=["two", "one that ended", "none"],
)
def test_where_not_exactly_one_job_runs_the_ids_are_listed(
    asked: Asked, listed: list[tuple[str, str]], told: str
) -> None:
    _, answers = flink("fresh", "2.2.0")
    jobs = [{"jid": half_id * 16, "name": "j", "state": state} for half_id, state in listed]

    with answering(answers | {"/jobs/overview": {"jobs": jobs}}) as api:
        verified = asked.say(api, "")

    assert verified.origin is UNKNOWN
    assert told in verified.told
    assert "--job http://HOST:PORT/jobs/ID" in verified.told


BAD: Final[dict[str, tuple[Any, str]]] = {
    "a redirect": (says(302, None, Location="http://127.0.0.1:1/"), "a redirect (HTTP 302), which is not followed"),
    "not signed on": (says(401, {}), "lets us read /config, found HTTP 401"),
    "forbidden": (says(403, {}), "under `jobs` in the migration file"),
    "another service": ({"version": "4.1.1"}, "expected flink-version as Flink answers"),
    "a page": (sends(b"<html>"), "expected JSON of Flink"),
    "a list": ([], "expected flink-version"),
    "a key twice": (sends(b'{"a":1,"a":2}'), "appears twice"),
    "half an answer": (half, "bytes before the length that it states"),
    "no answer": (hangs_up, "its answer breaks off or is no HTTP"),
    "without end": (endless, "it sends more than 16,777,216 bytes"),
    "too deep": (sends(b"[" * 100_000), "levels deep"),
    "an error": (says(500, {}), "found HTTP 500"),
}


@with_cases(("bad", "told"), BAD.values(), ids=BAD)
def test_a_bad_answer_is_a_sentence_and_the_job_unknown(asked: Asked, bad: Bad, told: str) -> None:
    job, answers = flink("restored", "2.2.0")

    with answering(answers | {"/config": bad}) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    assert verified.job is not None
    assert verified.job.origin is UNKNOWN
    assert told in verified.job.told
    assert "Where the job began is not known." in verified.job.told
    assert verified.exit_code == 1
    assert not verified.is_different, "the positions are compared all the same"


@with_cases(
    "change",
    [
        {"latest": None},
        {"counts": {"restored": "1"}},
        {"latest": {"restored": {"id": 1, "is_savepoint": True, "external_path": 3}}},
        {"latest": {"restored": []}},
    ],
)
def test_statistics_of_another_form_are_refused(asked: Asked, change: Mapping[str, Any]) -> None:
    job, answers = flink("restored", "2.2.0")
    answers[f"/jobs/{job}/checkpoints"] |= change

    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is UNKNOWN
    assert "found another answer" in verified.told


def test_a_job_that_is_not_there_is_named(asked: Asked) -> None:
    _, answers = flink("restored", "2.2.0")

    with answering(answers) as api:
        assert f"expected the job {'ab' * 16}, found none" in asked.say(api, f"/jobs/{'ab' * 16}").told


def test_a_closed_port_is_a_sentence(asked: Asked) -> None:
    with answering({}) as api:
        pass

    assert "found none: Connection refused" in asked.say(api, f"/jobs/{'ab' * 16}").told


def test_a_slow_answer_is_ended_by_the_clock(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ANSWER_S", 0.3)

    with answering({"/config": drips}) as api:
        assert "it does not answer in time" in asked.say(api, "").told


@with_cases(
    "address",
    [
        "http://ada:hunter2@localhost:8081/jobs/" + "ab" * 16,
        "http://hunter2@localhost:8081",
        "ftp://localhost/hunter2",
        "localhost:8081",
        "http://",
        "http://localhost:99999",
        "http://local host/",
        "http://localhost/\x1b[31m",
        "http://localhost/" + "a" * 3_000,
        "http://localhost/jobs/short",
        "http://localhost/#/job/running/short/overview",
        "",
    ],
)
def test_what_is_no_address_of_a_job_is_refused_before_anything_is_contacted(asked: Asked, address: str) -> None:
    with pytest.raises(UsageError, match="Nothing was contacted") as error:
        asked.ask(address)

    assert "ada" not in str(error.value)
    assert "\x1b" not in str(error.value)
    if "@" in address:
        assert "hunter2" not in str(error.value)


def test_a_target_that_no_job_says_it_began_from_is_refused(tmp_path: Path) -> None:
    applied = Applied(tmp_path, STARTING)

    with pytest.raises(UsageError, match="found starting-offsets") as error:
        verify(applied.receipt, applied.staged.world, verified_at="2026-11-21T12:00:00Z", job="http://localhost:1")

    assert "jobs are asked about" in error.value.fix


def test_it_signs_on_as_the_migration_file_says_of_that_address_and_nowhere_else(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLINK_TOKEN", "t0ken")
    monkeypatch.setenv("OFFSETWISE_SECRETS", "FLINK_TOKEN")
    job, answers = flink("restored", "2.2.0", place=asked.place_text)

    with answering(answers, certificate(tmp_path)) as api, answering(answers) as other:
        headers = {"Authorization": "${FLINK_TOKEN}", "X-Team": "${FLINK_TOKEN}"}
        asked.jobs = ({"url": api.url, "ca": str(tmp_path / "ca.pem"), "headers": headers},)
        assert asked.say(api, f"/jobs/{job}").origin is PLAN
        assert asked.say(other, f"/jobs/{job}").origin is PLAN

    assert {(sent.get("Authorization"), sent.get("X-Team")) for _, _, sent in api.requests} == {("t0ken", "t0ken")}
    assert {(sent.get("Authorization"), sent.get("X-Team")) for _, _, sent in other.requests} == {(None, None)}


def test_a_certificate_that_is_not_trusted_is_named(asked: Asked, tmp_path: Path) -> None:
    with answering({}, certificate(tmp_path)) as api:
        assert "its certificate is not trusted" in asked.say(api, "").told


def test_a_secret_that_is_missing_or_no_header_stops_everything(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.jobs = ({"url": "http://localhost:1", "headers": {"X-Token": "${GONE}"}},)
    with pytest.raises(SecretError, match=r"jobs\.headers\.X-Token: expected the environment variable GONE"):
        asked.ask("http://localhost:1")

    monkeypatch.setenv("GONE", "hunter2\r\nX: y")
    with pytest.raises(SecretError, match="found other characters in it") as error:
        asked.ask("http://localhost:1")
    assert "hunter2" not in str(error.value)


def test_the_document_has_what_the_job_says_and_only_where_it_was_asked(asked: Asked) -> None:
    job, answers = flink("restored", "2.2.0", place=asked.place_text)

    with answering(answers) as api:
        verified = asked.ask(f"{api.url}/jobs/{job}")

    body = json.loads(files.dump(verified))
    assert body["job"]["origin"] == "RESTORED_FROM_PLAN"
    assert body["job"]["restored_from"] == asked.place_text
    assert files.load(files.dump(verified), "verification", subject="v") == verified
    assert "job" not in json.loads(files.dump(asked.look()))


def test_a_watch_goes_on_until_the_job_says_where_it_began(asked: Asked) -> None:
    job, answers = flink("restored", "2.2.0", place=asked.place_text)
    moments: Iterator[dict[str, Any]] = iter([{}, answers])
    seen: list[JobOrigin] = []

    with answering({}) as api:

        def look() -> Verification:
            api.answers = next(moments)
            return asked.ask(f"{api.url}/jobs/{job}")

        def heard(verified: Verification) -> None:
            assert verified.job is not None
            seen.append(verified.job.origin)

        watch(look, wait=lambda: None, report=heard)

    assert seen == [UNKNOWN, PLAN]


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[tuple[Stage, Receipt, Worker]]:
    """Return a plan that was applied to a connector, which runs since."""
    old, new = clusters()
    with serving(old, new) as (there, here):
        staged = stage(tmp_path, old, new, there, here)
        staged.apply()
        staged.sink.state, staged.sink.tasks = "RUNNING", 2
        yield staged, read_receipt(staged.receipt), here


def of_connector(moved: tuple[Stage, Receipt, Worker], name: str = "moved") -> Verification:
    staged, receipt, here = moved
    address = f"{here.url}/connectors/{name}"
    return verify(receipt, staged.world, verified_at="2026-11-21T12:00:00Z", job=address)


@with_cases("gone_on", [0, 5])
def test_a_connector_that_runs_at_or_past_the_planned_offsets_went_on_from_there(
    moved: tuple[Stage, Receipt, Worker], gone_on: int
) -> None:
    sink = moved[0].sink
    sink.offsets = {at: offset + gone_on for at, offset in sink.offsets.items()}

    verified = of_connector(moved)

    assert verified.job is not None
    assert (verified.job.origin, verified.job.state, verified.exit_code) == (PLAN, "RUNNING", 0)
    assert "tasks: 2 RUNNING" in verified.job.told


@with_cases(
    ("change", "origin", "told"),
    [
        ({"state": "STOPPED", "tasks": 0}, UNKNOWN, "is STOPPED, tasks: none. Expected that it runs"),
        ({"state": "FAILED"}, UNKNOWN, "is FAILED, tasks: 2 FAILED"),
        ({"offsets": {}}, FRESH, "report none of the 2 offsets that the plan wrote"),
        ({"offsets": {("orders", 0): 3, ("orders", 1): 10**6}}, OTHER, "orders-0 at 3, expected"),
        ({"offsets": {("orders", 1): 10**6}}, OTHER, "orders-0 without an offset, expected"),
        ({"kind": "source", "entries": []}, OTHER, "found a source"),
    ],
    ids=["stopped", "failed", "without offsets", "before", "one is missing", "a source"],
)
def test_a_connector_that_did_not_go_on_from_there_says_what_it_has(
    moved: tuple[Stage, Receipt, Worker], change: Mapping[str, Any], origin: JobOrigin, told: str
) -> None:
    for name, value in change.items():
        setattr(moved[0].sink, name, value)

    verified = of_connector(moved)

    assert verified.job is not None
    assert verified.job.origin is origin
    assert told in verified.job.told


def test_another_connector_is_another_job(moved: tuple[Stage, Receipt, Worker]) -> None:
    staged = moved[0]
    staged.new.connectors["another"] = staged.sink

    verified = of_connector(moved, "another")

    assert verified.job is not None
    assert verified.job.origin is OTHER
    assert "Expected moved, whose offsets the plan wrote" in verified.job.told


def test_workers_of_another_kafka_cluster_are_another_job(moved: tuple[Stage, Receipt, Worker]) -> None:
    moved[0].new.kafka = "another"

    verified = of_connector(moved)

    assert verified.job is not None
    assert verified.job.origin is OTHER
    assert "on Kafka cluster another, expected id-of-new" in verified.job.told


def test_a_connector_that_is_not_there_is_unknown(moved: tuple[Stage, Receipt, Worker]) -> None:
    verified = of_connector(moved, "gone")

    assert verified.job is not None
    assert verified.job.origin is UNKNOWN
    assert "expected a connector, found HTTP 404" in verified.job.told


def test_people_read_what_the_job_says_without_what_its_name_would_do_to_a_terminal(asked: Asked) -> None:
    job, answers = flink("fresh", "2.2.0")
    answers[f"/jobs/{job}"]["name"] = "[red]a\x1b[31m\u202e job"
    out = Console(file=StringIO(), width=200)

    with answering(answers) as api:
        render_apply.verification(out, asked.ask(f"{api.url}/jobs/{job}"))

    assert isinstance(out.file, StringIO)
    text = out.file.getvalue()
    assert "! fresh start" in text
    assert "[red]a" in text
    assert not {"\x1b", "\u202e"} & {*text}


def _metrics(asked: Asked, kind: str, add: int, *, operator: str = "Source__orders_1") -> list[dict[str, str]]:
    """Return metrics of a source that is so far from every planned position."""
    return [
        {
            "id": f"0.{operator}.KafkaSourceReader.topic.{metric_name(position.new_topic)}"
            f".partition.{position.partition}.{kind}Offset",
            "value": str(offset_of(position.new_offset) + add if add > -100 else -1),
        }
        for position in asked.staged.plan.positions
    ]


def _with_metrics(place: str, metrics: Any) -> tuple[str, dict[str, Any]]:
    job, answers = flink("restored", "2.2.0", place=place)
    answers[f"/jobs/{job}"]["vertices"] = [{"id": VERTEX, "name": "Source: orders[1]"}, {"id": "../../config"}]
    return job, answers | {f"/jobs/{job}/vertices/{VERTEX}/metrics": metrics}


VERTEX: Final = "cbc357ccb763df2852fee8c4fc7d55f2"
NOTHING: Final = "say nothing of the planned partitions"
NOT_BEFORE: Final = "show no position before the planned one"


@with_cases(
    ("kind", "add", "origin", "told"),
    [
        ("current", 0, PLAN, NOT_BEFORE),
        ("current", 7, PLAN, NOT_BEFORE),
        ("committed", 0, PLAN, NOT_BEFORE),
        ("current", -1, OTHER, "before the planned"),
        ("committed", -1, OTHER, "before the planned"),
        ("current", -100, PLAN, NOTHING),
        ("other", 0, PLAN, NOTHING),
    ],
    ids=["at it", "further", "committed", "before it", "committed before it", "none read yet", "another metric"],
)
def test_sources_that_are_before_the_plan_began_elsewhere(
    asked: Asked, kind: str, add: int, origin: JobOrigin, told: str
) -> None:
    job, answers = _with_metrics(asked.place_text, _metrics(asked, kind, add))
    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is origin
    assert told in verified.told
    assert {method for method, _, _ in api.requests} == {"GET"}


def test_one_of_several_sources_of_a_topic_may_be_anywhere(asked: Asked) -> None:
    both = _metrics(asked, "current", -1) + _metrics(asked, "current", 3, operator="Source__other")
    job, answers = _with_metrics(asked.place_text, both)
    with answering(answers) as api:
        assert asked.say(api, f"/jobs/{job}").origin is PLAN


@with_cases(
    "metrics",
    [{}, says(500, {}), sends(b"<html>"), [{"id": 1}, {"id": "x", "value": 2}, 3], says(302, None, Location="/")],
    ids=["another answer", "an error", "a page", "entries of another form", "a redirect"],
)
def test_metrics_that_cannot_be_used_say_nothing(asked: Asked, metrics: Any) -> None:
    job, answers = _with_metrics(asked.place_text, metrics)
    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is PLAN
    assert NOTHING in verified.told


def test_where_no_restore_can_be_told_the_sources_can_still_contradict(asked: Asked) -> None:
    name = asked.place_text.rsplit("/", 1)[1]
    job, answers = _with_metrics(f"file:/elsewhere/{name}", _metrics(asked, "current", -1))
    with answering(answers) as api:
        verified = asked.say(api, f"/jobs/{job}")

    assert verified.origin is OTHER
    assert "Both folders have one name" in verified.told
