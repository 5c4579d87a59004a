"""Role × operation × whose plan it is, generated: what the board says, and what the tables' rules say without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.approval import ApprovalFile, Verdict, keygen, sign, write_keys
from offsetwise.config import TrustedKey
from offsetwise.errors import AccessError
from offsetwise.model import Receipt
from offsetwise.plan.reading import read_plan
from offsetwise.review.access import Grant, Role, Roles, SignIn
from offsetwise.review.allowing import NEEDED, Verb
from offsetwise.review.answers import REFUSALS, NotAllowed, SavedVersion
from offsetwise.review.exports import ExportKind
from offsetwise.store.audit import AuditFilter
from tests.plans import steps_of
from tests.review.people import ADA, ISSUER, NOW, Scene, person
from tests.with_cases import with_cases

ROLE_SETS = ((), (Role.VIEWER,), (Role.AUTHOR,), (Role.REVIEWER,), (Role.AUTHOR, Role.REVIEWER))
WHOSE = ("a stranger's", "their own", "one they edited")
SOMEBODY = person("somebody")
SIGNER = keygen(subject="outside reviewer")


def given(scene: Scene, folder: Path, roles: tuple[Role, ...]) -> None:
    """Give somebody exactly these roles; Ada stays an author."""
    named = {role: (Grant(issuer=ISSUER, subject="somebody"),) for role in roles}
    scene.rules(
        sign_in=SignIn.REQUIRED,
        roles=Roles(
            viewer=named.get(Role.VIEWER, ()),
            author=(Grant(issuer=ISSUER, subject="ada"), *named.get(Role.AUTHOR, ())),
            reviewer=named.get(Role.REVIEWER, ()),
        ),
    )
    path = folder / "outside.key"
    public = write_keys(path, SIGNER)
    key = TrustedKey(file=str(public), issuer=SIGNER.public.issuer, subject=SIGNER.public.subject)
    scene.deciding(trusted_keys=(key,))


@contextmanager
def everybody_an_author(scene: Scene) -> Iterator[None]:
    """Let anybody draft meanwhile, so that a plan can come to be somebody's."""
    before = scene.access
    scene.rules(roles=Roles(author=(Grant(issuer=ISSUER, anyone=True),)))
    yield
    scene.access = before


def plan_of(scene: Scene, whose: str, *, submitted: bool = True) -> SavedVersion:
    """Make a plan of somebody's."""
    with everybody_an_author(scene):
        by = SOMEBODY if whose == "their own" else ADA
        saved = scene.saved(by, moves=whose)
        if whose == "one they edited":
            saved = scene.edited(SOMEBODY, saved, moves=whose, drafted_at="2026-03-01T10:00:00Z")
        if submitted:
            scene.board.submit(by, saved.plan, saved.digest)
    return saved


def save(scene: Scene, saved: SavedVersion) -> object:
    with scene.reviews.reading("Reading") as look:
        row = look.plan(saved.plan)
    assert row is not None
    whose = row.moves.removeprefix("group ").rpartition(" on ")[0]
    with everybody_an_author(scene):
        content = scene.drafted(SOMEBODY, saved.plan, moves=whose, drafted_at="2026-03-01T11:00:00Z")
    return scene.board.save_draft(SOMEBODY, content, plan=saved.plan, base=saved.digest)


def outside(scene: Scene, saved: SavedVersion) -> object:
    with scene.reviews.reading("Reading") as look:
        content = look.content(look.version(saved.plan, saved.number).id)
    said = sign(content, SIGNER, subject=SIGNER.public.subject, issuer=SIGNER.public.issuer, now=NOW)
    return scene.board.import_envelope(SOMEBODY, saved.plan, ApprovalFile(name="outside", content=said))


def receipt(scene: Scene, saved: SavedVersion) -> object:
    with scene.reviews.reading("Reading") as look:
        content = look.content(look.version(saved.plan, saved.number).id)
    plan = read_plan(content, subject="plan")
    made = Receipt(
        plan_digest=saved.digest,
        plan=plan,
        approvers=(),
        begun_at="2026-03-01T12:00:00Z",
        ended_at="2026-03-01T12:00:00Z",
        steps=steps_of(plan),
    )
    return scene.board.add_receipt(SOMEBODY, saved.plan, files.dump(made).encode())


