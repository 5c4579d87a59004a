"""One job of a running Flink by its REST API: its state, and what it was restored from.

Format of the answers: `DashboardConfiguration`, `JobDetailsInfo` and `CheckpointingStatistics` of Flink. Only the
latest restore is kept: a fail-over overwrites where the job began. Answers are cached for the refresh interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.rest import NO_START, JobAddress, RestService
from offsetwise.errors import MissingError, StorageError, UsageError
from offsetwise.wording import first_of

ENGINE: Final = "Flink"
_ID: Final = re.compile(r"[0-9a-f]{32}")
_IN_PATH: Final = re.compile(r"(.*?)/(?:v1/)?jobs/([0-9A-Fa-f]{32})(?:/.*)?")
_IN_PAGE: Final = re.compile(r"/?jobs?/(?:running/|completed/)?([0-9A-Fa-f]{32})(?:/.*)?")
_NO_PAGE: Final = re.compile(r"/?(?:overview|job-manager.*|task-manager.*|jobs?/(?:running|completed)/?)?")
ENDED: Final = frozenset({"CANCELED", "FAILED", "FINISHED"})
_STARTING: Final = frozenset({"INITIALIZING", "CREATED"})
_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkAddress:
    url: str
    """URL of the REST API."""
    job_id: str | None
    """None if the address names no job, so that exactly one may run there."""

    @classmethod
    def parse(cls, text: str) -> FlinkAddress:
        """Parse the address of a web page of Flink, of a job in its REST API, or of the API alone.

        >>> FlinkAddress.parse("http://flink:8081/#/job/running/" + "0a" * 16 + "/overview").url
        'http://flink:8081'

        Raises:
            UsageError: It is another address.
        """
        address = JobAddress.parse(text)
        page = address.fragment.partition("?")[0]
        in_path, in_page = _IN_PATH.fullmatch(address.path), _IN_PAGE.fullmatch(page)
        if (in_path is None and in_page is None and not _NO_PAGE.fullmatch(page)) or "/jobs" in (
            address.path if in_path is None else in_path[1]
        ):
            raise UsageError(
                f"--job: expected an address of Flink, found one that ends with {text[-60:]!r}, which names no job. "
                "Nothing was contacted.",
                fix="Give http://HOST:PORT/jobs/ID, the address of the job's page, or http://HOST:PORT where exactly "
                "one job runs.",
            )
        job = in_path[2] if in_path is not None else in_page[1] if in_page is not None else None
        path = address.path if in_path is None else in_path[1]
        return cls(url=f"{address.origin}{path}", job_id=None if job is None else job.lower())

    @property
    def text(self) -> str:
        return self.url if self.job_id is None else f"{self.url}/jobs/{self.job_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    checkpoint_id: int
    is_savepoint: bool
    path: str | None
    """Flink's path of the checkpoint's folder; None if the checkpoint is not externalized."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkJob:
    url: str
    id: str
    name: str
    state: str
    version: str
    """Version of Flink."""
    restored: Restored | None
    """None if there was no restore."""
    restores: int
    """Number of restores, as counted by the answering JobManager."""
    keeps_checkpoints: bool
    """Whether the job takes checkpoints; if not, Flink does not record what it was restored from."""
    own_paths: frozenset[str]
    """Paths of the checkpoints that the job itself has taken and Flink still lists."""
    is_settled: bool
    """Whether it began to run longer ago than answers are cached: then a missing restore is not an outdated answer."""
    vertices: tuple[str, ...]
    """The ids of its vertices."""

    @property
    def address(self) -> str:
        return f"{self.url}/jobs/{self.id}"


