"""Three people at a console over the live lab: one drafts, another approves, and the command line applies it."""

from __future__ import annotations

import re
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from offsetwise.lab import Lab
from tests.browser.conftest import CLI, console, keep, settle
from tests.browser.oidc import provider
from tests.browser.signing import sign_in, write_secrets
from tests.browser.test_confirmations import BAR
from tests.browser.test_live_lab import press
from tests.commands import Ran, run
from tests.integration.groups import commit, committed
from tests.integration.topics import copies, create, produce, trim
from tests.plugins.connect.live.connect_workers import PASSWORD, STORES, Workers, workers
from tools.screenshots import THEMES

PEOPLE: dict[str, dict[str, Any]] = {
    "ada": {"name": "Ada Author", "email": "ada@example.org"},
    "rita": {"name": "Rita Reviewer", "email": "rita@example.org"},
    "vera": {"name": "Vera Viewer", "email": "vera@example.org"},
}
ROLES = {"author": ("ada",), "reviewer": ("rita", "ada"), "viewer": ("vera",)}
"""Ada may approve plans of other people."""
CONSOLE = "console of the tests"
MIGRATION = "agreed"
AGREED, STALE = "agreed-orders", "agreed-late"
"""Each is a topic, and the group that reads it."""
SINK, SINK_THERE = "agreed-sink", "agreed-sink-there"
"""A topic and the connector that reads it on the old cluster, and the connector for it on the new one."""
FILED: Final = "agreed-filed"
"""A topic, and the positions file that has its position."""
RECORDS, GONE, PLACE, EARLIER = 300, 100, 250, 5
"""Records of the old topic, how many of them the new one lacks, the next to read, and what was committed before."""
PATIENCE_MS = 600_000
"""Spark starts, and reads: how long that takes says how busy the machine is."""

pytestmark = pytest.mark.timeout(1_800)


@dataclass(frozen=True, slots=True)
class Office:
    """A console with an identity provider, beside the folder of those who apply."""

    address: str
    folder: Path
    lab: Lab

    def apply(self, line: str) -> Ran:
        """Run a command as the console says it, where the downloads are."""
        command, *arguments = shlex.split(line)
        assert command == "offsetwise"
        return run(*arguments, cwd=self.folder)

    def committed(self, group: str) -> int:
        """Return where a group stands on the new cluster."""
        return committed(self.lab.new_bootstrap, group)[group][0]


Arrive = Callable[..., Page]
"""Lets somebody follow a link to the console, or to that of another office, and sign in, in a browser of their own."""


@pytest.fixture(scope="module")
def office(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """The lab, two groups whose members are gone, a file of positions, and the console over them."""
    folder = tmp_path_factory.mktemp("office")
    mirrored(lab, AGREED, STALE, FILED)
    for name in (AGREED, STALE):
        commit(lab.old_bootstrap, name, {name: PLACE})
        commit(lab.new_bootstrap, name, {name: EARLIER})
    (folder / "filed.txt").write_text(f"{FILED},0:{PLACE}\n")
    jobs = {"groups": [AGREED, STALE], "positions": [{"name": FILED, "file": "./filed.txt"}]}
    with opened(folder, lab, jobs) as opened_office:
        yield opened_office


@pytest.fixture
def connect(tmp_path: Path, lab: Lab) -> Iterator[tuple[Workers, Workers]]:
    """Kafka Connect on both clusters, with a connector on each that is stopped."""
    mirrored(lab, SINK)
    with workers(tmp_path, lab.old_bootstrap, lab.new_bootstrap) as both:
        for at, name, offset in zip(both, (SINK, SINK_THERE), (PLACE, EARLIER), strict=True):
            at.create(name, SINK, state="STOPPED")
            at.write(name, SINK, offset)
        yield both


@pytest.fixture
def sink_office(tmp_path: Path, lab: Lab, connect: tuple[Workers, Workers]) -> Iterator[Office]:
    """A console over these connectors."""
    old, new = connect
    (tmp_path / "password").write_text(PASSWORD)
    (tmp_path / "key-password").write_text(STORES)
    there = {"name": SINK_THERE, "urls": [*new.urls], "cluster": "new"} | new.client
    with opened(tmp_path, lab, {"connect": [{"name": SINK, "url": old.url}, there]}) as opened_office:
        yield opened_office


def mirrored(lab: Lab, *topics: str) -> None:
    """Write topics of which the new cluster lacks the first records."""
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, GONE)):
        create(bootstrap, *topics)
        produce(bootstrap, dict.fromkeys(topics, copies(first, RECORDS)))


