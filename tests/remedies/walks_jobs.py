"""Walks of what a running job is asked for, at services on loopback and in event logs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from offsetwise.apply.verification import verify
from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.rest import RestService
from offsetwise.plugins.connect.engine.running import parse_address, read_running
from offsetwise.plugins.flink.engine.rest import FlinkAddress, read_job
from offsetwise.plugins.spark.engine.event_log import read_event_log
from offsetwise.plugins.spark.engine.rest import SparkAddress, read_application
from tests.apply.plans import STARTING
from tests.jobs import APPLICATION, EVENTS, QUERY, Api, answering, flink, spark
from tests.plugins.connect.service import ConnectCluster, Connector, says, sends, serving
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.test_verify import Applied

_REST = "engines/rest.py"
_FLINK = "plugins/flink/engine/rest.py"
_SPARK = "plugins/spark/engine/rest.py"
_LOG = "plugins/spark/engine/event_log/__init__.py"
_LOG_FILES = "plugins/spark/engine/event_log/files.py"
_JOB, _ANSWERS = flink("restored", "2.2.0")


def _flink(url: str, sign_on: SignOn | None = None) -> None:
    read_job(FlinkAddress.parse(url), sign_on or SignOn())


def _spark(url: str) -> None:
    read_application(SparkAddress.parse(url), SignOn())


def _served(scene: Scene, answers: dict[str, Any]) -> Api:
    stack = ExitStack()
    scene.request.addfinalizer(stack.close)
    return stack.enter_context(answering(answers))


def _bad(words: str, name: str, answer: Any, *, scope: str = f"{_REST}::RestService._read") -> None:
    """Add a walk of an address that leads to something else, and then to Flink."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        api = _served(scene, {**_ANSWERS, "/config": answer})
        other = _served(scene, _ANSWERS)
        return Steps(lambda: _flink(f"{api.url}/jobs/{_JOB}"), lambda: None, lambda: _flink(f"{other.url}/jobs/{_JOB}"))


_bad("Check that the address", "job_of_a_web_page", sends(b"<html>"))
_bad("Check that the address", "job_of_another_service", {"version": "4.1.1"}, scope=f"{_REST}::RestService.unlike")
_bad(
    "Give the address that it leads to",
    "job_behind_a_redirect",
    says(302, None, Location="/elsewhere"),
    scope=f"{_REST}::RestService._refused",
)
_bad(
    "Check the address and the id",
    "job_of_a_service_that_fails",
    says(500, {}),
    scope=f"{_REST}::RestService._refused",
)


@walk(f"{_REST}::RestService._refused", "State how to sign on")
def job_that_wants_a_sign_on(scene: Scene) -> Steps:
    scene.patch.setenv("FLINK_TOKEN", "t0ken")

    def config(handler: Any) -> None:
        signed = handler.headers.get("Authorization") == "t0ken"
        says(200 if signed else 401, _ANSWERS["/config"] if signed else {})(handler)

    url = f"{_served(scene, {**_ANSWERS, '/config': config}).url}/jobs/{_JOB}"
    stated = SignOn(headers=(("Authorization", "${FLINK_TOKEN}"),), section="jobs")
    return Steps(lambda: _flink(url), lambda: None, lambda: _flink(url, stated))


@walk("client_properties/sign_on.py::SignOn.header_values", "Correct what the reference")
def header_of_two_lines(scene: Scene) -> Steps:
    url = f"{_served(scene, _ANSWERS).url}/jobs/{_JOB}"
    scene.patch.setenv("FLINK_TOKEN", "t0ken\r\nX-Other: 1")
    stated = SignOn(headers=(("X-Token", "${FLINK_TOKEN}"),), section="jobs")
    return Steps(lambda: _flink(url, stated), lambda: scene.patch.setenv("FLINK_TOKEN", "t0ken"))


@walk(f"{_REST}::RestService.at", "Correct ca")
def job_whose_ca_is_not_there(scene: Scene) -> Steps:
    def prepared(sign_on: SignOn) -> None:
        RestService.at("https://localhost:1", sign_on, engine="Flink")

    return Steps(lambda: prepared(SignOn(ca=str(scene.folder / "gone.pem"))), lambda: None, lambda: prepared(SignOn()))


@walk(f"{_REST}::RestService._request", "Check host and port")
def job_at_a_closed_port(scene: Scene) -> Steps:
    url = _served(scene, _ANSWERS).url
    return Steps(lambda: _flink(f"http://localhost:1/jobs/{_JOB}"), lambda: None, lambda: _flink(f"{url}/jobs/{_JOB}"))


