"""The streaming queries of a running Spark application, or of a history server, by the REST API.

Spark has no resource for them: every batch is an SQL execution, whose description contains the query's id, the run and
the batch (`MicroBatchExecution.getBatchDescriptionString`, `SqlResource`). Where a batch began is only in the event
log, which a history server sends as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote

from offsetwise.client_properties.sign_on import SignOn
from offsetwise.engines.rest import NO_START, JobAddress, RestService
from offsetwise.errors import MissingError, OffsetwiseError, StorageError
from offsetwise.plugins.spark.engine.event_log import read_log_files
from offsetwise.plugins.spark.engine.event_log.files import files_in_zip
from offsetwise.plugins.spark.engine.query_runs import QueryRun, RunSoFar, SparkApplication, in_order
from offsetwise.storage.folders import MAX_READ_BYTES
from offsetwise.wording import first_of

ENGINE: Final = "Spark"
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IN_API: Final = re.compile(r"(.*?)/api/v1(?:/applications(?:/([^/]+)(?:/.*)?)?)?")
_IN_HISTORY: Final = re.compile(r"(.*?)/history/([^/]+)(?:/.*)?")
_PAGES: Final = re.compile(r"(.*?)/(?:StreamingQuery|SQL|jobs|stages|storage|environment|executors|connect)(?:/.*)?")
_BATCH: Final = re.compile(
    rf"(?:(.*)(?:\n|<br/>))?id = ({_UUID})(?:\n|<br/>)runId = ({_UUID})(?:\n|<br/>)batch = ([0-9]{{1,18}}|init)",
    re.DOTALL,
)
_MOST: Final = 20_000
"""Executions that are requested; an application keeps a thousand (`spark.sql.ui.retainedExecutions`)."""
_EMPTY_ZIP: Final = b"PK\x05\x06"
"""The end record of a ZIP, with which an empty ZIP begins."""
_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkAddress:
    url: str
    """URL of its web pages, without `/api/v1`."""
    app_id: str | None
    """None if the address names none, so that exactly one may be listed there."""
    run_id: str | None
    """The run, if the address is a query's page; else None."""

    @classmethod
    def parse(cls, text: str) -> SparkAddress:
        """Parse the address of an application's pages, of its REST API, or of a history server.

        >>> SparkAddress.parse("http://driver:4040/StreamingQuery/").url
        'http://driver:4040'

        Raises:
            UsageError: It is not such an address, or has a user or password in it.
        """
        address = JobAddress.parse(text)
        match = _IN_API.fullmatch(address.path) or _IN_HISTORY.fullmatch(address.path)
        page = None if match is not None else _PAGES.fullmatch(address.path)
        path = match[1] if match is not None else page[1] if page is not None else address.path
        run = parse_qs(address.query).get("id", [""])[0] if "/StreamingQuery/" in f"{address.path}/" else ""
        return cls(
            url=f"{address.origin}{path}",
            app_id=unquote(match[2]) if match is not None and match[2] else None,
            run_id=run if re.fullmatch(_UUID, run) else None,
        )

    @property
    def text(self) -> str:
        return self.url if self.app_id is None else f"{self.url}/api/v1/applications/{quote(self.app_id, safe='')}"


def read_application(address: SparkAddress, sign_on: SignOn) -> SparkApplication:
    """Read which streaming queries ran in an application.

    Raises:
        SecretError: A reference to a credential cannot be resolved.
        StorageError: No answer, another service, no such application, or several if none was named.
    """
    service = RestService.at(address.url, sign_on, engine=ENGINE)
    entry = _chosen(service, address.app_id)
    app_id, attempts = str(entry["id"]), entry.get("attempts")
    newest = attempts[0] if isinstance(attempts, list) and attempts and isinstance(attempts[0], dict) else {}
    attempt = newest.get("attemptId")
    within = "" if not isinstance(attempt, str) else f"/{quote(attempt, safe='')}"
    path = f"/api/v1/applications/{quote(app_id, safe='')}{within}/sql"
    executions = service.get(f"{path}?details=false&planDescription=false&offset=0&length={_MOST}")
    if not isinstance(executions, list) or not all(isinstance(execution, dict) for execution in executions):
        raise service.unlike(path, "a list of executions")
    runs, note = _logged(service, path.removesuffix("/sql"))
    return SparkApplication(
        address=f"{address.url}/api/v1/applications/{quote(app_id, safe='')}",
        id=app_id,
        name=str(entry.get("name"))[:200],
        state="COMPLETED" if newest.get("completed") is True else "RUNNING",
        runs=tuple(run for run in runs or in_order(_runs(executions)) if address.run_id in (None, run.run_id)),
        note=note,
    )


def _logged(service: RestService, path: str) -> tuple[tuple[QueryRun, ...], str]:
    """Return the runs in an application's event log, which a history server sends, and a note; empty without one.

    A running application's pages answer with an empty ZIP (`UIRoot.writeEventLogs`).
    """
    try:
        data = service.download(f"{path}/logs", max_bytes=MAX_READ_BYTES)
        if data.startswith(_EMPTY_ZIP):
            return (), ""
        return read_log_files(files_in_zip(f"{service.url}{path}/logs", data)).runs, ""
    except MissingError:
        return (), ""
    except OffsetwiseError as error:
        return (), f"Its event log was not used: {error.problem}"


def _chosen(service: RestService, app_id: str | None) -> Mapping[str, Any]:
    if app_id is not None:
        entry = service.find(
            f"/api/v1/applications/{quote(app_id, safe='')}",
            f"the application {app_id[:200]}",
            fix="Give the id of an application that GET /api/v1/applications lists.",
        )
        if not isinstance(entry, dict) or entry.get("id") != app_id:
            raise service.unlike("/api/v1/applications/ID", f"the application {app_id[:200]}")
        return entry
    entries = service.get("/api/v1/applications")
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in entries
    ):
        raise service.unlike("/api/v1/applications", "a list of applications")
    if len(entries) == 1:
        only: Mapping[str, Any] = entries[0]
        return only
    shown = [f"{entry['id'][:100]} ({str(entry.get('name'))[:60]})" for entry in entries]
    listed = f": {first_of(shown, _NAMED)}" if shown else ""
    raise StorageError(
        f"{service.url}: expected exactly one application, found {len(entries):,}{listed}. {NO_START}",
        fix="Name the application: --job http://HOST:PORT/api/v1/applications/ID",
    )


def _runs(executions: list[Mapping[str, Any]]) -> list[RunSoFar]:
    """Collect the runs of streaming queries from executions, of which the oldest may no longer be retained."""
    runs: dict[str, RunSoFar] = {}
    numbered = sorted(
        executions, key=lambda execution: number if isinstance(number := execution.get("id"), int) else -1
    )
    nothing_forgotten = bool(numbered) and numbered[0].get("id") == 0
    for execution in numbered:
        match = _BATCH.fullmatch(str(execution.get("description")))
        if match is None:
            continue
        name, query_id, run_id, batch = match.groups()
        # A run began with its first retained execution only if no earlier one was dropped.
        run = runs.setdefault(
            run_id,
            RunSoFar(query_id=query_id, run_id=run_id, name=name, is_whole=nothing_forgotten, batches=set()),
        )
        if batch != "init":
            run.batches.add(int(batch))
    return [*runs.values()]
