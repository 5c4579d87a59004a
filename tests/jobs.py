"""The REST API of a job on loopback: a real HTTP server that answers recorded documents, or badly."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

from tests.engines.connect.service import Bad, Handler, says

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
        yield api
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
