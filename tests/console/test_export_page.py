"""The Export page, run as Streamlit runs it: what can be taken out, by whom, and what comes back."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from offsetwise import files, workflow
from offsetwise.approval import keygen, sign, write_keys
from offsetwise.bundled import Bundled
from offsetwise.config import TrustedKey
from offsetwise.console.board import Seat
from offsetwise.console.plan import export
from offsetwise.console.server import access
from offsetwise.errors import PlanError, StoreUnreachableError
from offsetwise.model import Plan, PlannedPosition, Receipt, Target, TopicRequirement
from offsetwise.plan.draft import totals_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest
from offsetwise.plugins.spark.targets.starting_position.spec import starting_position
from offsetwise.review.access import SignIn
from offsetwise.review.answers import Approved, SavedVersion
from offsetwise.review.exports import ExportKind
from offsetwise.review.people import Person
from offsetwise.review.view import PlansView
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store
from offsetwise.targets import StartingPosition
from tests.approval.signed import PLAN
from tests.console.boards import ADA, RITA, STRANGER, VERA, Stage, here, now, stage
from tests.console.conftest import AskedFor, words
from tests.plans import steps_of
from tests.review.people import ISSUER
from tests.review.test_bundle import packed
from tests.subjects import checkpoint
from tests.with_cases import with_cases

__all__ = ["here"]

PAGE = "pages/plan/export.py"
START = Target(kind="starting-offsets")
HOSTILE = "=cmd()'; rm -rf / <img src=x onerror=alert(1)> **x**"


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def offered(page: AppTest) -> dict[str, Any]:
    """The downloads of a page by key."""
    return {each.key.removeprefix("download-"): each for each in page.download_button if each.key is not None}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def approved(here: Stage, **changes: Any) -> SavedVersion:
    topics = (TopicRequirement(name="orders", id=None, partitions=1),)
    requirements = replace(PLAN.requirements, new=replace(PLAN.requirements.new, topics=topics))
    saved = here.scene.submitted(ADA, requirements=requirements, **changes)
    here.scene.approve(RITA, saved)
    return saved


def of_shards(here: Stage) -> Plan:
    """Draft a plan of the Kinesis sample that writes a starting position."""
    kinesis, names = Bundled.KINESIS, here.scene.board.credits(ADA)
    seen = workflow.with_sample_snapshots(workflow.sample_comparison("orders-query", kinesis), kinesis)
    return workflow.draft(
        workflow.sample(kinesis),
        checkpoint("orders-query"),
        DraftRequest(targets=(StartingPosition(),), author=names.author, identities=names.identities),
        drafted_at="2026-03-01T09:00:00Z",
        comparison=seen,
    )


def bring(page: AppTest, key: str, content: bytes, name: str = "file.json") -> AppTest:
    """Hand a file over and press the button beside it."""
    page.file_uploader(key=f"{key}-file").upload(name, content).run()
    return page.button(key=key).click().run()


class TestTakingOut:
    def test_an_approved_plan_is_offered_with_its_approval_digests_and_the_exact_commands(self, here: Stage) -> None:
        saved = approved(here)
        page = here.open(PAGE, VERA)
        assert not page.exception
        name = f"plan-{saved.digest[:8]}"
        assert {"kit", f"{name}.json", f"{name}.approval-1.json"} == set(offered(page)), "it writes nothing else"
        shown = [code.value for code in page.code]
        assert saved.digest in shown
        (sheet,) = [here.scene.board.sheet(VERA, saved.plan)]
        assert sheet is not None
        assert sha256(sheet.status.counted[0].envelope) in shown
        dry = f"offsetwise apply {name}.json --migration migration.yaml --output applied/orders"
        assert dry in shown
        assert f"{dry} --approval {name}.approval-1.json --execute" in shown
        assert f"offsetwise verify {name}.receipt.json --migration migration.yaml" in shown
        assert not any("startingOffsets" in each or "--reset-offsets" in each for each in shown)
        assert page.success[0].value.startswith("**✓ Approved: version 1, 1 approval of 1 asked for.**")

    def test_for_other_tools_there_is_what_the_plan_writes_and_nothing_else(self, here: Stage) -> None:
        starts, group = Target(kind="starting-offsets"), Target(kind="consumer-group", group="orders-etl")
        saved = approved(here, targets=(starts, group))
        page = here.open(PAGE, VERA)
        assert not page.exception
        name = f"plan-{saved.digest[:8]}"
        assert {f"{name}.starting-offsets.json", f"{name}.groups.csv"} <= set(offered(page))
        shown = [code.value for code in page.code]
        assert f'.option("startingOffsets", open("{name}.starting-offsets.json").read())' in shown
        assert any("--group orders-etl --reset-offsets --from-file" in each and "--dry-run" in each for each in shown)

    def test_for_kinesis_there_is_the_file_that_apply_writes_and_the_option_that_takes_it(self, here: Stage) -> None:
        plan = of_shards(here)
        saved = here.scene.board.save_draft(ADA, files.dump(plan).encode())
        assert isinstance(saved, SavedVersion), saved
        here.scene.board.submit(ADA, saved.plan, saved.digest)
        answer = here.scene.approve(RITA, saved, typed="orders")
        assert isinstance(answer, Approved), answer
        page = here.open(PAGE, VERA)
        assert not page.exception
        name = f"plan-{saved.digest[:8]}"
        written = f"{name}.starting-position.json"
        assert set(offered(page)) == {"kit", f"{name}.json", f"{name}.approval-1.json", written}
        assert f'.option("startingposition", open("{written}").read())  # qubole' in words(page)
        assert "**Starting position**" in words(page)
        (file,) = here.scene.board.export(VERA, saved.plan, ExportKind.STARTING_OFFSETS)
        assert file.content.decode() == starting_position(plan)

    def test_the_digest_shown_is_that_of_the_bytes_offered(self, here: Stage) -> None:
        saved = approved(here)
        seat = Seat(board=here.scene.board, person=VERA)
        sheet = here.scene.board.sheet(VERA, saved.plan)
        assert sheet is not None
        for kind in ExportKind:
            for file in export.files_of(seat, sheet, kind):
                assert file.sha256 == sha256(file.export.content)
        (plan,) = export.files_of(seat, sheet, ExportKind.PLAN)
        assert plan.sha256 == sheet.digest == saved.digest

    @with_cases(
        ("reach", "why"),
        [
            ("draft", "it was not submitted"),
            ("submitted", "it waits for decisions: 0 of 1 approval"),
            ("rejected", "it was rejected"),
            ("withdrawn", "it was withdrawn"),
            ("edited", "it was not submitted"),
        ],
    )
    def test_what_nobody_approved_says_draft_and_how_to_apply_it_is_not_told(
        self, here: Stage, reach: str, why: str
    ) -> None:
        saved = here.scene.saved(ADA) if reach == "draft" else here.scene.submitted(ADA)
        if reach == "rejected":
            here.scene.reject(RITA, saved)
        if reach == "withdrawn":
            here.scene.board.withdraw(ADA, saved.plan)
        if reach == "edited":
            here.scene.approve(RITA, saved)
            here.scene.edited(ADA, saved, drafted_at="2026-03-01T10:00:00Z")
        page = here.open(PAGE, VERA)
        assert not page.exception
        assert page.warning[-1].value.replace("\\", "").startswith("**DRAFT: nobody may apply this.**")
        assert why in page.warning[-1].value.replace("\\", "")
        names = set(offered(page)) - {"bundle"}
        assert names
        assert all(each.startswith("DRAFT-") for each in names)
        assert not any("--execute" in code.value or "startingOffsets" in code.value for code in page.code)

    def test_an_approval_that_expired_counts_no_more(self, here: Stage) -> None:
        here.scene.deciding(valid_hours=1)
        here.scene.now = now() - timedelta(hours=2)
        saved = here.scene.submitted(replace(ADA, signed_in_at=here.scene.now, expires_at=now()))
        here.scene.approve(replace(RITA, signed_in_at=here.scene.now, expires_at=now()), saved)
        page = here.open(PAGE, VERA)
        assert not page.exception
        assert "its approvals have expired" in page.warning[-1].value
        assert not any("--execute" in code.value for code in page.code)

    def test_an_approval_of_somebody_who_is_no_reviewer_any_more_says_so(self, here: Stage) -> None:
        saved = approved(here)
        assert f"plan-{saved.digest[:8]}.approval-1.json" in offered(here.open(PAGE, VERA))
        here.scene.without_role("reviewer", "rita")
        page = here.open(PAGE, VERA)
        assert not page.exception
        assert "is no longer a reviewer" in page.warning[-1].value
        assert "take the key, or the issuer that it vouches for, out of" in said(page)
        assert f"WITHDRAWN-plan-{saved.digest[:8]}.approval-1.json" in offered(page)
        assert not any("--execute" in code.value for code in page.code)

    def test_a_form_that_cannot_be_said_is_told_and_the_others_are_offered(self, here: Stage) -> None:
        one = PLAN.positions[0]
        several: tuple[PlannedPosition, ...] = (one, replace(one, source="other", topic="more", new_topic="more"))
        names = here.scene.board.credits(ADA)
        plan = replace(PLAN, author=names.author, positions=several, totals=totals_of(several), targets=(START,))
        answer = here.scene.board.save_draft(ADA, files.dump(plan).encode())
        assert isinstance(answer, SavedVersion), answer
        page = here.open(PAGE, VERA)
        assert not page.exception
        assert "expected a plan for one Kafka source, found 2" in said(page)
        assert f"DRAFT-plan-{answer.digest[:8]}.json" in offered(page)

    @with_cases("hidden", ["", "\u202e"], ids=["seen", "not seen"])
    def test_a_hostile_group_is_one_word_of_the_command_or_in_none(self, here: Stage, hidden: str) -> None:
        target = Target(kind="consumer-group", group=HOSTILE + hidden)
        saved = approved(here, targets=(target,))
        page = here.open(PAGE, VERA)
        assert not page.exception
        lines = [code.value for code in page.code if "--dry-run" in code.value]
        if hidden:
            assert not lines
            assert "cannot be seen" in said(page)
        else:
            assert "--group '=cmd()'\"'\"'; rm -rf / <img src=x onerror=alert(1)> **x**' --reset-offsets" in lines[0]
        texts = "\n".join(str(each.value) for kind in (page.markdown, page.error, page.warning) for each in kind)
        assert "<img" not in texts.replace("\\<img", "")
        assert saved.plan == 1

    def test_a_plan_that_somebody_changed_while_it_was_read_is_not_exported_as_the_old_one(self, here: Stage) -> None:
        saved = approved(here)
        sheet = here.scene.board.sheet(VERA, saved.plan)
        assert sheet is not None
        here.scene.edited(ADA, saved, drafted_at="2026-03-01T10:00:00Z", requirements=sheet.plan.requirements)
        seat = Seat(board=here.scene.board, person=VERA)
        for kind in ExportKind:
            with pytest.raises(PlanError, match="somebody changed it just now"):
                export.files_of(seat, sheet, kind)

    def test_a_submitted_plan_goes_to_a_reviewer_without_clusters_as_a_bundle(self, here: Stage) -> None:
        packed(here.scene, ADA)
        page = here.open(PAGE, ADA)
        assert not page.exception
        assert "bundle" in offered(page)
        assert any(code.value.startswith("offsetwise console --bundle plan-") for code in page.code)

    def test_a_bundle_that_cannot_be_made_is_told_in_words_and_can_be_asked_for_again(
        self, here: Stage, monkeypatch: pytest.MonkeyPatch, asked_for: AskedFor
    ) -> None:
        packed(here.scene, ADA)
        page = here.open(PAGE, ADA)
        (name,) = re.findall(r"offsetwise console --bundle (\S+)", "\n".join(code.value for code in page.code))
        with monkeypatch.context() as down:
            down.setattr(PlansView, "bundle", lambda *_: _down())
            with pytest.raises(RuntimeError, match="the page says why"):
                asked_for(name)
        page.run()
        assert not page.exception
        assert "the database did not answer" in said(page)
        assert asked_for(name)
        page.run()
        assert "the database did not answer" not in said(page)

    def test_what_was_applied_says_so_and_is_not_offered_to_be_applied_again(self, here: Stage) -> None:
        saved = approved(here)
        here.scene.board.add_receipt(ADA, saved.plan, _receipt(here, saved, saved.digest))
        page = here.open(PAGE, VERA)
        assert not page.exception
        name = f"plan-{saved.digest[:8]}"
        assert set(offered(page)) == {
            f"APPLIED-{name}.json",
            f"{name}.approval-1.json",
        }
        assert page.success[0].value.startswith("**✓ Applied: version 1.** Do not apply it again.")
        assert "Rita" in page.success[0].value
        shown = [code.value for code in page.code]
        assert f"offsetwise verify {name}.receipt.json --migration migration.yaml" in shown
        assert not any("offsetwise apply" in each or "--reset-offsets" in each for each in shown)
        assert "DRAFT" not in said(page)

    def test_what_is_not_submitted_is_not_sent_to_a_reviewer(self, here: Stage) -> None:
        here.scene.saved(ADA)
        page = here.open(PAGE, ADA)
        assert "bundle" not in offered(page)

    def test_a_link_opens_the_plan_it_names(self, here: Stage) -> None:
        approved(here)
        other = here.scene.saved(ADA, moves="payments")
        page = here.open(PAGE, VERA, plan=str(other.plan))
        assert f"DRAFT-plan-{other.digest[:8]}.json" in offered(page)


class TestBringingIn:
    def test_an_approval_signed_with_a_reviewers_own_key_is_counted(self, here: Stage, tmp_path: Path) -> None:
        saved = here.scene.submitted(ADA)
        page = here.open(PAGE, ADA)
        envelope = _signed(here, tmp_path, saved)
        bring(page, "bring-approval", envelope, "rita's.json")
        assert not page.exception
        assert page.success[-1].value.startswith("**✓ The approval in rita")
        assert f"plan-{saved.digest[:8]}.approval-1.json" in offered(page)

    def test_one_that_nobody_trusts_is_refused_and_says_why(self, here: Stage, tmp_path: Path) -> None:
        saved = here.scene.submitted(ADA)
        page = here.open(PAGE, ADA)
        envelope = _signed(here, tmp_path, saved)
        here.scene.deciding(trusted_keys=())
        access.use(here.scene.access)
        bring(page, "bring-approval", envelope, "<img src=x onerror=alert(1)>.json")
        assert not page.exception
        assert "**Not taken in:" in page.error[-1].value
        assert "<img" not in page.error[-1].value.replace("\\<img", "")
        assert here.scene.board.audit(ADA)[0].record.result == "refused"

    @with_cases(
        "content", [b"", b"{}", b"\x00\xff", b'{"payload": 1}', b"[" * 10_000], ids=lambda content: repr(content[:12])
    )
    def test_something_else_than_an_approval_or_receipt_is_told_in_words(self, here: Stage, content: bytes) -> None:
        here.scene.submitted(ADA)
        page = here.open(PAGE, ADA)
        for key in ("bring-approval", "bring-receipt"):
            bring(page, key, content)
            assert not page.exception
            assert "**What to do:**" in page.error[-1].value
            assert "An unexpected error occurred" not in words(page)
            row = here.scene.board.audit(ADA)[0].record
            assert (row.action, row.result) == (
                {"approval": "import envelope", "receipt": "add receipt"}[key[6:]],
                "refused",
            )

    def test_a_receipt_of_another_plan_is_refused(self, here: Stage) -> None:
        saved = here.scene.submitted(ADA)
        page = here.open(PAGE, ADA)
        bring(page, "bring-receipt", _receipt(here, saved, "f" * 64))
        assert "which is not a version of plan 1" in page.error[-1].value.replace("\\", "")

    def test_a_receipt_of_this_plan_is_kept(self, here: Stage) -> None:
        saved = approved(here)
        page = here.open(PAGE, ADA)
        bring(page, "bring-receipt", _receipt(here, saved, saved.digest))
        assert not page.exception
        assert "is kept.**" in page.success[-1].value
        assert "**✓ Applied: version 1.**" in page.success[0].value

    def test_a_bundle_of_another_console_waits_for_a_decision_here(self, here: Stage, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        with open_store(f"sqlite:///{tmp_path / 'home' / 'store.sqlite'}") as store:
            home = stage(store.reviews, tmp_path / "home")
            saved, bundle = packed(home.scene, ADA)
        page = here.open(PAGE, RITA)
        bring(page, "bring-bundle", bundle, "plan.review.gz")
        assert not page.exception
        assert f"its digest is `{saved.digest[:8]}…`" in page.success[-1].value
        sheet = here.scene.board.sheet(RITA, 1)
        assert sheet is not None
        assert sheet.digest == saved.digest

    def test_whoever_plays_the_reviewer_of_the_demonstration_is_offered_no_way_to_bring_one(self, here: Stage) -> None:
        page = here.open(PAGE, VERA, play="reviewer")
        assert not page.exception
        assert "The demonstration takes in no review bundle" in words(page)
        assert "bring-bundle" not in {button.key for button in page.button}

    def test_a_bundle_that_was_tampered_with_is_refused_in_words(self, here: Stage, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        with open_store(f"sqlite:///{tmp_path / 'home' / 'store.sqlite'}") as store:
            _, bundle = packed(stage(store.reviews, tmp_path / "home").scene, ADA)
        page = here.open(PAGE, RITA)
        for changed in (bundle[:-9], b"\x00" + bundle[1:], bundle + b"x"):
            bring(page, "bring-bundle", changed, "plan.review.gz")
            assert not page.exception
            assert "expected a review bundle as the console wrote it" in page.error[-1].value.replace("\\", "")
        assert here.scene.board.plans(RITA) == ()
        rows = [row.record for row in here.scene.board.audit(RITA)]
        assert [(row.action, row.result) for row in rows] == [("receive bundle", "refused")] * 3

    @with_cases(
        ("somebody", "may"),
        [(None, ()), (VERA, ()), (ADA, ("bring-approval", "bring-receipt")), (RITA, None), (STRANGER, ())],
        ids=["anonymous", "viewer", "author", "reviewer", "stranger"],
    )
    def test_whoever_may_not_sees_why_in_place_of_the_button(
        self, here: Stage, somebody: Person | None, may: tuple[str, ...] | None
    ) -> None:
        here.scene.submitted(ADA)
        page = here.open(PAGE, somebody)
        assert not page.exception
        every = ("bring-approval", "bring-receipt", "bring-bundle")
        found = {each.key.removesuffix("-file") for each in page.file_uploader if each.key is not None}
        assert found == set(every if may is None else may)
        if len(found) < len(every):
            assert "To receive bundle, you" in said(page)

    def test_a_role_taken_away_meanwhile_is_gone(self, here: Stage, tmp_path: Path) -> None:
        saved = here.scene.submitted(ADA)
        page = here.open(PAGE, RITA)
        envelope = _signed(here, tmp_path, saved)
        page.file_uploader(key="bring-approval-file").upload("a.json", envelope).run()
        here.scene.without_role("reviewer", "rita")
        access.use(here.scene.access)
        page.button(key="bring-approval").click().run()
        assert here.scene.board.audit(ADA)[0].record.result == "refused"
        assert here.scene.board.audit(ADA)[0].record.action == "import envelope"


@with_cases("somebody", [None, VERA, ADA, RITA], ids=["anonymous", "viewer", "author", "reviewer"])
def test_everybody_who_may_look_may_take_out(here: Stage, somebody: Person | None) -> None:
    approved(here)
    page = here.open(PAGE, somebody)
    assert not page.exception
    assert len(offered(page)) == 3


@with_cases("somebody", [None, STRANGER], ids=["anonymous", "no role"])
def test_where_sign_in_is_required_nobody_else_gets_a_file(here: Stage, somebody: Person | None) -> None:
    approved(here)
    here.scene.rules(sign_in=SignIn.REQUIRED, roles=here.scene.access.roles.model_copy(update={"reviewer": ()}))
    page = here.open(PAGE, somebody)
    assert not page.exception
    assert not offered(page)
    assert "Locked" in words(page)


def test_where_nobody_can_sign_in_it_says_how_to_set_it_up(here: Stage) -> None:
    page = here.open(PAGE, None)
    page.secrets.clear()
    page.run()
    assert not page.exception
    assert "Nobody can sign in here" in words(page)


def test_without_a_plan_it_says_where_one_comes_from_and_takes_bundles(here: Stage) -> None:
    page = here.open(PAGE, RITA)
    assert not page.exception
    assert "There is no plan yet." in words(page)
    assert [each.key for each in page.file_uploader] == ["bring-bundle-file"]


def test_a_store_that_is_down_is_told_in_words(here: Stage) -> None:
    here.reviews = _down
    page = here.open(PAGE, VERA)
    assert not page.exception
    assert "the database did not answer" in said(page)


def test_bytes_changed_in_the_database_are_not_exported(here: Stage, tmp_path: Path) -> None:
    approved(here)
    _tampered(tmp_path / "store.sqlite")
    page = here.open(PAGE, VERA)
    assert not page.exception
    assert not offered(page)
    assert "they were changed in the database" in said(page)


def _signed(here: Stage, folder: Path, saved: SavedVersion) -> bytes:
    """Let Rita sign a plan with her own key, which this console trusts."""
    key = keygen(subject="rita", issuer=ISSUER)
    write_keys(folder / "rita.key", key)
    listed = TrustedKey(file=str(folder / "rita.key.pub"), issuer=ISSUER, subject="rita")
    here.scene.deciding(trusted_keys=(listed,))
    access.use(here.scene.access)
    (plan,) = here.scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    return sign(plan.content, key, subject="rita", issuer=ISSUER, now=now())


def _receipt(here: Stage, saved: SavedVersion, digest: str) -> bytes:
    (exported,) = here.scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    plan = read_plan(exported.content, subject="plan")
    at = "2026-03-01T12:00:00Z"
    steps = steps_of(plan)
    made = Receipt(plan_digest=digest, plan=plan, approvers=(), begun_at=at, ended_at=at, steps=steps)
    return files.dump(made).encode()


def _tampered(database: Path) -> None:
    connection = sqlite3.connect(database)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.execute("UPDATE review_version SET content = CAST(content || x'20' AS BLOB)")
    connection.commit()
    connection.close()


def _down() -> Reviews:
    raise StoreUnreachableError("Store: expected an answer, the database did not answer.", fix="Start it.")
