"""The access file as a review reads it, and the person that an identity provider's claims make."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from offsetwise.approval import keygen, write_keys
from offsetwise.console.server import access
from offsetwise.errors import ConfigError
from offsetwise.review.access import Role, load_access
from offsetwise.review.answers import Approved, NotAllowed
from offsetwise.review.people import person_of
from offsetwise.store.audit import AuditFilter
from tests.approval.signed import FILE as FILE_OF_PLAN
from tests.review.people import ADA, ISSUER, RITA, Scene, person
from tests.with_cases import with_cases

FILE = """
sign_in: required
groups_claim: teams
roles:
  viewer: [{issuer: "https://login.example.org", anyone: true}]
  author: [{issuer: "https://login.example.org", group: kafka}]
  reviewer: [{issuer: "https://login.example.org", subject: rita}]
service_accounts: [{issuer: "https://login.example.org", group: robots}]
decisions:
  key: keys/console.key
  required: 2
  recent_sign_in_minutes: 30
  trusted_keys: [{file: keys/rose.pub, issuer: "https://login.example.org", subject: rose}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "access.yaml"
    made.write_text(FILE, encoding="utf-8")
    return made


def test_paths_are_relative_to_the_file(path: Path) -> None:
    rules = load_access(path)
    assert rules.decisions.key == str(path.parent / "keys" / "console.key")
    assert rules.decisions.trusted_keys[0].file == str(path.parent / "keys" / "rose.pub")
    assert rules.separation_of_duties


@with_cases(
    ("text", "told"),
    [
        (FILE.replace("required: 2", "required: 0"), "required"),
        (FILE.replace("recent_sign_in_minutes: 30", "recent_sign_in_minutes: 100000"), "recent_sign_in_minutes"),
        (FILE + "separation_of_duties: 'no'\n", "separation_of_duties"),
        (FILE + "separation_of_dutys: false\n", "separation_of_duties"),
    ],
)
def test_what_cannot_be_meant_is_refused(path: Path, text: str, told: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        load_access(path)


def test_roles_and_groups_are_those_of_the_persons_issuer(path: Path) -> None:
    rules = load_access(path)
    assert rules.roles_of(RITA) == {Role.VIEWER, Role.REVIEWER}
    assert rules.roles_of(person("ada", groups=("kafka", "robots"))) == {Role.VIEWER, Role.AUTHOR}
    assert rules.roles_of(person("ada", issuer="https://evil.example.com", groups=("kafka",))) == frozenset()
    assert rules.roles_of(None) == frozenset()
    assert rules.is_service(person("ada", groups=("robots",)))
    assert not rules.is_service(RITA)


def test_the_file_is_read_again_for_every_decision(path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_current", [])
    folder = path.parent / "keys"
    folder.mkdir()
    write_keys(folder / "console.key", keygen(subject="console", console=True))
    (folder / "rose.pub").write_text("not asked for here", encoding="utf-8")
    path.write_text(FILE.replace("required: 2", "required: 1"), encoding="utf-8")
    access.use(load_access(path), path)
    saved = scene.submitted()
    scene.board._rules = access.latest
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("subject: rita", "subject: nobody"), encoding="utf-8")
    assert isinstance(scene.approve(RITA, saved), NotAllowed)

    path.write_text(text, encoding="utf-8")
    assert isinstance(scene.approve(RITA, saved), Approved)


def test_an_access_file_that_cannot_be_read_any_more_refuses_in_words_and_the_log_says_so(
    path: Path, scene: Scene
) -> None:
    saved = scene.submitted()
    scene.board._rules = lambda: load_access(path)
    path.write_text("roles: [", encoding="utf-8")

    answers = (
        scene.approve(RITA, saved),
        scene.board.withdraw(ADA, saved.plan),
        scene.board.save_draft(ADA, FILE_OF_PLAN),
    )

    for answer in answers:
        assert isinstance(answer, NotAllowed), answer
        assert str(path) in answer.why
    with scene.reviews.reading("Reading") as look:
        rows = look.audit(AuditFilter(result="refused"), most=10)
        assert look.check_chain().intact
    assert [row.record.action for row in rows] == ["save", "withdraw", "approve"]
    assert {row.record.details["separation_of_duties"] for row in rows} == {None}, "the switch is not known"
    assert rows[-1].record.details["before"] == rows[-1].record.details["after"] == "submitted"
    with pytest.raises(ConfigError):
        scene.board.sheet(RITA, saved.plan)


def test_a_person_is_made_of_claims_and_of_nothing_else() -> None:
    claims = {
        "iss": ISSUER,
        "sub": "42",
        "name": "Rita",
        "email": "rita@example.org",
        "groups": ["a", 7, "b"],
        "auth_time": 1_772_366_400,
        "iat": 1_772_366_460,
        "exp": 1_772_370_000,
    }
    made = person_of(claims, groups_claim="groups")
    assert made is not None
    assert (made.issuer, made.subject, made.name, made.groups) == (ISSUER, "42", "Rita", ("a", "b"))
    assert made.signed_in_at == datetime.fromtimestamp(1_772_366_400, UTC)
    without = person_of({**claims, "auth_time": None}, groups_claim="groups")
    assert without is not None
    assert without.signed_in_at == datetime.fromtimestamp(1_772_366_460, UTC)


@with_cases(
    "claims",
    [{}, {"iss": ISSUER}, {"sub": "42"}, {"iss": "", "sub": "42"}, {"iss": ISSUER, "sub": 42}, {"iss": [], "sub": "x"}],
)
def test_claims_that_name_nobody_are_nobody(claims: dict[str, object]) -> None:
    assert person_of(claims, groups_claim="groups") is None


@with_cases("at", ["yesterday", True, float("nan"), float("inf"), 10**30, None])
def test_a_time_that_is_none_is_not_known_and_nobody_decides_with_it(scene: Scene, at: object) -> None:
    made = person_of({"iss": ISSUER, "sub": "rita", "auth_time": at}, groups_claim="groups")
    assert made is not None
    assert made.signed_in_at is None
    saved = scene.submitted()
    assert isinstance(scene.approve(made, saved), NotAllowed)


@with_cases(
    "claims", [{"idtyp": "app"}, {"preferred_username": "service-account-billing"}], ids=["Entra ID", "Keycloak"]
)
def test_a_program_is_known_by_its_claims(claims: dict[str, object]) -> None:
    made = person_of({"iss": ISSUER, "sub": "x", **claims}, groups_claim="groups")
    assert made is not None
    assert made.service_account


def test_the_consoles_private_key_is_in_no_table_and_no_answer(scene: Scene, tmp_path: Path) -> None:
    secret = json.loads((tmp_path / "console.key").read_text(encoding="utf-8"))["private"].split("\n")[1]
    saved = scene.submitted()
    answer = scene.approve(RITA, saved)
    assert isinstance(answer, Approved)
    os.chmod(tmp_path / "console.key", stat.S_IRUSR | stat.S_IROTH)
    other = scene.submitted(moves="payments")
    refused = scene.approve(RITA, other)
    assert isinstance(refused, NotAllowed)
    shown = repr((answer, refused, scene.board.audit(ADA), scene.board.sheet(ADA, saved.plan)))
    assert secret not in shown
    for each in tmp_path.glob("store.sqlite*"):
        assert secret.encode() not in each.read_bytes()
