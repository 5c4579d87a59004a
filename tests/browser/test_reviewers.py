"""Two reviewers, each signed in at the identity provider, who decide about one plan at the same moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from offsetwise.review.answers import SavedVersion
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import State
from offsetwise.store.store import open_store
from tests.browser.conftest import CLI, console, settle
from tests.browser.oidc import provider
from tests.browser.signing import sign_in, write_secrets
from tests.browser.test_review import APPROVE
from tests.console.boards import ADA, now
from tests.review.people import Scene, access_with_key

PEOPLE: dict[str, dict[str, Any]] = {"rita": {"name": "Rita"}, "ralph": {"name": "Ralph"}}
STORE = "sqlite:///plans.sqlite"


@dataclass(frozen=True, slots=True)
class Court:
    """A console with plans that were submitted to it."""

    address: str
    scene: Scene
    folder: Path
    issuer: str

    def rules(self, *, required: int) -> None:
        """Write the access file that the console keeps to from now on."""
        rules = {
            "sign_in": "required",
            "roles": {"reviewer": [{"issuer": self.issuer, "subject": each} for each in PEOPLE]},
            "decisions": {"key": "console.key", "required": required},
        }
        (self.folder / "access.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")

    def sheet(self, saved: SavedVersion) -> Sheet:
        found = self.scene.board.sheet(ADA, saved.plan)
        assert found is not None
        return found


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    with provider(PEOPLE) as running, open_store(f"sqlite:///{tmp_path / 'plans.sqlite'}", wait_s=60) as store:
        write_secrets(tmp_path, running.issuer)
        scene = Scene(store.reviews, access_with_key(tmp_path), now=now())
        made = Court("", scene, tmp_path, running.issuer)
        made.rules(required=1)
        command = ("-c", CLI, "console", "--access", "access.yaml", "--store", STORE, "--port", "{port}")
        with console(*command, log=tmp_path / "log", cwd=tmp_path) as address:
            yield Court(address, scene, tmp_path, running.issuer)


def approve_at_once(pages: Sequence[Page], court: Court, saved: SavedVersion) -> None:
    """Let everybody open the plan, then let all of them approve before anybody has an answer."""
    for page in pages:
        page.goto(f"{court.address}/review?plan={saved.plan}")
        settle(page)
        expect(page.get_by_role("heading", name=f"Plan {saved.plan} ·")).to_be_visible()
    for page in pages:
        page.get_by_role("button", name=APPROVE).dispatch_event("click", timeout=30_000)


@pytest.mark.gates
def test_of_two_people_one_is_told_that_it_is_decided_and_of_two_that_are_asked_for_both_count(
    browser: Browser, court: Court
) -> None:
    alone, together = court.scene.submitted(ADA), court.scene.submitted(ADA, moves="payments")
    with ExitStack() as opened:
        pages = []
        for who in PEOPLE:
            context = browser.new_context(viewport={"width": 1400, "height": 1000})
            opened.callback(context.close)
            page = context.new_page()
            page.goto(f"{court.address}/review")
            settle(page)
            sign_in(page, who)
            pages.append(page)

        approve_at_once(pages, court, alone)
        decided, late = "Approved: version", "Already decided."
        for page in pages:
            expect(page.get_by_text(decided).or_(page.get_by_text(late))).to_be_visible()
        assert sorted(page.get_by_text(decided).count() for page in pages) == [0, 1]
        assert [len(court.sheet(alone).decisions), court.sheet(alone).row.state] == [1, State.APPROVED]

        court.rules(required=2)
        approve_at_once(pages, court, together)
        first, last = "1 of 2 approvals: another person has to approve too", "2 of 2 approvals. Nothing was written"
        for page in pages:
            expect(page.get_by_text(first).or_(page.get_by_text(last))).to_be_visible()
        assert sorted(page.get_by_text(last).count() for page in pages) == [0, 1]
        assert {each.by.subject for each in court.sheet(together).decisions} == set(PEOPLE)
        assert court.sheet(together).row.state is State.APPROVED
    assert court.scene.board.check_chain(ADA).intact
