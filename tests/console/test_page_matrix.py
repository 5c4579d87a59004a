"""Role × page × whose plan it is, generated: the pages offer what the specification says, no more and no less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamlit.testing.v1 import AppTest

from offsetwise.console import answers, board
from offsetwise.console.server import access
from offsetwise.review.access import Grant, Role
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import SavedVersion
from offsetwise.review.people import Person
from offsetwise.store.review_rows import State
from tests.console.boards import BOTH, Stage, at_work, claims, here
from tests.console.conftest import APP, words
from tests.console.test_shell import SECRETS, bundled
from tests.review.people import ISSUER, OTHER_ISSUER, person
from tests.review.test_matrix import ROLE_SETS, SOMEBODY, WHOSE, expected, given, plan_of
from tests.with_cases import with_cases

__all__ = ["here"]

DRAFT, REVIEW, EXPORT, AUDIT = (
    "pages/plan/draft.py",
    "pages/plan/review.py",
    "pages/plan/export.py",
    "pages/operate/audit.py",
)
ON_REVIEW: Final = {
    Verb.APPROVE: "approve-{plan}",
    Verb.REJECT: "reject-{plan}",
    Verb.COMMENT: "remark-only-{plan}",
    Verb.WITHDRAW: "withdraw-{plan}",
}
ON_EXPORT: Final = {
    Verb.IMPORT_ENVELOPE: "bring-approval",
    Verb.ADD_RECEIPT: "bring-receipt",
    Verb.RECEIVE_BUNDLE: "bring-bundle",
}


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody of the matrix."""

    roles: tuple[Role, ...]
    service: bool = False

    def __str__(self) -> str:
        return ("service account " if self.service else "") + ("+".join(self.roles) or "no role")

    def may(self, verb: Verb, whose: str) -> bool:
        """Decide it again, in the words of the specification."""
        if verb is Verb.RECEIVE_BUNDLE:
            return Role.REVIEWER in self.roles
        return expected(self.roles, verb, whose) and not (self.service and verb.decides)


EVERYBODY = (*map(Who, ROLE_SETS), Who((Role.AUTHOR, Role.REVIEWER), service=True))


def let(here: Stage, folder: Path, who: Who) -> None:
    """Give somebody exactly these roles."""
    given(here.scene, folder, who.roles)
    robots = (Grant(issuer=ISSUER, subject=SOMEBODY.subject),) if who.service else ()
    here.scene.rules(service_accounts=robots)


def there(page: AppTest, key: str) -> bool:
    """Return whether a page has a button that can be pressed, or takes the file for which it will have one."""
    pressed = any(each.key == key and not each.disabled for each in page.button)
    return pressed or any(each.key == f"{key}-file" for each in page.file_uploader)


def drafting(here: Stage, somebody: Person | None) -> AppTest:
    """Open the Draft page on the sample."""
    access.use(here.scene.access)
    board.use(here.reviews)
    answers.use(bundled())
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.user, page.secrets = claims(somebody), SECRETS
    page.switch_page(DRAFT)
    page.query_params["of"] = "checkpoint payments"
    return page.run()


@with_cases("who", EVERYBODY, ids=str)
def test_the_pages_offer_what_somebody_may_and_nothing_else(here: Stage, tmp_path: Path, who: Who) -> None:
    let(here, tmp_path, who)
    submitted = {whose: plan_of(here.scene, whose) for whose in WHOSE}
    somebody = at_work(SOMEBODY)

    for whose, saved in submitted.items():
        page = here.open(REVIEW, somebody, plan=str(saved.plan))
        assert not page.exception
        found = {verb for verb, key in ON_REVIEW.items() if there(page, key.format(plan=saved.plan))}
        assert found == {verb for verb in ON_REVIEW if who.may(verb, whose)}, whose
        assert not who.roles or ("Approve and Reject are off:" in words(page)) is not who.may(Verb.APPROVE, whose)

    page = here.open(EXPORT, somebody, plan=str(saved.plan))
    assert not page.exception
    assert {verb for verb, key in ON_EXPORT.items() if there(page, key)} == {
        verb for verb in ON_EXPORT if who.may(verb, whose)
    }
    assert bool(page.download_button) is bool(who.roles), "whoever may look may take out"

    page = drafting(here, somebody)
    assert not page.exception
    assert there(page, "save") is there(page, "submit") is who.may(Verb.SAVE, whose)

    page = here.open(AUDIT, somebody)
    assert not page.exception
    assert bool(page.dataframe) is bool(who.roles)
    if not who.roles:
        assert "subject: somebody" in words(page), "what to send to the operator"


def test_nobody_signed_in_may_look_and_is_offered_nothing_else(here: Stage) -> None:
    saved = here.scene.submitted()
    pages = [here.open(page, None, plan=str(saved.plan)) for page in (REVIEW, EXPORT)] + [drafting(here, None)]
    for page in pages:
        assert not page.exception
        keys = [*(key.format(plan=saved.plan) for key in ON_REVIEW.values()), *ON_EXPORT.values(), "save", "submit"]
        assert not [key for key in keys if there(page, key)]
        assert "you have to be signed in" in words(page)


# --------------------------------------------------------------------------- one's own plan, by a page


def of_both(here: Stage) -> SavedVersion:
    """A plan of somebody who is a reviewer too."""
    return here.scene.submitted(BOTH)


def edited(here: Stage) -> SavedVersion:
    """A plan of another author, whose next version somebody saved who is a reviewer too."""
    saved = here.scene.edited(BOTH, here.scene.saved(), drafted_at="2026-03-01T10:00:00Z")
    here.scene.board.submit(BOTH, saved.plan, saved.digest)
    return saved


ROADS: dict[str, tuple[Callable[[Stage], SavedVersion], Person]] = {
    "in a session of their own": (of_both, BOTH),
    "at another issuer with the same mail address": (
        of_both,
        at_work(person("4711", issuer=OTHER_ISSUER, email="BOTH@example.org")),
    ),
    "at another issuer with the same subject": (of_both, at_work(person("both", issuer=OTHER_ISSUER, email=None))),
    "edited, then approved": (edited, BOTH),
}


@with_cases("road", ROADS)
def test_nobody_approves_their_own_plan_by_a_page(here: Stage, road: str) -> None:
    made, somebody = ROADS[road]
    saved = made(here)

    page = here.open(REVIEW, somebody, plan=str(saved.plan))
    assert "Nobody decides about a plan that they had a hand in" in words(page)
    assert page.button(key=f"approve-{saved.plan}").disabled

    here.scene.rules(separation_of_duties=False)
    page = here.open(REVIEW, somebody, plan=str(saved.plan))
    here.scene.rules(separation_of_duties=True)
    access.use(here.scene.access)
    page.button(key=f"approve-{saved.plan}").click().run()  # a page that offers it all the same

    assert "**Not done.**" in words(page)
    assert not page.exception
    sheet = here.scene.board.sheet(BOTH, saved.plan)
    assert sheet is not None
    assert sheet.row.state is State.SUBMITTED
    assert not sheet.decisions
    newest = here.scene.board.audit(BOTH)[0].record
    assert (newest.action, newest.result, newest.subject) == ("approve", "refused", somebody.subject)
