"""Consoles as operators start them, for the attacks on the web server: one for each way of being reached."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from offsetwise import files
from offsetwise.approval import keygen, write_keys
from offsetwise.review.access import load_access
from offsetwise.review.board import Board
from offsetwise.review.people import Person, person_of, recorded
from offsetwise.store.store import open_store
from tests.attacks import hand_made
from tests.browser.conftest import CLI, console
from tests.browser.oidc import Provider, provider
from tests.browser.reviews import of_sample
from tests.browser.signing import write_secrets

ARONS = ("aron", "ARON", "aron\u200b")
PEOPLE: dict[str, dict[str, Any]] = {
    **{who: {"name": who.title(), "email": f"{who}@example.org"} for who in ("vera", "stranger")},
    **{who: {"groups": ["reviewers"]} for who in ("rita", "robot", *ARONS)},
}
ROLES = {
    "viewer": [{"subject": "vera"}],
    "author": [{"subject": "aron"}],
    "reviewer": [{"group": "reviewers"}],
}
PUBLIC = "offsets.example.org"


@dataclass(frozen=True, slots=True)
class Served:
    """A running console."""

    address: str
    log: Path
    outside: list[str]
    """What its process asked other hosts, by the names of these."""

    def said(self) -> str:
        """Return its log."""
        return self.log.read_text(encoding="utf-8", errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class Guarded(Served):
    """One that only people with a role may use, with a plan that waits for a decision."""

    provider: Provider
    folder: Path
    plan: int
    cookie_secret: str

    def sign_in(self, who: str) -> hand_made.Jar:
        """Sign in; give the cookies."""
        return hand_made.sign_in(self.address, self.cookie_secret, who)

    def holds(self, what: str, fits: Callable[[int], bool]) -> int:
        """Wait until the number of uploaded files, or of clearings of the caches, fits."""
        deadline = time.monotonic() + 20
        while not fits(found := int(json.loads((self.folder / "held").read_text())[what])):
            assert time.monotonic() < deadline, f"{what}: {found}"
            time.sleep(0.2)
        return found


@contextmanager
def outside() -> Iterator[tuple[str, list[str]]]:
    """Be the rest of the world, as a proxy: give its address, and the list of hosts that were asked for."""
    asked: list[str] = []

    class World(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_CONNECT = do_GET  # noqa: N815 - http.server's own name

        def log_message(self, format: str, *args: object) -> None:
            """Do nothing."""

    with answering(World) as address:
        yield address, asked


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Let requests be answered on loopback; give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(folder: Path, *command: str, **variables: str) -> Iterator[Served]:
    """Run a console in a folder, with these environment variables."""
    with outside() as (world, asked):
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), world)
        own = {**proxies, "no_proxy": "127.0.0.1,localhost", **variables}
        with console(*command, log=folder / "log", cwd=folder, variables=own) as address:
            yield Served(address, folder / "log", asked)


@pytest.fixture(scope="module")
def anonymous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The bundled sample, on a machine with a display and a coding agent, as `offsetwise console` serves it."""
    folder = tmp_path_factory.mktemp("anonymous")
    (folder / ".claude").mkdir()
    (folder / "xdg-open").write_text("#!/bin/sh\n")
    (folder / "xdg-open").chmod(0o755)
    here = {
        "HOME": str(folder),
        "DISPLAY": ":0",
        "STREAMLIT_SERVER_HEADLESS": "false",
        "BROWSER": str(folder / "xdg-open"),
    }
    with served(folder, "-c", CLI, "console", "--port", "{port}", **here) as running:
        yield running


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Behind TLS, with a folder and an environment that would open everything if the shipped settings did not hold."""
    folder = tmp_path_factory.mktemp("public")
    with provider(PEOPLE) as running:
        write_secrets(folder, running.issuer)
        secrets = folder / ".streamlit" / "secrets.toml"
        text = secrets.read_text(encoding="utf-8")
        secrets.write_text(text.replace("http://127.0.0.1:{port}", f"https://{PUBLIC}"), encoding="utf-8")
        (folder / ".streamlit" / "config.toml").write_text(
            "[server]\nenableXsrfProtection = false\nenableCORS = false\nenableAgentApi = true\nheadless = false\n"
            'allowedHosts = ["*"]\ncorsAllowedOrigins = ["http://evil.example"]\nmaxUploadSize = 4096\n'
            "[server.trustedUserHeaders]\nX-User = 'sub'\n[global]\ndevelopmentMode = true\n",
            encoding="utf-8",
        )
        (folder / "access.yaml").write_text("sign_in: required\n", encoding="utf-8")
        command = ("-c", CLI, "console", "--access", "access.yaml", "--address", "0.0.0.0", "--port", "{port}")
        everywhere = {"STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false", "STREAMLIT_SERVER_ALLOWED_HOSTS": "*"}
        with served(folder, *command, **everywhere) as console_:
            yield console_


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Over the bundled sample, with a plan of aron that waits for rita."""
    folder = tmp_path_factory.mktemp("guarded")
    with provider(PEOPLE) as running:
        write_secrets(folder, running.issuer)
        secret = re.search('cookie_secret = "(.+)"', (folder / ".streamlit" / "secrets.toml").read_text("utf-8"))
        assert secret is not None
        write_keys(folder / "console.key", keygen(subject="the console", console=True))
        rules = {
            "sign_in": "required",
            "roles": {role: [{"issuer": running.issuer, **each} for each in named] for role, named in ROLES.items()},
            "service_accounts": [{"issuer": running.issuer, "subject": "robot"}],
            "decisions": {"key": str(folder / "console.key")},
        }
        (folder / "access.yaml").write_text(yaml.safe_dump(rules, allow_unicode=True), encoding="utf-8")
        store = f"sqlite:///{folder / 'store.sqlite'}"
        plan = waiting(store, folder / "access.yaml", running.issuer)
        command = ("-m", "tests.attacks.counted", str(folder / "held"), "console", "--access", "access.yaml")
        with served(folder, *command, "--store", store, "--port", "{port}") as it:
            yield Guarded(it.address, it.log, it.outside, running, folder, plan, secret[1])


def waiting(store: str, rules: Path, issuer: str) -> int:
    """Let a plan of aron wait for a decision in a store; give its number."""
    now = int(time.time())
    claims = {"iss": issuer, "sub": "aron", "iat": now, "exp": now + 3_600, **PEOPLE["aron"]}
    aron = person_of(claims, groups_claim="groups")
    assert isinstance(aron, Person)
    with open_store(store) as opened:
        board = Board(opened.reviews, lambda: load_access(rules))
        plan, seen = of_sample(recorded(aron))
        saved: Any = board.save_draft(aron, files.dump(plan).encode(), comparison=seen)
        board.submit(aron, saved.plan, saved.digest)
    return int(saved.plan)


def decided(guarded: Guarded) -> int:
    """Count the decisions that are kept about the plan of `guarded`."""
    with closing(sqlite3.connect(guarded.folder / "store.sqlite")) as store:
        (found,) = store.execute("SELECT count(*) FROM review_decision").fetchone()
    return int(found)
