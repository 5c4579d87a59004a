"""The Review page, run as Streamlit runs it, over a real store: who may decide, about what, and what they are told."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from offsetwise.approval import ApprovalFile
from offsetwise.approval.envelope import stated_in
from offsetwise.console import answers, board
from offsetwise.console.plan.panel import unsent
from offsetwise.console.server import access
from offsetwise.console.server.access import Access
from offsetwise.errors import ClusterUnreachableError
from offsetwise.model import Exactness, LogRange, Method, Override, PlannedPosition, Start, TopicRequirement
from offsetwise.plan.drift import Drift, DriftKind
from offsetwise.recent import Recent
from offsetwise.review.access import SignIn
from offsetwise.review.answers import SavedVersion
from offsetwise.review.board import Board
from offsetwise.review.people import Person, recorded
from offsetwise.store.audit import Record
from offsetwise.store.review_rows import State
from offsetwise.store.store import open_store
from tests.approval.signed import PLAN
from tests.browser.reviews import seeded
from tests.console import builders
from tests.console.conftest import APP, answer_at_look, settle, words
from tests.console.readers import ValueReader
from tests.console.test_shell import NOBODY, SECRETS, claims
from tests.plans import proof_of
from tests.review.people import ADA, ANN, BOTH, RALPH, RITA, Scene, access_with_key
from tests.with_cases import with_cases

PAGE = "pages/plan/review.py"
FIRST = PLAN.positions[0]
LOCK_WAIT_S = 0.2
HALF = replace(
    PLAN.requirements,
    new=replace(PLAN.requirements.new, topics=(TopicRequirement(name="orders", id=None, partitions=2),)),
)
"""A topic of two partitions, of which the plan has one."""
NOT_MET = "every partition has an offset"
MOVED = Drift(kind=DriftKind.CHECKPOINT_MOVED, subject="ckpt, last planned batch", reviewed="6", now="7")


class Court(Scene):
    """Plans of a real store, as a console in this process shows them. Its clock runs only when a test moves it."""

    def __post_init__(self) -> None:
        self.now = datetime.now(UTC)
        self.board = Board(self.reviews, access.latest, clock=lambda: self.now)
        self.reader = ValueReader()
        self.apply_rules()
        answers.use(self.reader)

    def apply_rules(self) -> None:
        """Let the console keep to the rules as they are now."""
        access.use(self.access)

    def opened(self, user: dict[str, Any], **parameters: str) -> AppTest:
        """Open the page in a session of its own."""
        page = AppTest.from_file(str(APP), default_timeout=60)
        page.user = user
        page.secrets = SECRETS
        page.switch_page(PAGE)
        for name, value in parameters.items():
            page.query_params[name] = value
        page.run()
        assert not page.exception
        return page

    def state(self, plan: SavedVersion) -> State:
        sheet = self.board.sheet(ADA, plan.plan)
        assert sheet is not None
        return sheet.row.state

    def log(self) -> tuple[Record, ...]:
        """Return what the audit log says, newest first."""
        return tuple(row.record for row in self.board.audit(ADA))


@pytest.fixture
def court(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Court]:
    st.cache_resource.clear()
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", wait_s=LOCK_WAIT_S) as store:
        made = Court(store.reviews, access_with_key(tmp_path))
        monkeypatch.setattr(board._boards[0], "_own", made.board)
        monkeypatch.setattr(unsent, "_texts", Recent(200))  # of this process, whatever the test
        yield made
    access.use(Access())
    st.cache_resource.clear()


def mail(person: Person, **more: Any) -> dict[str, Any]:
    """What the identity provider says of somebody who signed in a minute ago."""
    return claims(person.subject, name=person.name, email=person.email, **more)


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def control(page: AppTest, name: str, plan: SavedVersion) -> Any:
    return page.button(key=f"{name}-{plan.plan}")


def offered(page: AppTest) -> set[str]:
    return {str(each.key).rpartition("-")[0] for each in page.button if not each.disabled}


def rows_of(page: AppTest) -> pd.DataFrame:
    found: pd.DataFrame = next(each.value for each in page.dataframe if "exactness" in each.value.columns)
    return found


def at(offset: int, **changes: Any) -> PlannedPosition:
    """The plan's partition, to be resumed elsewhere."""
    restart = (replace(FIRST.restart[0], new=offset),)
    moved = replace(FIRST, new_offset=offset, restart=restart, bounds=(offset, offset), proof=proof_of(restart[0]))
    return replace(moved, **changes)