def read_job(address: FlinkAddress, sign_on: SignOn) -> FlinkJob:
    """Read the state of a job.

    Raises:
        SecretError: A reference to a credential cannot be resolved.
        StorageError: No answer, another service, no such job, or several if none was named.
    """
    service = RestService.at(address.url, sign_on, engine=ENGINE)
    config = service.get("/config")
    version = config.get("flink-version") if isinstance(config, dict) else None
    if not isinstance(version, str):
        raise service.unlike("/config", "flink-version")
    job_id = address.job_id or _only_job(service)
    details = _details(service, job_id)
    name, state, timestamps, now = (details.get(key) for key in ("name", "state", "timestamps", "now"))
    if not isinstance(name, str) or not isinstance(state, str) or not isinstance(timestamps, dict):
        raise service.unlike(f"/jobs/{job_id}", "name, state and timestamps")
    statistics = _statistics(service, job_id)
    times = [at for at in timestamps.values() if isinstance(at, int)]
    since = timestamps.get("RUNNING") or max(times, default=0)
    age_ms = now - since if isinstance(now, int) and isinstance(since, int) else 0
    interval = config.get("refresh-interval")
    return FlinkJob(
        url=address.url,
        id=job_id,
        name=name[:200],
        state=state[:40],
        version=version[:40],
        restored=None if statistics is None else _restored(service, job_id, statistics),
        restores=0 if statistics is None else _restores(service, job_id, statistics),
        keeps_checkpoints=statistics is not None,
        own_paths=frozenset() if statistics is None else _own_paths(statistics),
        vertices=_vertices(details.get("vertices")),
        is_settled=state not in _STARTING and age_ms > (interval if isinstance(interval, int) else 0),
    )


def _vertices(listed: object) -> tuple[str, ...]:
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(str(entry["id"]) for entry in entries if _is_id(entry.get("id")))


def _only_job(service: RestService) -> str:
    body = service.get("/jobs/overview")
    jobs = body.get("jobs") if isinstance(body, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) and _is_id(job.get("jid")) for job in jobs):
        raise service.unlike("/jobs/overview", "jobs, each with its id")
    running = [job for job in jobs if job.get("state") not in ENDED]
    if len(running) == 1:
        return str(running[0]["jid"])
    shown = [f"{job['jid']} ({str(job.get('name'))[:60]}, {str(job.get('state'))[:20]})" for job in running or jobs]
    listed = f": {first_of(shown, _NAMED)}" if shown else ""
    actual = f"{len(running):,} that run{listed}" if running else f"none that runs{listed}"
    raise StorageError(
        f"{service.url}: expected exactly one running job, found {actual}. {NO_START}",
        fix="Name the job: --job http://HOST:PORT/jobs/ID",
    )


def _details(service: RestService, job_id: str) -> Mapping[str, Any]:
    details = service.find(
        f"/jobs/{job_id}",
        f"the job {job_id}",
        fix="Give the id of the running job: GET /jobs lists all. A job that is started again has another id.",
    )
    if not isinstance(details, dict) or details.get("jid") != job_id:
        raise service.unlike(f"/jobs/{job_id}", f"the job {job_id}")
    return details


def _statistics(service: RestService, job_id: str) -> Mapping[str, Any] | None:
    path = f"/jobs/{job_id}/checkpoints"
    try:
        body = service.get(path)
    except MissingError:
        return None
    if not isinstance(body, dict) or not all(isinstance(body.get(key), dict) for key in ("counts", "latest")):
        raise service.unlike(path, "counts and latest")
    return body


def _restored(service: RestService, job_id: str, statistics: Mapping[str, Any]) -> Restored | None:
    restored = statistics["latest"].get("restored")
    if restored is None:
        return None
    number, saved, path = (
        (restored.get(key) for key in ("id", "is_savepoint", "external_path"))
        if isinstance(restored, dict)
        else (None, None, None)
    )
    if not isinstance(number, int) or not isinstance(saved, bool) or not (path is None or isinstance(path, str)):
        raise service.unlike(f"/jobs/{job_id}/checkpoints", "id, is_savepoint and external_path of a restore")
    return Restored(checkpoint_id=number, is_savepoint=saved, path=path and path[:2_000])


def _restores(service: RestService, job_id: str, statistics: Mapping[str, Any]) -> int:
    count = statistics["counts"].get("restored")
    if not isinstance(count, int) or isinstance(count, bool):
        raise service.unlike(f"/jobs/{job_id}/checkpoints", "the number of restores")
    return count


def _own_paths(statistics: Mapping[str, Any]) -> frozenset[str]:
    history = statistics.get("history")
    entries = [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []
    latest = [entry for key, entry in statistics["latest"].items() if key != "restored" and isinstance(entry, dict)]
    paths = (entry.get("external_path") for entry in (*entries, *latest))
    return frozenset(path for path in paths if isinstance(path, str) and path)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and bool(_ID.fullmatch(value))