OPERATIONS: dict[Verb, Callable[[Scene, SavedVersion], object]] = {
    Verb.SAVE: save,
    Verb.SUBMIT: lambda scene, saved: scene.board.submit(SOMEBODY, saved.plan, saved.digest),
    Verb.WITHDRAW: lambda scene, saved: scene.board.withdraw(SOMEBODY, saved.plan),
    Verb.APPROVE: lambda scene, saved: scene.approve(SOMEBODY, saved),
    Verb.REJECT: lambda scene, saved: scene.reject(SOMEBODY, saved),
    Verb.COMMENT: lambda scene, saved: scene.board.comment(SOMEBODY, saved.plan, "Why?"),
    Verb.IMPORT_ENVELOPE: outside,
    Verb.ADD_RECEIPT: receipt,
}
CELLS = list(product(ROLE_SETS, OPERATIONS, WHOSE))


def expected(roles: tuple[Role, ...], verb: Verb, whose: str) -> bool:
    """Decide it again, in the words of the specification."""
    own = whose != "a stranger's"
    if verb in (Verb.APPROVE, Verb.REJECT):
        return Role.REVIEWER in roles and not own
    if verb in (Verb.SUBMIT, Verb.WITHDRAW):
        return Role.AUTHOR in roles and own
    if verb is Verb.SAVE:
        return Role.AUTHOR in roles
    return Role.AUTHOR in roles or Role.REVIEWER in roles


def test_every_operation_has_its_cells() -> None:
    assert set(OPERATIONS) | {Verb.RECEIVE_BUNDLE} == set(Verb) == set(NEEDED)
    assert len(CELLS) == len(ROLE_SETS) * len(OPERATIONS) * len(WHOSE)


@with_cases("verb", OPERATIONS)
@with_cases("roles", ROLE_SETS, ids=lambda roles: "+".join(roles) or "no role")
def test_who_may(scene: Scene, tmp_path: Path, roles: tuple[Role, ...], verb: Verb) -> None:
    given(scene, tmp_path, roles)
    for whose in WHOSE:
        saved = plan_of(scene, whose, submitted=verb is not Verb.SUBMIT)
        told = scene.board.why_not(SOMEBODY, verb, saved.plan)

        answer = OPERATIONS[verb](scene, saved)

        done = not isinstance(answer, REFUSALS)
        assert done == expected(roles, verb, whose), (whose, answer)
        assert (told is None) == done, "what is shown as possible is possible"
        with scene.reviews.reading("Reading") as look:
            (row,) = look.audit(AuditFilter(), most=1)
        assert (row.record.action, row.record.result) == (verb, "done" if done else "refused")
        assert (row.record.issuer, row.record.subject) == (ISSUER, "somebody")


@with_cases("roles", ROLE_SETS, ids=lambda roles: "+".join(roles) or "no role")
def test_who_may_look(scene: Scene, tmp_path: Path, roles: tuple[Role, ...]) -> None:
    given(scene, tmp_path, roles)
    saved = plan_of(scene, "a stranger's")
    board = scene.board
    looks: tuple[Callable[[], object], ...] = (
        lambda: board.plans(SOMEBODY),
        lambda: board.sheet(SOMEBODY, saved.plan),
        lambda: board.content(SOMEBODY, saved.plan, 1),
        lambda: board.observed(SOMEBODY, saved.plan, 1),
        lambda: board.difference(SOMEBODY, saved.plan, 1, 1),
        lambda: board.export(SOMEBODY, saved.plan, ExportKind.PLAN),
        lambda: board.bundle(SOMEBODY, saved.plan),
        lambda: board.waiting_for(SOMEBODY),
        lambda: board.audit(SOMEBODY),
        lambda: board.check_chain(SOMEBODY),
    )
    for look in looks:
        if roles:
            look()
        else:
            with pytest.raises(AccessError):
                look()


def test_nobody_signed_in_may_do_nothing(scene: Scene) -> None:
    saved = scene.submitted()
    for verb in Verb:
        assert isinstance(scene.board.why_not(None, verb, saved.plan), NotAllowed)
    for answer in (
        scene.board.withdraw(None, saved.plan),
        scene.board.decide(None, saved.plan, saved.digest, Verdict.REJECTED),
        scene.board.comment(None, saved.plan, "Why?"),
        scene.board.submit(None, saved.plan, saved.digest),
    ):
        assert isinstance(answer, NotAllowed)
    assert scene.board.audit(SOMEBODY)[0].record.issuer is None