@contextmanager
def opened(folder: Path, lab: Lab, jobs: Mapping[str, object]) -> Iterator[Office]:
    """Open a console over jobs, with an identity provider of its own."""
    with provider(PEOPLE) as running:
        set_up(folder, lab, running.issuer, jobs)
        options = ("--migration", "migration.yaml", "--access", "access.yaml", "--store", "sqlite:///plans.sqlite")
        command = ("-c", CLI, "console", *options, "--port", "{port}")
        with console(*command, log=folder / "log", cwd=folder) as address:
            yield Office(address, folder, lab)


def set_up(folder: Path, lab: Lab, issuer: str, jobs: Mapping[str, object]) -> None:
    """Write what an operator writes, as docs/sign-in.md and docs/threat-model.md say."""
    assert run("keygen", "--console", "--out", "console.key", "--as", CONSOLE, cwd=folder).code == 0
    write_secrets(folder, issuer)
    access = {
        "sign_in": "required",
        "roles": {role: [{"issuer": issuer, "subject": each} for each in named] for role, named in ROLES.items()},
        "decisions": {"key": "console.key"},
    }
    (folder / "access.yaml").write_text(yaml.safe_dump(access), encoding="utf-8")
    trusted = {
        "file": "console.key.pub",
        "issuer": "offsetwise:console",
        "subject": CONSOLE,
        "vouches_for": [issuer],
    }
    migration = {
        "name": MIGRATION,
        "source": {"properties": {"bootstrap.servers": lab.old_bootstrap}},
        "target": {"properties": {"bootstrap.servers": lab.new_bootstrap}},
        "topics": {"policy": "identity"},
        "link": "other",
        "writers": "mirror-only",
        "write_roots": ["."],
        "approval": {"trusted_keys": [trusted]},
        "spark": {"master": "local[2]"},
    }
    (folder / "migration.yaml").write_text(yaml.safe_dump(migration | dict(jobs)), encoding="utf-8")


@pytest.fixture
def arrive(browser: Browser, office: Office) -> Iterator[Arrive]:
    with ExitStack() as closing:

        def come(who: str, link: str, at: Office = office) -> Page:
            context = browser.new_context(
                viewport={"width": 1400, "height": 1000}, base_url=at.address, accept_downloads=True
            )
            closing.callback(context.close)
            page = context.new_page()
            page.goto(link)
            settle(page)
            sign_in(page, who)
            return page

        yield come


def drafted(author: Page, name: str, *, kind: str = "group", picture: str | None = None) -> str:
    """Compare a group or a connector live, draft a plan for it and submit that; give the plan's number."""
    of = f"migration={MIGRATION}&of={kind}+{name}"
    author.goto(f"/compare?{of}")
    settle(author)
    press(author, "Compare now")
    expect(author.get_by_role("heading", name=f"Evidence · {name}-0")).to_be_visible(timeout=PATIENCE_MS)
    author.goto(f"/draft?{of}")
    settle(author)
    if picture is not None:
        in_both_themes(author, picture)
    press(author, "Submit for review")
    expect(author.get_by_text("waits for a decision about exactly")).to_be_visible()
    number = re.search("Plan ([0-9]+) ·", author.locator(BAR).inner_text())
    assert number is not None
    author.get_by_role("button", name="Open on Review").click()
    expect(author.get_by_role("heading", name="Review", level=1)).to_be_visible()
    settle(author)
    return number[1]


