"""A set of plans on Review: one table, worst first, one decision about exactly these plans, and its files."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.api import live
from offsetwise.approval import read_private_key
from offsetwise.config import load_migration
from offsetwise.model import PlannedPosition, Target
from offsetwise.review.answers import Done, SavedVersion
from offsetwise.review.exports import destination_of
from offsetwise.review.sets.answers import DecidedSet, SubmittedSet
from offsetwise.review.sets.drafting import DraftedSet
from offsetwise.review.sets.sheet import SetState
from offsetwise.review.view import Credits
from offsetwise.store.review_rows import State
from tests.apply.plans import COPY, STARTING
from tests.apply.sets import SetStage, staged_set
from tests.approval.signed import PLAN
from tests.commands import call
from tests.console.boards import ADA, BOTH, RITA, VERA, Stage, here
from tests.console.conftest import words
from tests.console.test_review_page import HALF, NOT_MET
from tests.review.people import ISSUER
from tests.review.sets import REFUSED, approve, drafted_set, set_of, sheet_of

__all__ = ["here"]
PAGE = "pages/plan/review.py"
UNSAFE: tuple[PlannedPosition, ...] = (replace(PLAN.positions[0], skip=7),)


def submitted(here: Stage, count: int = 3, **how: Any) -> SubmittedSet:
    """Submit a set of plans of that many jobs."""
    jobs = [f"job-{number}" for number in range(count)]
    made = here.scene.board.submit_set(ADA, drafted_set(here.scene, ADA, jobs, **how))
    assert isinstance(made, SubmittedSet), made
    return made


def opened(here: Stage, somebody: Any, made: SubmittedSet) -> AppTest:
    page = here.open(PAGE, somebody, plan=f"set-{made.number}")
    assert not page.exception
    return page


def tables(page: AppTest, column: str) -> pd.DataFrame:
    found: pd.DataFrame = next(each.value for each in page.dataframe if column in each.value.columns)
    return found


def said(page: AppTest) -> str:
    return words(page).replace("\\", "")


def button(page: AppTest, name: str, made: SubmittedSet) -> Any:
    return page.button(key=f"{name}-set-{made.number}")


def state(here: Stage, made: SubmittedSet) -> SetState:
    return sheet_of(here.scene, made).status.state


def test_all_positions_of_all_plans_stand_in_one_table_the_worst_first(here: Stage) -> None:
    plans = [
        ("group calm", here.scene.drafted(ADA, moves="calm")),
        ("group risky", here.scene.drafted(ADA, moves="risky", positions=UNSAFE)),
    ]
    made = here.scene.board.submit_set(ADA, set_of(plans, "pilot", (REFUSED,)))
    assert isinstance(made, SubmittedSet), made

    page = opened(here, RITA, made)

    assert list(tables(page, "topic-partition")["job"]) == ["risky", "calm"]
    assert list(tables(page, "topic-partition").columns)[:5] == ["job", "topic-partition", "old", "new", "shift"]
    assert list(tables(page, "open checks")["job"]) == ["group ghost", "group risky", "group calm"]
    assert "1 job of it has no plan." in said(page)
    assert "Set 1 · wave pilot" in said(page) + "".join(str(each.value) for each in page.header)


def test_one_click_approves_exactly_these_plans(here: Stage) -> None:
    made = submitted(here)
    page = opened(here, RITA, made)

    button(page, "approved", made).click().run()

    assert not page.exception
    assert "Approved: 3 plans" in said(page)
    assert {row.state for row in here.scene.board.plans(ADA)} == {State.APPROVED}
    assert state(here, made) is SetState.APPROVED


def test_an_unsafe_plan_takes_the_wave_typed_and_an_unmet_check_its_reason(here: Stage) -> None:
    made = here.scene.board.submit_set(
        ADA,
        set_of(
            [
                ("group calm", here.scene.drafted(ADA, moves="calm")),
                ("group half", here.scene.drafted(ADA, moves="half", requirements=HALF)),
            ],
            "pilot",
        ),
    )
    assert isinstance(made, SubmittedSet), made
    page = opened(here, RITA, made)
    assert f"**{NOT_MET}**: 1 plan of 2, such as that of half" in said(page)
    button(page, "approved", made).click().run()
    assert "Not done" in said(page)
    assert state(here, made) is SetState.SUBMITTED

    page.text_input(key=f"in-spite-of-set-{made.number}-{NOT_MET}").set_value("orders-1 is of another job").run()
    page.text_input(key=f"typed-set-{made.number}").set_value("pilot").run()
    button(page, "approved", made).click().run()

    assert state(here, made) is SetState.APPROVED


def test_a_rejection_takes_a_remark_which_every_plan_keeps(here: Stage) -> None:
    made = submitted(here)
    page = opened(here, RITA, made)
    button(page, "rejected", made).click().run()
    assert "A rejection needs a reason" in said(page)
    assert state(here, made) is SetState.SUBMITTED

    page.text_area(key=f"remark-set-{made.number}").set_value("Not tonight.").run()
    button(page, "rejected", made).click().run()

    assert state(here, made) is SetState.REJECTED
    for each in sheet_of(here.scene, made).members:
        sheet = here.scene.board.sheet(ADA, each.row.id)
        assert sheet is not None
        assert [remark.body for remark in sheet.comments] == ["Not tonight."]


@pytest.mark.parametrize("who", ["the author", "an author who reviews", "a viewer"])
def test_who_may_not_decide_is_told_why_and_has_no_button_that_works(here: Stage, who: str) -> None:
    author, somebody = {"the author": (ADA, ADA), "an author who reviews": (BOTH, BOTH), "a viewer": (ADA, VERA)}[who]
    made = here.scene.board.submit_set(author, drafted_set(here.scene, author))
    assert isinstance(made, SubmittedSet), made

    page = opened(here, somebody, made)

    assert button(page, "approved", made).disabled
    assert "Nothing can be decided:" in said(page)


def test_what_another_console_did_meanwhile_is_said_and_nothing_is_decided(here: Stage) -> None:
    made = submitted(here)
    page = opened(here, RITA, made)
    member = sheet_of(here.scene, made).members[1]
    assert isinstance(here.scene.board.withdraw(ADA, member.row.id), Done)

    button(page, "approved", made).click().run()

    assert "was changed since it was submitted" in said(page)
    assert state(here, made) is SetState.CHANGED
    assert {row.state for row in here.scene.board.plans(ADA)} == {State.SUBMITTED, State.WITHDRAWN}


def test_its_author_submits_what_is_left_of_it_again(here: Stage) -> None:
    made = submitted(here)
    members = sheet_of(here.scene, made).members
    saved = SavedVersion(plan=members[0].row.id, number=1, digest=members[0].newest.digest, dropped=0)
    here.scene.edited(ADA, saved, moves="job-0", drafted_at="2026-03-01T10:00:00Z")
    assert isinstance(here.scene.board.withdraw(ADA, members[1].row.id), Done)
    page = opened(here, ADA, made)
    assert "was edited, withdrawn or decided alone" in said(page)

    button(page, "again", made).click().run()

    assert not page.exception
    assert "Submitted: 2 plans" in said(page)
    again = SubmittedSet(number=made.number + 1, digest="", plans=2, refused=1)
    assert state(here, again) is SetState.SUBMITTED
    assert "1 job of it has no plan." in said(page)


def test_the_list_has_the_set_as_one_and_leads_to_each_plan_and_back(here: Stage) -> None:
    made = submitted(here)
    page = here.open(PAGE, RITA)
    assert "1 set · **1 waits for you**" in page.expander[0].label
    assert list(tables(page, "for you")["plan"]) == ["set 1"]
    key = next(str(each.key) for each in page.button if each.label.startswith("Open plan "))

    page.button(key=key).click().run()

    assert not page.exception
    plan = next(each.label for each in page.button if each.key == "open-set")
    assert plan == "One of the 3 plans of Set 1 · wave pilot"
    page.button(key="open-set").click().run()
    assert button(page, "approved", made).label == "Approve 3 plans"


def test_two_hundred_jobs_are_one_table_in_pages_and_one_click(here: Stage) -> None:
    made = submitted(here, 200)
    page = opened(here, RITA, made)
    assert len(tables(page, "topic-partition")) == 200
    assert button(page, "approved", made).label == "Approve 200 plans"

    button(page, "approved", made).click().run(timeout=60)

    assert state(here, made) is SetState.APPROVED


@pytest.fixture
def world(tmp_path: Path) -> SetStage:
    folder = tmp_path / "world"
    folder.mkdir()
    groups = [Target(kind="consumer-group", group=f"etl{number}") for number in range(2)]
    return staged_set(folder, [(COPY, groups[0]), (groups[1],), (STARTING,)])


def test_what_is_downloaded_is_what_export_packs_and_apply_takes_it(
    here: Stage, world: SetStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Submitted, approved and taken out of the console; then the dry run on the command line."""
    scene = here.scene
    names = scene.board.credits(ADA)
    made = scene.board.submit_set(ADA, _of_world(world, names))
    assert isinstance(made, SubmittedSet), made
    confirm = sheet_of(scene, made).confirm
    reasons = dict.fromkeys(sheet_of(scene, made).not_met, "as recorded")
    assert isinstance(approve(scene, RITA, made, typed=confirm, in_spite_of=reasons), DecidedSet)
    migration = tmp_path / "m.yaml"
    body = world.migration.model_dump(mode="json", include={"name", "checkpoint_roots", "write_roots"})
    body |= {
        side: {"properties": {"bootstrap.servers": f"{name}.invalid:9092"}}
        for side, name in {"source": "old", "target": "new"}.items()
    }
    key = read_private_key(Path(str(scene.access.decisions.key))).public
    trusted = {"file": f"{scene.access.decisions.key}.pub", "subject": key.subject, "issuer": key.issuer}
    body["approval"] = {"trusted_keys": [trusted | {"vouches_for": [ISSUER]}]}
    migration.write_text(yaml.safe_dump(body), encoding="utf-8")
    page = opened(here, RITA, made)
    assert any("Download plan-set-" in str(getattr(each, "label", "")) for each in page.get("download_button"))
    kit = scene.board.set_kit(RITA, made.number, destination_of(load_migration(migration), recorded=False))
    with zipfile.ZipFile(BytesIO(kit.content)) as packed:
        packed.extractall(tmp_path / "taken")
    taken = tmp_path / "taken"
    given = ("--approval", taken / "plan-set.approval-1.json", "--migration", migration)

    ran = call("export", taken, "--as", "zip", *given, "--out", tmp_path / "cli.zip")
    assert ran.code == 0, ran.err
    assert (tmp_path / "cli.zip").read_bytes() == kit.content

    world.use(monkeypatch)
    monkeypatch.setattr(live, "LiveReaders", lambda migration: world.world)  # noqa: ARG005 - its own name
    dry = call("apply", taken / "plan-set.json", "-m", migration, "--output", world.output)
    assert dry.code == 0, dry.err
    assert dry.out.count("checkpoint job") >= 3 or dry.err.count("checkpoint job") >= 3


def _of_world(world: SetStage, names: Credits) -> DraftedSet:
    contents = []
    for number, one in enumerate(world.stages):
        plan = replace(one.plan, author=names.author, editors=(), identities=names.identities)
        contents.append((f"checkpoint job{number}", files.dump(plan).encode()))
    return set_of(contents)