def unsafe(**changes: Any) -> PlannedPosition:
    """A partition that a person put elsewhere."""
    override = Override(offset=940, reason="to be safe", by=recorded(ADA))
    chosen = {"start": Start.SPECIFIC, "method": Method.NONE, "replay": 10, "exactness": Exactness.UNKNOWN}
    return at(940, **{"override": override, **chosen, **changes})


class TestWhoMayDecide:
    def test_a_reviewer_approves_what_was_shown_and_the_log_says_so(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        assert f"digest `{plan.digest[:8]}…`" in said(page)
        control(page, "approve", plan).click().run()
        assert "**Approved: version" in said(page)
        assert "Nothing was written" in said(page)
        assert court.state(plan) is State.APPROVED
        newest = court.log()[0]
        assert (newest.action, newest.result, newest.subject, newest.digest) == ("approve", "done", "rita", plan.digest)
        assert {"approve", "reject"}.isdisjoint(offered(page))
        assert not page.button(key="go-export").disabled

    def test_a_reviewer_accepts_a_position_as_unproven_with_a_reason(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        (place,) = page.multiselect(key=f"unproven-{plan.plan}").options
        assert place == f"{FIRST.topic}:{FIRST.partition}"
        reason = f"unproven-reason-{plan.plan}"
        assert reason not in {each.key for each in page.text_input}, "it is asked for once a position is chosen"
        page.multiselect(key=f"unproven-{plan.plan}").select(place)
        control(page, "approve", plan).click().run()
        assert "expected a reason" in said(page)
        assert court.state(plan) is State.SUBMITTED
        page.text_input(key=reason).set_value("retention took them")
        control(page, "approve", plan).click().run()
        assert "**Approved: version" in said(page)
        assert f"Accepted {FIRST.topic_partition} as unproven: retention took them" in said(page)
        assert court.log()[0].details["accepted_unproven"] == f"{FIRST.topic_partition}: retention took them"
        sheet = court.board.sheet(RITA, plan.plan)
        assert sheet is not None
        (kept,) = stated_in(ApprovalFile(name="kept", content=sheet.decisions[0].envelope)).accepted_unproven
        assert (kept.topic_partition, kept.reason) == (FIRST.topic_partition, "retention took them")

    def test_what_no_record_proves_is_not_offered_to_be_accepted(self, court: Court) -> None:
        plan = court.submitted(positions=(unsafe(),))
        page = court.opened(mail(RITA))
        assert "approve" in offered(page)
        assert f"unproven-{plan.plan}" not in {each.key for each in page.multiselect}

    @with_cases(
        ("user", "why"),
        [
            (NOBODY, "you have to be signed in"),
            (claims("vera"), "you need the role reviewer"),
            (mail(ANN), "you need the role reviewer"),
            (mail(ADA), "you need the role reviewer"),
            ({**mail(RITA), "iss": "https://login.example.com"}, "you need the role reviewer"),
            (mail(RITA, iat=time.time() - 11 * 3_600), "you have to have signed in within the last 60 minutes"),
            (mail(RITA, iat=time.time() - 25 * 3_600), "you have to be signed in"),
            (claims("robot"), "is a service account"),
        ],
        ids=["nobody", "viewer", "other author", "author", "issuer", "hours ago", "yesterday", "service"],
    )
    def test_everybody_else_sees_the_plan_and_why_they_cannot_decide(
        self, court: Court, user: dict[str, Any], why: str
    ) -> None:
        plan = court.submitted()
        page = court.opened(user)
        assert {"approve", "reject"}.isdisjoint(offered(page))
        assert why in said(page)
        assert rows_of(page)["to"].tolist() == [950]
        assert court.state(plan) is State.SUBMITTED

    def test_who_drafts_and_reviews_cannot_approve_their_own(self, court: Court) -> None:
        plan = court.submitted(BOTH)
        page = court.opened(mail(BOTH))
        assert {"approve", "reject"}.isdisjoint(offered(page))
        assert "Nobody decides about a plan that they had a hand in" in said(page)
        assert "1 waits" not in page.expander[0].label
        assert court.state(plan) is State.SUBMITTED

    def test_of_an_unconfigured_console_it_says_how_to_set_it_up(self, court: Court) -> None:
        page = AppTest.from_file(str(APP), default_timeout=60)
        page.switch_page(PAGE).run()
        assert not page.exception
        assert "keygen --console" in said(page)
        assert not [each for each in page.button if str(each.key).startswith("approve")]
        assert court.reader.calls["compare"] == 0

    def test_the_demonstration_is_decided_by_its_reviewer_alone(self, court: Court, tmp_path: Path) -> None:
        with open_store(f"sqlite:///{tmp_path / 'demo.sqlite'}") as store:
            board.use(lambda: court.reviews, lambda: store.reviews)
            _, plan = seeded(store.reviews)
            for part, may in (("viewer", False), ("author", False), ("reviewer", True)):
                page = AppTest.from_file(str(APP), default_timeout=60)
                page.session_state[board.PART] = part
                page.switch_page(PAGE).run()
                assert not page.exception
                assert ("approve" in offered(page)) is may
                assert "Ada, who drafts" in said(page)
                assert "demo author" not in said(page) + rows_of(page).to_string()
            page.toggle[0].set_value(True).run()
            assert "Evidence · payments" in [each.value.replace("\\", "")[:19] for each in page.header]
            page.text_input(key=f"typed-{plan.plan}").set_value("payments")
            page.text_input(key=f"in-spite-of-{plan.plan}-job stopped").set_value("It was stopped a minute later.")
            control(page, "approve", plan).click().run()
            assert "**Approved: version" in said(page)


class TestTheDecision:
    def test_as_many_people_approve_as_the_console_asks_for(self, court: Court) -> None:
        court.deciding(required=2)
        court.apply_rules()
        plan = court.submitted()
        first, second = court.opened(mail(RITA)), court.opened(mail(RALPH))
        control(first, "approve", plan).click().run()
        assert "1 of 2 approvals: another person has to approve too" in said(first)
        assert {"approve", "reject"}.isdisjoint(offered(first))
        control(second, "approve", plan).click().run()
        assert "**Approved: version" in said(second)
        assert court.state(plan) is State.APPROVED

    def test_of_two_reviewers_with_the_page_open_the_later_one_is_told(self, court: Court) -> None:
        plan = court.submitted()
        first, second = court.opened(mail(RITA)), court.opened(mail(RALPH))
        control(first, "approve", plan).click().run()
        control(second, "reject", plan).click().run()
        assert "the remark is empty" in said(second)
        again = court.opened(mail(RALPH))
        assert {"approve", "reject"}.isdisjoint(offered(again))
        assert court.state(plan) is State.APPROVED

    def test_a_second_approval_of_one_plan_is_already_decided(self, court: Court) -> None:
        plan = court.submitted()
        first, second = court.opened(mail(RITA)), court.opened(mail(RALPH))
        control(first, "approve", plan).click().run()
        control(second, "approve", plan).click().run()
        assert "**Already decided.**" in said(second)
        assert "approved by rita of https://login.example.org" in said(second)
        assert [row.result for row in court.log()[:2]] == ["refused", "done"]

    def test_a_superseded_version_is_not_approved_and_the_difference_is_shown(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        newer = court.edited(ANN, plan, positions=(at(949),))
        court.board.submit(ANN, plan.plan, newer.digest)
        control(page, "approve", plan).click().run()
        assert "**Stale: what you were shown is not the newest version.**" in said(page)
        differing = page.dataframe[1].value
        assert differing["to, before"].tolist() == ["950"]
        assert differing["to, now"].tolist() == ["949"]
        assert court.state(plan) is State.SUBMITTED
        assert "Version 2 replaced the one that you were shown" in said(page)
        assert {"approve", "reject"}.isdisjoint(offered(page))

        page.button(key="go-on").click().run()
        assert rows_of(page)["look"].tolist() == ["▲ changed"]
        control(page, "approve", plan).click().run()
        assert f"**Approved: version `{newer.digest[:8]}`.**" in said(page)

    def test_a_version_that_comes_while_somebody_looks_is_told_before_they_decide(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        newer = court.edited(ANN, plan, keeps=("the state",))
        court.board.submit(ANN, plan.plan, newer.digest)
        page.run()
        assert "Version 2 replaced the one that you were shown" in said(page)
        assert "Of the plan as a whole: **keeps**." in said(page)
        assert "approve" not in offered(page)

    def test_whoever_rejects_says_why(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        control(page, "reject", plan).click().run()
        assert "A rejection needs a reason" in said(page)
        assert court.state(plan) is State.SUBMITTED
        page.text_area(key=f"remark-{plan.plan}").set_value("beats-0 is wrong")
        control(page, "reject", plan).click().run()
        assert "**Rejected.**" in said(page)
        assert "beats-0 is wrong" in said(page)
        assert page.session_state[f"remark-{plan.plan}"] == ""
        assert court.state(plan) is State.REJECTED

    def test_what_is_unsafe_takes_a_typed_word(self, court: Court) -> None:
        plan = court.submitted(positions=(unsafe(),))
        page = court.opened(mail(RITA))
        assert rows_of(page)["look"].tolist() == ["! unsafe"]
        control(page, "approve", plan).click().run()
        assert "expected 'orders' to be typed" in said(page)
        assert court.state(plan) is State.SUBMITTED
        page.text_input(key=f"typed-{plan.plan}").set_value("orders")
        control(page, "approve", plan).click().run()
        assert court.state(plan) is State.APPROVED

    def test_a_check_that_is_not_met_takes_a_reason_which_the_audit_log_and_the_timeline_keep(
        self, court: Court
    ) -> None:
        plan = court.submitted(requirements=HALF)
        page = court.opened(mail(RITA))
        assert "1 not met · 1 unknown" in said(page)
        control(page, "approve", plan).click().run()
        assert f"The check '{NOT_MET}' is not met, and no reason was written" in said(page)
        assert court.state(plan) is State.SUBMITTED
        assert "in_spite_of" not in court.log()[0].details
        page.text_input(key=f"in-spite-of-{plan.plan}-{NOT_MET}").set_value("orders-1 is of another job")
        control(page, "approve", plan).click().run()
        assert court.state(plan) is State.APPROVED
        assert court.log()[0].details["in_spite_of"] == f"{NOT_MET}: orders-1 is of another job"
        assert f"In spite of {NOT_MET}: orders-1 is of another job" in said(page)

    def test_a_check_that_is_not_met_needs_no_reason_to_reject(self, court: Court) -> None:
        plan = court.submitted(requirements=HALF)
        page = court.opened(mail(RITA))
        page.text_area(key=f"remark-{plan.plan}").set_value("orders-1 is missing")
        control(page, "reject", plan).click().run()
        assert court.state(plan) is State.REJECTED

    def test_what_changes_stands_first_and_what_stays_is_shown_on_request(self, court: Court) -> None:
        stays = [at(1050, partition=number, old_offset=1050) for number in (1, 2, 3)]
        far = at(200, partition=4, old_offset=1050)
        court.submitted(positions=(*stays, FIRST, far))
        page = court.opened(mail(RITA))
        assert "2 change, 3 stay, all proven" in page.subheader[0].value
        assert rows_of(page)["shift"].tolist() == [-850, -100]
        page.toggle[0].set_value(True).run()
        assert rows_of(page)["shift"].tolist() == [-850, -100, 0, 0, 0]

    def test_the_largest_changes_are_said_with_every_digit(self, court: Court) -> None:
        log = LogRange(log_start=0, lso=2_000_000_000, hw=2_000_000_000)
        changed = [at(1_234_567_890 + number, partition=number, new=log) for number in range(5)]
        stays = at(1050, partition=5)
        court.submitted(positions=(*changed, stays))
        page = court.opened(mail(RITA))
        largest = [f"**orders-{number}** 1,050 → **1,234,567,89{number}** :green[✓ exact]" for number in (4, 3, 2)]
        assert " · ".join(largest) in [str(each.value).replace("\\", "") for each in page.markdown]

    def test_of_a_plan_that_moves_nothing_no_change_is_named(self, court: Court) -> None:
        court.submitted(positions=(at(1050),))
        page = court.opened(mail(RITA))
        assert "**orders-0 · 1,050 → 1,050**" in said(page)
        assert not [each for each in page.markdown if str(each.value).startswith("**orders\\-0** ")]

    def test_a_decision_after_the_submission_expired_is_refused(self, court: Court) -> None:
        court.deciding(open_hours=1, recent_sign_in_minutes=600)
        court.apply_rules()
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.now += timedelta(hours=1, minutes=1)
        control(page, "approve", plan).click().run()
        assert "Its submission, or an approval of it, has expired." in said(page)
        assert {"approve", "reject"}.isdisjoint(offered(page))
        assert court.state(plan) is State.SUBMITTED
        author = court.opened(mail(ADA))
        author.button(key=f"submit-{plan.plan}").click().run()
        assert "**Submitted.**" in said(author)

    def test_a_session_that_grew_old_while_the_page_was_open_is_refused(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.now += timedelta(hours=2)
        control(page, "approve", plan).click().run()
        assert "you have to have signed in within the last 60 minutes" in said(page)
        assert court.state(plan) is State.SUBMITTED

    def test_a_role_that_was_taken_away_meanwhile_is_gone(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.without_role("reviewer", "rita")
        court.apply_rules()
        control(page, "approve", plan).click().run()
        assert "you need the role reviewer" in said(page)
        assert court.state(plan) is State.SUBMITTED
        newest = court.log()[0]
        assert (newest.action, newest.result, newest.subject) == ("approve", "refused", "rita")

    def test_a_store_that_is_held_by_another_decides_nothing_and_says_so(self, court: Court, tmp_path: Path) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        control(page, "approve", plan).click().run()
        other.execute("ROLLBACK")
        other.close()
        assert not page.exception
        assert "What to do:" in said(page)
        assert "What you see was read after that." in said(page)
        assert court.state(plan) is State.SUBMITTED
        control(page, "approve", plan).click().run()
        assert court.state(plan) is State.APPROVED

    def test_a_store_that_cannot_be_read_is_an_error_in_words(self, court: Court, tmp_path: Path) -> None:
        garbage = tmp_path / "garbage.sqlite"
        garbage.write_bytes(b"no database at all" * 100)
        board.use(lambda: open_store(f"sqlite:///{garbage}").reviews)
        page = court.opened(mail(RITA))
        assert "What to do:" in said(page)
        assert "Traceback" not in said(page)

    def test_its_author_withdraws_a_plan_and_nobody_else_is_offered_to(self, court: Court) -> None:
        plan = court.submitted()
        assert "withdraw" not in offered(court.opened(mail(RITA)))
        page = court.opened(mail(ADA))
        control(page, "withdraw", plan).click().run()
        assert "The plan is withdrawn." in said(page)
        assert court.state(plan) is State.WITHDRAWN
        assert "withdraw" not in offered(page)


class TestTheDiscussion:
    def test_a_remark_is_kept_and_said_by_whom(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        page.text_area(key=f"remark-{plan.plan}").set_value("one\n# two")
        control(page, "remark-only", plan).click().run()
        assert "one  \n# two" in said(page)
        assert "rita of https://login.example.org" in said(page)

    def test_a_remark_of_a_megabyte_is_refused_in_words(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        page.text_area(key=f"remark-{plan.plan}").set_value("x" * 1_048_576)
        control(page, "approve", plan).click().run()
        assert "A remark has 1 to 10,000 characters, and this one has 1,048,576." in said(page)
        assert court.state(plan) is State.SUBMITTED
        sheet = court.board.sheet(ADA, plan.plan)
        assert sheet is not None
        assert not sheet.comments

    def test_a_long_remark_is_folded(self, court: Court) -> None:
        plan = court.submitted()
        court.board.comment(RITA, plan.plan, "y" * 9_000)
        page = court.opened(mail(RITA))
        assert "All 9,000 characters" in [each.label for each in page.expander]

    def test_a_viewer_is_offered_no_remark(self, court: Court) -> None:
        court.submitted()
        assert not court.opened(claims("vera")).text_area


class TestWhileSomebodyReads:
    def test_the_title_of_the_window_says_how_many_wait_and_which_plan_is_open(self, court: Court) -> None:
        plan = court.submitted()
        titles: list[str] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(st, "set_page_config", lambda **given: titles.append(str(given.get("page_title"))))
            court.opened(mail(RITA))
        assert titles[-1] == f"(1) Review · Plan {plan.plan} · orders · Offsetwise"

    def test_the_link_that_is_copied_opens_the_plan(self, court: Court) -> None:
        court.submitted()
        other = court.submitted(moves="payments")
        page = court.opened(mail(RITA), plan=str(other.plan))
        (link,) = [code.value for code in page.code if "review?plan=" in code.value]
        assert link.endswith(f"/review?plan={other.plan}")

    def test_a_plan_waits_for_its_reviewers_by_name_or_for_any_of_many(self, court: Court) -> None:
        court.submitted()
        assert "waits for a reviewer" in said(court.opened(mail(ADA)))
        roles = court.access.roles
        only = tuple(grant for grant in roles.reviewer if grant.subject in {"rita", "ralph"})
        court.rules(roles=roles.model_copy(update={"reviewer": only}))
        court.apply_rules()
        assert "waits for rita or ralph" in said(court.opened(mail(ADA)))

    def test_a_plan_that_is_withdrawn_while_it_is_read_says_so_beside_the_buttons(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.board.withdraw(ADA, plan.plan)
        page.run()
        assert "**The plan was withdrawn while you read it.** It can no longer be decided." in said(page)
        assert {"approve", "reject"}.isdisjoint(offered(page))

    def test_a_plan_that_another_reviewer_approves_meanwhile_says_by_whom(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.approve(replace(RALPH, signed_in_at=court.now, expires_at=None), plan)
        page.run()
        assert "**The plan was approved by Ralph (ralph of https://login.example.org) while you read it.**" in said(
            page
        )
        assert {"approve", "reject"}.isdisjoint(offered(page))

    def test_approving_what_was_withdrawn_meanwhile_decides_nothing_and_says_so(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        court.board.withdraw(ADA, plan.plan)
        control(page, "approve", plan).click().run()
        assert f"**Already decided.** Plan {plan.plan} is withdrawn. Nothing was changed." in said(page)
        assert court.state(plan) is State.WITHDRAWN

    def test_a_remark_that_is_written_when_the_sign_in_ended_is_there_after_the_next_one(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        page.user = NOBODY
        page.text_area(key=f"remark-{plan.plan}").set_value("partition 0 needs another look")
        control(page, "remark-only", plan).click().run()
        assert "you have to be signed in" in said(page)
        assert "What you wrote is kept" in said(page)
        assert "partition 0 needs another look" in said(page)
        assert "partition 0" not in said(court.opened(mail(RALPH))), "it is shown to nobody else"
        again = court.opened(mail(RITA))
        assert again.text_area(key=f"remark-{plan.plan}").value == "partition 0 needs another look"
        control(again, "remark-only", plan).click().run()
        sheet = court.board.sheet(ADA, plan.plan)
        assert sheet is not None
        assert [each.body for each in sheet.comments] == ["partition 0 needs another look"]
        assert court.opened(mail(RITA)).text_area(key=f"remark-{plan.plan}").value == ""

    def test_a_page_that_the_end_of_a_sign_in_locks_says_that_what_was_typed_is_kept(self, court: Court) -> None:
        court.rules(sign_in=SignIn.REQUIRED)
        court.apply_rules()
        plan = court.submitted()
        page = court.opened(mail(RITA))
        page.user = mail(RITA, iat=time.time() - 13 * 3_600)
        page.text_area(key=f"remark-{plan.plan}").set_value("partition 0 needs another look").run()
        assert "Your sign-in is too old." in said(page)
        assert "What you wrote is kept, and is in its field then." in said(page)
        assert "What you wrote is kept" not in said(court.opened(NOBODY))
        again = court.opened(mail(RITA))
        assert again.text_area(key=f"remark-{plan.plan}").value == "partition 0 needs another look"
        again.text_area(key=f"remark-{plan.plan}").set_value("").run()
        assert court.opened(mail(RITA)).text_area(key=f"remark-{plan.plan}").value == ""


class TestFreshness:
    def test_nothing_is_looked_at_until_somebody_asks(self, court: Court) -> None:
        plan = court.submitted()
        page = court.opened(mail(RITA))
        page.run()
        assert not [name for name in court.reader.calls if name.startswith("drift")]
        assert "badge[? unknown] **fresh**" in said(page)
        look(page, plan)
        assert court.reader.calls["drift orders-to-new"] == 1
        assert "Nothing that it requires had changed" in said(page)
        assert "approve" in offered(page)

    def test_what_changed_since_it_was_submitted_turns_approval_off(self, court: Court) -> None:
        plan = court.submitted()
        court.reader.drifted = (MOVED,)
        page = court.opened(mail(RITA))
        look(page, plan)
        assert "**Changed since it was submitted.** The plan would be refused by apply." in said(page)
        assert "ckpt, last planned batch: reviewed 6, now 7." in said(page)
        assert "approve" not in offered(page)
        assert "Approve is off: the plan is stale" in said(page)
        assert "reject" in offered(page)

    @with_cases("at", range(1, 4))
    def test_an_answer_that_comes_while_the_page_is_drawn_is_shown(
        self, court: Court, monkeypatch: pytest.MonkeyPatch, at: int
    ) -> None:
        answer_at_look(monkeypatch, "drift", at)
        plan = court.submitted()
        court.reader.drifted = (MOVED,)
        page = court.opened(mail(RITA))
        look(page, plan)
        assert "**Changed since it was submitted.**" in said(page)
        assert "ckpt, last planned batch: reviewed 6, now 7." in said(page)
        assert "approve" not in offered(page)

    def test_what_another_session_saw_after_the_page_was_drawn_counts_too(self, court: Court) -> None:
        plan = court.submitted()
        court.reader.drifted = (MOVED,)
        page, other = court.opened(mail(RITA)), court.opened(mail(RALPH))
        look(other, plan)
        control(page, "approve", plan).click().run()
        assert "**Stale: the clusters changed since the plan was drafted.** Nothing was decided." in said(page)
        assert court.state(plan) is State.SUBMITTED

    def test_a_cluster_that_does_not_answer_leaves_it_unknown(self, court: Court) -> None:
        plan = court.submitted()
        court.reader.drifted = ClusterUnreachableError("Cluster 'new': no answer.", fix="Start it.")
        page = court.opened(mail(RITA))
        look(page, plan)
        assert "The cluster does not answer" in said(page)
        assert "badge[? unknown] **fresh**" in said(page)
        assert rows_of(page)["to"].tolist() == [950]


def look(page: AppTest, plan: SavedVersion) -> None:
    """Ask whether anything changed, and wait for the answer as the browser does."""
    page.button(key=f"drift-{plan.digest[:8]}-now").click().run()
    settle(page)


class TestTheList:
    def test_without_any_plan_it_says_where_one_comes_from(self, court: Court) -> None:
        page = court.opened(mail(RITA))
        assert "There is no plan yet." in said(page)

    def test_what_waits_for_the_person_stands_first(self, court: Court) -> None:
        waits = court.submitted()
        court.saved(moves="payments")
        page = court.opened(mail(RITA))
        assert "2 plans · **1 waits for you**" in page.expander[0].label
        listed = page.dataframe[0].value
        assert listed["plan"].tolist()[0] == waits.plan
        assert listed["for you"].tolist() == ["waits for your decision", ""]
        page.selectbox(key="plan").select("2").run()
        assert "this version was not submitted" in said(page)

    def test_a_link_opens_the_plan_it_names_and_an_unknown_one_says_so(self, court: Court) -> None:
        court.submitted()
        other = court.saved(moves="payments")
        page = court.opened(mail(RITA), plan=str(other.plan))
        assert page.header[0].value.startswith(f"Plan {other.plan} · ")
        lost = court.opened(mail(RITA), plan="4711; drop table")
        assert "The link names a plan that is not here: 4711; drop table" in said(lost)
        assert lost.header[0].value.startswith("Plan ")

    def test_an_answer_about_one_plan_does_not_stand_over_another(self, court: Court) -> None:
        plan = court.submitted()
        court.submitted(moves="payments")
        page = court.opened(mail(RITA), plan=str(plan.plan))
        control(page, "approve", plan).click().run()
        assert "**Approved: version" in said(page)
        page.selectbox(key="plan").select("2").run()
        assert "**Approved: version" not in said(page)


class TestVersions:
    def test_two_versions_are_held_against_each_other(self, court: Court) -> None:
        plan = court.submitted()
        edited = court.edited(ANN, plan, positions=(unsafe(), replace(FIRST, partition=1)))
        court.edited(ADA, edited, positions=(unsafe(),))
        page = court.opened(mail(RITA))
        assert "3 versions" in [each.label for each in page.expander]
        page.selectbox(key="from").select("1").run()
        page.selectbox(key="to").select("2").run()
        found = next(each.value for each in page.dataframe if "what differs" in each.value.columns)
        assert found["p"].tolist() == [0, 1]
        assert found["to, before"].tolist() == ["950", "none"]
        assert found["what differs"].tolist()[1] == "only in the later version"


class TestManyAndHostile:
    def test_ten_thousand_partitions_come_in_pages_the_unsafe_first(self, court: Court) -> None:
        positions = [
            replace(FIRST, topic=f"t{n // 100}", new_topic=f"t{n // 100}", partition=n % 100) for n in range(9_999)
        ]
        positions.append(unsafe(topic="zz", new_topic="zz"))
        court.submitted(positions=tuple(positions))
        page = court.opened(mail(RITA))
        shown = rows_of(page)
        assert len(shown) == 250
        assert shown["topic"].tolist()[0] == "zz"
        assert "1 of 10,000 partitions needs a look, shown first" in page.subheader[0].value
        page.selectbox(key="rows").select("9751–10000").run()
        assert len(rows_of(page)) == 250
        page.multiselect(key="topic").select("zz").run()
        assert len(rows_of(page)) == 1

    @with_cases("name", builders.HOSTILE)
    def test_hostile_names_stay_text_everywhere(self, court: Court, name: str) -> None:
        override = Override(offset=940, reason=name, by=recorded(ADA))
        position = unsafe(topic=name, new_topic=name, reason=name, override=override)
        plan = court.submitted(positions=(position,), strategy=name, keeps=(name,), gives_up=(name,))
        court.board.comment(RITA, plan.plan, name)
        court.reader.drifted = (replace(MOVED, subject=name, now=name),)
        user = mail(RITA)
        page = court.opened({**user, "name": name})
        look(page, plan)
        shown = [
            str(each.value) for kind in (page.markdown, page.warning, page.header, page.subheader) for each in kind
        ]
        assert "<img" not in "\n".join(shown).replace("\\<img", "")
        assert "\u202e" not in "\n".join(shown)
        assert "a|b*c_d[e](f)" not in "\n".join(shown)
        cells = rows_of(page)["topic"].tolist() + rows_of(page)["reason"].tolist()
        assert not [each for each in cells if each.startswith("=") or "\u202e" in each]

    def test_unknown_values_in_the_url_are_ignored(self, court: Court) -> None:
        court.submitted()
        page = court.opened(mail(RITA), row="<img src=x>", rows="9751–10000", topic="../../etc", nobody="x" * 10_000)
        assert rows_of(page)["to"].tolist() == [950]
