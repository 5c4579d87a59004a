"""A plug-in of strangers, built as a wheel and installed beside the product's: from its text file to its own service.

It brings an engine and a target. No file of the product knows it, and no test of the product but these.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from playwright.sync_api import Browser, expect

from tests.browser.conftest import settle
from tests.stopped_job import COPIED_FROM, READ, TOPIC
from tests.wheels import build, build_product, call, install, run, served

pytestmark = pytest.mark.proof

PLUGIN: Final = Path(__file__).parent / "plugin"
MIGRATION: Final = ("--migration", "migration.yaml")
BEFORE: Final = {f"{TOPIC}:0": 7}
AFTER: Final = {f"{TOPIC}:0": READ - COPIED_FROM}


class Shelves(ThreadingHTTPServer):
    """The service, on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.shelves: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Requests(BaseHTTPRequestHandler):
    server: Shelves

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def _answer(self, code: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        shelf = self.server.shelves.get(self.path[1:])
        self._answer(404 if shelf is None else 200, shelf)

    def do_PUT(self) -> None:
        self.server.shelves[self.path[1:]] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(200, {})

    def do_DELETE(self) -> None:
        self.server.shelves.pop(self.path[1:], None)
        self._answer(200, {})


@pytest.fixture
def service() -> Iterator[Shelves]:
    with Shelves() as server:
        server.shelves["etl"] = dict(BEFORE)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the plug-in's wheel."""
    return build(tmp_path_factory.mktemp("plugin") / "sources", *PLUGIN.iterdir())


@pytest.fixture(scope="module")
def offsetwise(plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment with both wheels."""
    product = build_product(tmp_path_factory.mktemp("sources") / "product")
    return install(tmp_path_factory.mktemp("installed"), product, plugin)


@pytest.fixture
def tally(desk: Path) -> Path:
    """Let the migration name a job that keeps its positions in a text file."""
    (desk / "checkpoints" / "tally").mkdir()
    (desk / "checkpoints" / "tally" / "positions.tally").write_text(f"{TOPIC} 0 {READ}\n")
    body = yaml.safe_load((desk / "migration.yaml").read_text())
    body["checkpoints"] = [{"name": "tally", "uri": "./checkpoints/tally", "belongs_to": "old"}]
    (desk / "migration.yaml").write_text(yaml.safe_dump(body))
    return desk


def draft(command: Path, service: Shelves, *more: str) -> Any:
    chosen = (*MIGRATION, "--checkpoint", "tally", "--target", "bookmarks:etl", "--set", f"url={service.url}")
    return run(command, "draft", *chosen, "--author", "ada", *more)


def approve(command: Path) -> tuple[str, ...]:
    call(command, "keygen", "--out", "reviewer", "--as", "bob")
    call(command, "sign", "plan.json", "--key", "reviewer", "--as", "bob", "--out", "plan.approval.json")
    return ("plan.json", *MIGRATION, "--approval", "plan.approval.json", "--trust", "reviewer.pub")


def test_a_job_is_drafted_signed_applied_verified_and_rolled_back(
    offsetwise: Path, service: Shelves, tally: Path
) -> None:
    drafted = draft(offsetwise, service, "--out", "plan.json")
    assert drafted.returncode == 0, drafted.stderr
    assert f"now at bookmarks on shelf etl: {TOPIC}:0: 7" in drafted.stderr
    plan = json.loads((tally / "plan.json").read_text())
    assert plan["requirements"]["targets"] == [{"before": BEFORE, "target": {"group": "etl", "kind": "bookmarks"}}]
    assert plan["settings"] == [["url", service.url]]
    given = approve(offsetwise)

    call(offsetwise, "apply", *given)
    assert service.shelves == {"etl": BEFORE}
    call(offsetwise, "apply", *given, "--execute")
    assert service.shelves == {"etl": AFTER}
    assert "1 CONFIRMED" in call(offsetwise, "verify", "plan.receipt.json", *MIGRATION)

    call(offsetwise, "rollback", "plan.receipt.json", *given[1:], "--execute")
    assert service.shelves == {"etl": BEFORE}


@pytest.mark.usefixtures("tally")
def test_what_is_on_the_shelf_must_be_as_it_was_reviewed(offsetwise: Path, service: Shelves) -> None:
    assert draft(offsetwise, service, "--out", "plan.json").returncode == 0
    given = approve(offsetwise)
    service.shelves["etl"] = {f"{TOPIC}:0": 8}

    drifted = run(offsetwise, "drift", "plan.json", *MIGRATION)
    applied = run(offsetwise, "apply", *given, "--execute")

    assert drifted.returncode == 3
    assert f"TARGET_MOVED: bookmarks on shelf etl, {TOPIC}:0: reviewed 7, now 8." in drifted.stderr
    assert applied.returncode != 0
    assert "Nothing was written." in applied.stderr
    assert service.shelves == {"etl": {f"{TOPIC}:0": 8}}


@pytest.mark.usefixtures("tally")
def test_it_is_listed_and_its_keys_are_asked_for(offsetwise: Path) -> None:
    listed = json.loads(call(offsetwise, "targets", "bookmarks", "--json"))["targets"]

    assert [(each["name"], each["address"], [*each["parameters"]["properties"]]) for each in listed] == [
        ("bookmarks", "shelf", ["url"])
    ]
    assert "tally" in listed[0]["engines"]
    assert "Tally goes on in 1 partition(s)." in run(offsetwise, "inspect", "checkpoints/tally").stdout
    chosen = (*MIGRATION, "--checkpoint", "tally", "--target", "bookmarks:etl", "--author", "ada")
    lacking = run(offsetwise, "draft", *chosen, "--out", "other.json")
    assert lacking.returncode != 0
    assert "the address of the service that keeps the bookmarks" in lacking.stderr


def test_the_screens_show_both(
    offsetwise: Path, tally: Path, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> None:
    state = tmp_path_factory.mktemp("state")
    with served(offsetwise, state, "migration.yaml", folder=tally) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{address}/checkpoint?migration=trades-to-new&of=checkpoint+tally")
        settle(page)
        expect(page.get_by_text("Tally goes on in 1 partition(s).").first).to_be_visible()
        page.close()


@pytest.mark.gates
@pytest.mark.usefixtures("tally")
def test_a_plug_in_that_cannot_be_loaded_is_named_and_the_rest_works(offsetwise: Path, service: Shelves) -> None:
    assert draft(offsetwise, service, "--out", "plan.json").returncode == 0
    (broken,) = offsetwise.parents[1].glob("lib/python*/site-packages/offsetwise_bookmarks/service.py")
    whole = broken.read_text()
    broken.write_text("import a_module_that_is_not_there\n")
    try:
        listed = run(offsetwise, "targets")
        exported = run(offsetwise, "apply", "plan.json", *MIGRATION)
        other = run(offsetwise, "inspect", "checkpoints/trades")
    finally:
        broken.write_text(whole)

    assert listed.returncode == 0
    assert "spark-checkpoint" in listed.stdout
    assert "'bookmarks' of offsetwise-bookmarks 1.0" in listed.stderr
    assert exported.returncode == 1
    assert "'bookmarks' of offsetwise-bookmarks 1.0" in exported.stderr
    assert "a_module_that_is_not_there" in exported.stderr
    assert other.returncode == 0


@pytest.mark.gates
@pytest.mark.usefixtures("tally")
def test_without_the_plug_in_its_plan_is_refused_by_name(
    offsetwise: Path, service: Shelves, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert draft(offsetwise, service, "--out", "plan.json").returncode == 0
    product = build_product(tmp_path_factory.mktemp("sources") / "product")
    alone = install(tmp_path_factory.mktemp("alone"), product)

    refused = run(alone, "apply", "plan.json", *MIGRATION)

    assert refused.returncode == 1
    assert "found 'bookmarks'" in refused.stderr
    assert "Install the plug-in" in refused.stderr
    assert call(alone, "inspect", "checkpoints/trades")