corrected(
    f"{_REST}::_refuse",
    "Give the address alone",
    "job_with_a_password",
    lambda: FlinkAddress.parse(f"http://ada:secret@localhost:8081/jobs/{_JOB}") and None,
    lambda: FlinkAddress.parse(f"http://localhost:8081/jobs/{_JOB}") and None,
)
corrected(
    f"{_FLINK}::FlinkAddress.parse",
    "Give http://HOST:PORT/jobs/ID",
    "job_with_a_short_id",
    lambda: FlinkAddress.parse("http://localhost:8081/jobs/short") and None,
    lambda: FlinkAddress.parse(f"http://localhost:8081/jobs/{_JOB}") and None,
)
corrected(
    "plugins/connect/engine/running.py::parse_address",
    "Give http://HOST:PORT/connectors/NAME",
    "job_that_is_no_connector",
    lambda: parse_address("http://localhost:8083") and None,
    lambda: parse_address("http://localhost:8083/connectors/sink") and None,
)


@walk("plugins/connect/engine/running.py::read_running", "Ask the worker yourself")
def job_with_offsets_of_another_form(scene: Scene) -> Steps:
    cluster = ConnectCluster({"sink": Connector({("orders", 0): 1}, state="RUNNING")})
    stack = ExitStack()
    scene.request.addfinalizer(stack.close)
    (worker,) = stack.enter_context(serving(cluster))
    cluster.bad["GET", "/offsets"] = says(200, {"offsets": 1})
    return Steps(lambda: read_running(parse_address(f"{worker.url}/connectors/sink")) and None, cluster.bad.clear)


@walk(f"{_FLINK}::_only_job", "Name the job")
def one_of_two_jobs(scene: Scene) -> Steps:
    jobs = [{"jid": job, "name": "j", "state": "RUNNING"} for job in (_JOB, "ab" * 16)]
    url = _served(scene, {**_ANSWERS, "/jobs/overview": {"jobs": jobs}}).url
    return Steps(lambda: _flink(url), lambda: None, lambda: _flink(f"{url}/jobs/{_JOB}"))


@walk(f"{_FLINK}::_details", "Give the id of the running job")
def job_of_another_id(scene: Scene) -> Steps:
    url = _served(scene, _ANSWERS).url
    return Steps(lambda: _flink(f"{url}/jobs/{'ab' * 16}"), lambda: None, lambda: _flink(f"{url}/jobs/{_JOB}"))


@walk(f"{_SPARK}::_chosen", "Give the id of an application")
def application_of_another_id(scene: Scene) -> Steps:
    url = _served(scene, spark(QUERY, first=2)).url
    return Steps(
        lambda: _spark(f"{url}/api/v1/applications/app-9"),
        lambda: None,
        lambda: _spark(f"{url}/api/v1/applications/{APPLICATION}"),
    )


@walk(f"{_SPARK}::_chosen", "Name the application")
def one_of_two_applications(scene: Scene) -> Steps:
    answers = spark(QUERY, first=2)
    answers["/api/v1/applications"] = [*answers["/api/v1/applications"], {"id": "app-9", "name": "b"}]
    url = _served(scene, answers).url
    return Steps(lambda: _spark(url), lambda: None, lambda: _spark(f"{url}/api/v1/applications/{APPLICATION}"))


def _read(uri: object) -> Callable[[], object]:
    return lambda: read_event_log(str(uri)) and None


@walk(f"{_LOG_FILES}::_only", "Give the file or folder of one application")
def event_logs_of_two_applications(scene: Scene) -> Steps:
    scene.write("logs/app-1", "")
    return Steps(_read(scene.write("logs/app-2", "").parent), lambda: None, _read(scene.folder / "logs" / "app-1"))


@walk(f"{_LOG_FILES}::unusable", "Give the event log of the application")
def event_log_of_another_codec(scene: Scene) -> Steps:
    return Steps(_read(scene.write("events_1_app.lzf", "")), lambda: None, _read(EVENTS))


@walk(f"{_LOG}::_arrow", "Install it")
def event_log_without_its_library(scene: Scene) -> Steps:
    imports = builtins.__import__

    def lacks(name: str, *rest: Any, **named: Any) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return imports(name, *rest, **named)

    scene.patch.setattr(builtins, "__import__", lacks)
    return Steps(_read(EVENTS), lambda: scene.patch.setattr(builtins, "__import__", imports))


@walk("apply/verification/job.py::_askable", "Leave --job out")
def job_of_a_target_that_none_begins_from(scene: Scene) -> Steps:
    applied = Applied(scene.folder, STARTING)

    def verified(job: str | None) -> object:
        return verify(applied.receipt, applied.staged.world, verified_at="2026-11-21T12:00:00Z", job=job) and None

    return Steps(lambda: verified("http://localhost:1"), lambda: None, lambda: verified(None))
