"""The REST API of a job on loopback: a real HTTP server that answers recorded documents, or badly."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pyarrow

from tests.plugins.connect.service import Bad, Handler, says

RECORDED: Final = Path(__file__).parent / "data" / "jobs"


class Api(ThreadingHTTPServer):
    """Answers by path."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Any], tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and headers of each."""
        self.url = f"{'http' if tls is None else 'https'}://localhost:{self.server_port}"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing: connections break on purpose."""


class _Handler(Handler):
    server: Api  # type: ignore[assignment] # it has what answers in place of a Connect cluster

    def _do(self) -> None:
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        path = self.path.partition("?")[0]
        answer = self.server.answers.get(path, says(404, {"errors": ["Not found."]}))
        bad: Bad = answer if callable(answer) else says(200, answer)
        bad(self)


@contextmanager
def answering(answers: Mapping[str, Any], tls: ssl.SSLContext | None = None) -> Iterator[Api]:
    """Serve answers by path: a document, or what answers in its place."""
    with Api(answers, tls) as api:
        thread = Thread(target=api.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()


def flink(moment: str, version: str, *, place: str = "") -> tuple[str, dict[str, Any]]:
    """Return a job's id, and the answers of a recorded Flink by path.

    A job on a `datagen` source was recorded as it began, was stopped with a savepoint, and was restored from that one.

    Args:
        moment: When it was asked.
        version: Of Flink.
        place: What stands for the savepoint that it was restored from.
    """
    lines = (json.loads(line) for line in (RECORDED / "flink.jsonl").read_text().splitlines())
    answers = next(line["answers"] for line in lines if (line["flink"], line["moment"]) == (version, moment))
    job = answers["/jobs/ID"]["jid"]
    restored = answers["/jobs/ID/checkpoints"]["latest"]["restored"]
    if place and restored is not None and restored["is_savepoint"]:
        restored["external_path"] = place
    return job, {path.replace("ID", job): answer for path, answer in answers.items()}


QUERY: Final = "33856dd8-e8f7-482f-8f38-c92d3b0a7405"
APPLICATION: Final = "local-1795800830054"
EVENTS: Final = RECORDED / f"eventlog_v2_{APPLICATION}" / f"events_1_{APPLICATION}.zstd"
"""Of a Spark 4.0.0 whose query went on with batch 2 at offset 100 of one partition, and ran one more batch."""


def spark(query_id: str, *, first: int, forgotten: int = 0) -> dict[str, Any]:
    """Return the answers of a recorded Spark by path.

    Args:
        query_id: What stands for the query's.
        first: What stands for its first batch.
        forgotten: How many of the oldest executions are not kept any more.
    """
    text = (RECORDED / "spark.json").read_text().replace(QUERY, query_id)
    for recorded, batch in ((3, first + 1), (2, first)):
        text = text.replace(f"batch = {recorded}", f"batch = {batch}")
    answers: dict[str, Any] = json.loads(text)
    path = f"/api/v1/applications/{APPLICATION}"
    answers[f"{path}/sql"] = answers[f"{path}/sql"][forgotten:]
    return answers | {path: answers["/api/v1/applications"][0]}


def events(query_id: str, *, first: int, starts: Sequence[Any]) -> bytes:
    """Return the recorded event log as text.

    Args:
        query_id: What stands for the query's.
        first: What stands for its first batch.
        starts: What stands for where its sources began.
    """
    with pyarrow.input_stream(BytesIO(EVENTS.read_bytes()), compression="zstd") as stream:
        lines = stream.read().decode().replace(QUERY, query_id).splitlines()
    changed = []
    for line in lines:
        if "QueryProgressEvent" in line:
            event = json.loads(line)
            progress = event["progress"]
            progress["batchId"] += first - 2
            progress["sources"] = [progress["sources"][0] | {"startOffset": start} for start in starts]
            line = json.dumps(event, separators=(",", ":"))  # noqa: PLW2901 - one event with other numbers
        changed.append(line)
    return ("\n".join(changed) + "\n").encode()