def in_both_themes(page: Page, name: str) -> None:
    """Keep a picture of a page in light and in dark."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        settle(page)
        keep(page, f"{name}-{theme}")
    page.emulate_media(color_scheme="light")
    settle(page)


def approve(reviewer: Page) -> None:
    """Approve the plan that Review shows, and go on to its Export page."""
    press(reviewer, "Approve")
    expect(reviewer.get_by_text("Approved: version")).to_be_visible()
    reviewer.get_by_role("button", name=re.compile("Export$")).click()
    settle(reviewer)


def control(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def download(page: Page, folder: Path, heading: str) -> Path:
    """Download the one file under a heading of the Export page."""
    block = page.get_by_test_id("stVerticalBlock").filter(has=page.get_by_text(heading, exact=True)).last
    with page.expect_download() as taken:
        block.get_by_role("button", name="Download", exact=True).click()
    path = folder / taken.value.suggested_filename
    taken.value.save_as(path)
    return path


def unpack(page: Page, file: Path) -> None:
    """Download the kit of an approved plan from Export, and unpack it beside the file."""
    with page.expect_download() as taken:
        page.get_by_role("button", name=re.compile("Download plan-")).click()
    taken.value.save_as(file)
    with zipfile.ZipFile(file) as kit:
        kit.extractall(file.parent)


def commands(page: Page) -> list[str]:
    """Return the command lines that the Export page tells."""
    shown = page.get_by_test_id("stCode").all_inner_texts()
    return [line.strip() for line in shown if re.match("offsetwise (apply|verify) ", line)]


@pytest.mark.gates
def test_what_one_person_drafts_another_approves_and_the_command_line_applies(office: Office, arrive: Arrive) -> None:
    author = arrive("ada", "/")
    plan = drafted(author, AGREED)
    expect(author.get_by_text("Nobody decides about a plan that they had a hand in")).to_be_visible()
    for name in ("Approve", "Reject"):
        expect(control(author, name)).to_be_disabled()
    keep(author, "review-author")

    viewer = arrive("vera", f"/review?plan={plan}")
    expect(viewer.get_by_text("you need the role reviewer")).to_be_visible()
    expect(control(viewer, "Approve")).to_be_disabled()

    reviewer = arrive("rita", "/")
    expect(reviewer.get_by_text(f"Plan {plan} of {MIGRATION}")).to_be_visible()
    reviewer.locator(f"a[href$='review?plan={plan}']").click()
    settle(reviewer)
    reviewer.get_by_text(re.compile("checks met")).last.click()
    for cluster in ("old", "new"):
        expect(reviewer.get_by_text(f"group {AGREED} has no members on the {cluster} cluster")).to_be_visible()
    press(reviewer, "Look whether anything changed")
    expect(reviewer.get_by_text("Nothing that it requires had changed")).to_be_visible(timeout=PATIENCE_MS)
    keep(reviewer, "review-reviewer")
    approve(reviewer)
    keep(reviewer, "export-approved")
    unpack(reviewer, office.folder / "kit.zip")

    trial, execute, verify = commands(reviewer)
    assert office.apply(trial).code == 0
    assert office.committed(AGREED) == EARLIER, "a trial writes nothing"
    applied = office.apply(execute)
    assert applied.code == 0, applied.err + applied.out
    assert office.committed(AGREED) == PLACE - GONE, "the next unread record, where it lies on the new cluster"
    verified = office.apply(verify)
    assert verified.code == 0, verified.err + verified.out


@pytest.mark.gates
def test_a_plan_that_became_stale_is_refused_with_what_changed(office: Office, arrive: Arrive) -> None:
    plan = drafted(arrive("ada", "/"), STALE)
    reviewer = arrive("rita", f"/review?plan={plan}")
    expect(control(reviewer, "Approve")).to_be_enabled()

    trim(office.lab.new_bootstrap, STALE, PLACE - GONE + 1)

    settle(reviewer)
    press(reviewer, "Look whether anything changed")
    changed = reviewer.get_by_text("Changed since it was submitted.")
    expect(changed).to_be_visible(timeout=PATIENCE_MS)
    expect(reviewer.get_by_text("log start").first).to_be_visible()
    expect(control(reviewer, "Approve")).to_be_disabled()
    expect(reviewer.get_by_text("Approve is off: the plan is stale")).to_be_visible()
    keep(reviewer, "review-stale")

    reviewer.goto(f"/export?plan={plan}")
    settle(reviewer)
    expect(reviewer.get_by_text("DRAFT: nobody may apply this.")).to_be_visible()
    reviewer.get_by_text("The files one by one", exact=True).click()
    settle(reviewer)
    assert download(reviewer, office.folder, "Plan").name.startswith("DRAFT-")
    (trial,) = commands(reviewer)
    refused = office.apply(trial)
    assert refused.code == 3, refused.err + refused.out
    assert "log start" in refused.out + refused.err
    assert office.committed(STALE) == EARLIER


@pytest.mark.gates
def test_a_connector_moves_from_the_screens_and_the_reviewer_sees_what_the_new_one_has(
    sink_office: Office, connect: tuple[Workers, Workers], arrive: Arrive
) -> None:
    _, there = connect
    plan = drafted(arrive("ada", "/", sink_office), SINK, kind="checkpoint", picture="draft-connector")
    reviewer = arrive("rita", f"/review?plan={plan}", sink_office)
    now = reviewer.locator("p").filter(has_text=f"Now at connector {SINK_THERE}")
    expect(now).to_contain_text(f"{SINK}-0: {EARLIER}")
    expect(now).to_contain_text(f"/connectors/{SINK_THERE}")
    in_both_themes(reviewer, "review-connector")
    press(reviewer, "Look whether anything changed")
    expect(reviewer.get_by_text("Nothing that it requires had changed")).to_be_visible(timeout=PATIENCE_MS)
    approve(reviewer)
    in_both_themes(reviewer, "export-connector")
    unpack(reviewer, sink_office.folder / "connector.zip")

    trial, execute, verify = commands(reviewer)
    assert sink_office.apply(trial).code == 0
    assert there.offsets(SINK_THERE) == {0: EARLIER}, "a trial writes nothing"
    applied = sink_office.apply(execute)
    assert applied.code == 0, applied.err + applied.out
    assert there.offsets(SINK_THERE) == {0: PLACE - GONE}
    verified = sink_office.apply(verify)
    assert verified.code == 0, verified.err + verified.out


@pytest.mark.gates
def test_a_positions_file_moves_from_the_screens_and_its_new_offsets_are_in_the_same_shape(
    office: Office, arrive: Arrive
) -> None:
    author = arrive("ada", f"/checkpoint?migration={MIGRATION}&of=checkpoint+{FILED}")
    expect(author.get_by_text("in the shape hudi")).to_be_visible()
    in_both_themes(author, "checkpoint-positions")
    plan = drafted(author, FILED, kind="checkpoint", picture="draft-positions")
    reviewer = arrive("rita", f"/review?plan={plan}")
    in_both_themes(reviewer, "review-positions")
    approve(reviewer)
    in_both_themes(reviewer, "export-positions")
    unpack(reviewer, office.folder / "filed.zip")

    trial, execute, verify = commands(reviewer)
    written = office.folder / shlex.split(execute)[shlex.split(execute).index("--output") + 1]
    assert office.apply(trial).code == 0
    assert not written.exists(), "a trial writes nothing"
    applied = office.apply(execute)
    assert applied.code == 0, applied.err + applied.out
    assert written.read_text() == f"{FILED},0:{PLACE - GONE}\n"
    verified = office.apply(verify)
    assert verified.code == 0, verified.err + verified.out
