"""A person who wants to count as another one than they are: by pieces of a name, unseen characters, look-alikes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from securesystemslib.signer import CryptoSigner

from offsetwise import files
from offsetwise.approval import (
    ApprovalFile,
    PrivateKey,
    PublicKey,
    keygen,
    read_private_key,
    read_public_key,
    write_keys,
)
from offsetwise.approval.keys import OWN_ISSUER
from offsetwise.errors import ConfigError, FileError, NotApprovedError
from offsetwise.model import Identity, Plan
from offsetwise.review.access import Grant, Role, load_access
from offsetwise.review.answers import Approved, NotAllowed
from offsetwise.review.people import may_be_one, recorded, who, why_barred
from tests.approval.signed import NOW, PLAN, RALPH, RITA, forged, judged, trusting
from tests.approval.test_apply_asks import MIGRATION, apply
from tests.approval.test_vouching import CONSOLE, believing, vouched
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.plan.test_commands import RECORDED
from tests.review.conftest import scene
from tests.review.people import ADA, ISSUER, OTHER_ISSUER, Scene, person
from tests.with_cases import with_cases

__all__ = ["scene"]

SEPARATED = (
    "auth0|5f2ada",
    "google-oauth2|1082634",
    "CN=Ada Smith,OU=Data,O=Example",
    "ada smith",
    "urn:example:people#ada",
    "spiffe://example.org/ns/data/sa/ada",
    "EXAMPLE\\ada",
    "(ada)",
)
UNSEEN = ("\u034f", "\ufe0f", "\U000e01ef", "\u180b", "\u3164", "\uffa0", "\u115f", "\u1160", "\u17b4", "\u2800")
CONTROLS = ("\0", "\a", "\x1b", "\x7f", "\x9b")
ALIKE = ("аda", "adа", "ａda", "αda", "𝐚𝐝𝐚", "ａｄａ")


def by(author: str, *identities: Identity) -> Plan:
    return replace(PLAN, author=author, editors=(), identities=identities)


def key_of(subject: str) -> PrivateKey:
    """Make a key with a tool of one's own: `keygen` refuses some names."""
    signer = CryptoSigner.generate_ed25519()
    key = signer.public_key
    public = PublicKey(id=key.keyid, public=key.keyval["public"], issuer=OWN_ISSUER + key.keyid, subject=subject)
    return PrivateKey(signer, public)


def held_at_sign_and_apply(folder: Path, plan: Plan, subject: str) -> None:
    """See somebody barred at both ends of the command line, with a key that the applier trusts."""
    folder.mkdir()
    key, content = keygen(subject=subject), files.dump(plan).encode()
    (folder / "plan.json").write_bytes(content)
    (folder / "migration.yaml").write_text(yaml.safe_dump(MIGRATION), encoding="utf-8")
    write_keys(folder / "own.key", key)
    signing = ("--key", folder / "own.key", "--as", subject, "--out", folder / "said.json", "--json")

    for verdict in ((), ("--reject",)):
        ran = call("sign", folder / "plan.json", *signing, *verdict)
        assert ran.code == 4, ran.out + ran.err
        assert "other than its author and editors" in json.loads(ran.out)["problem"]
    assert not (folder / "said.json").exists()

    ran = apply(folder, forged(key, lambda _: None, plan=content, at=datetime.now(UTC)), "own.key.pub")
    assert ran.code == 4, ran.out + ran.err
    assert "its author" in json.loads(ran.out)["problem"]


def barred(plan: Plan, subject: str) -> None:
    """See an approval count for nothing: of somebody's own key, and of a console that vouches for them."""
    content = files.dump(plan).encode()
    own = key_of(subject)
    for approval, policy in (
        (forged(own, lambda _: None, plan=content), trusting(own)),
        (vouched(subject, plan=content), believing(CONSOLE)),
    ):
        with pytest.raises(NotApprovedError, match="author"):
            judged(approval, plan=plan, content=content, policy=policy)


def counted_once(one: str, other: str) -> None:
    """See two keys count as one person's."""
    first, second = keygen(subject=one), keygen(subject=other)
    approvals = [forged(key, lambda _: None, name=f"{n}.json") for n, key in enumerate((first, second))]
    with pytest.raises(NotApprovedError, match="Two names that may be one person count as one"):
        judged(*approvals, policy=trusting(first, second, required=2))
    with pytest.raises(NotApprovedError, match="whose approval is counted already"):
        judged(*approvals, policy=trusting(first, second, RALPH, required=2))


def refused_by_the_board(scene: Scene, author: str, reviewer: str) -> None:
    """See somebody who signs in by another issuer barred from a plan, in the console and from its own records."""
    scene.rules(
        roles=scene.access.roles.model_copy(
            update={
                "author": (Grant(issuer=ISSUER, anyone=True),),
                "reviewer": (Grant(issuer=OTHER_ISSUER, anyone=True),),
            }
        )
    )
    saved = scene.submitted(person(author, email=None))
    answer = scene.approve(person(reviewer, issuer=OTHER_ISSUER, email=None), saved)
    assert isinstance(answer, NotAllowed), answer
    assert "Nobody decides about a plan that they had a hand in" in answer.why


@attack(
    "A6",
    r"the author's subject has a separator (`auth0\|…`, `CN=…,OU=…`, `ada smith`, `urn:…#…`, `spiffe://…`): they sign "
    "and apply, or approve at the console",
    before=Verdict.BROKEN,
    without="the comparison of whole names in `approval/people.py`",
)
class TestASubjectWithSeparators:
    @with_cases("subject", SEPARATED)
    def test_bars_its_author_from_signing_and_applying(self, tmp_path: Path, subject: str) -> None:
        author = recorded(person(subject, email="somebody@example.org"))
        held_at_sign_and_apply(tmp_path / "of an earlier release", by(author), subject)
        barred(by(author), subject)

    @with_cases("subject", SEPARATED)
    def test_bars_its_author_by_the_parts_that_are_recorded_apart(self, subject: str) -> None:
        barred(by("nobody", Identity(issuer=ISSUER, subject=subject)), subject)

    @with_cases("subject", SEPARATED)
    def test_bars_its_author_in_the_console_even_where_duties_are_not_separated(
        self, scene: Scene, subject: str
    ) -> None:
        scene.rules(
            separation_of_duties=False,
            roles=scene.access.roles.model_copy(
                update=dict.fromkeys(("author", "reviewer"), (Grant(issuer=ISSUER, subject=subject),))
            ),
        )
        author = person(subject)
        saved = scene.submitted(author)
        answer = scene.approve(author, saved)
        assert isinstance(answer, Approved)
        with scene.reviews.reading("Reading") as look:
            (decision,) = look.decisions(saved.plan)
            content = look.content(look.version(saved.plan, 1).id)

        console = read_private_key(Path(scene.access.decisions.key or ""))
        plan = files.load(content, "plan", subject="plan")
        with pytest.raises(NotApprovedError, match="author"):
            judged(
                ApprovalFile(name="approval", content=decision.envelope),
                plan=plan,
                content=content,
                policy=believing(console),
            )

    def test_bars_nobody_else(self) -> None:
        for subject in SEPARATED:
            other = subject.replace("ada", "bob").replace("Ada", "Bob").replace("1082634", "1082635")
            assert (
                why_barred(who(person(other, email=None)), (), [recorded(person(subject, email="x@a.example"))]) is None
            )


@attack(
    "A7",
    "`ada` with U+034F, U+FE0F, U+3164, U+115F or U+2800 in it decides about `ada`'s plan, at the command line and in "
    "the console; two keys of one person count as two",
    before=Verdict.BROKEN,
    without="`without_invisible` in `approval/people.py`; `invisible` in `strict.is_name`, `Access.of`, `config` "
    "and `plan/draft.py`",
)
class TestACharacterThatNobodySees:
    @with_cases("unseen", UNSEEN + CONTROLS, ids=ascii)
    def test_in_the_authors_name_bars_them_all_the_same(self, tmp_path: Path, unseen: str) -> None:
        for name in (f"ada{unseen}", f"a{unseen}da", f"{ISSUER} ada{unseen}"):
            barred(by(name), "ada")
        if unseen in UNSEEN[:2]:
            held_at_sign_and_apply(tmp_path / "signing", by(f"a{unseen}da"), "ada")

    @with_cases("unseen", UNSEEN, ids=ascii)
    def test_makes_no_name_of_a_key(self, tmp_path: Path, unseen: str) -> None:
        name = f"ada{unseen}"
        ran = call("keygen", "--out", tmp_path / "key", "--as", name, "--json")
        assert ran.code == 1
        assert "can all be seen" in json.loads(ran.out)["problem"]
        public = write_keys(tmp_path / "made by hand", key_of(name))
        with pytest.raises(NotApprovedError, match="can all be seen"):
            read_public_key(public)
        with pytest.raises(FileError, match="can all be seen"):
            read_private_key(tmp_path / "made by hand")

    @with_cases("unseen", UNSEEN, ids=ascii)
    def test_makes_nobody_in_the_access_file_nor_by_signing_in(self, scene: Scene, tmp_path: Path, unseen: str) -> None:
        file = tmp_path / "access.yaml"
        file.write_text(
            f"roles:\n  reviewer:\n    - {{issuer: '{ISSUER}', subject: 'ada{unseen}'}}\n", encoding="utf-8"
        )
        with pytest.raises(ConfigError, match=rf"can all be seen, found U\+{ord(unseen):04X}"):
            load_access(file)

        scene.rules(roles=scene.access.roles.model_copy(update={"reviewer": (Grant(issuer=ISSUER, anyone=True),)}))
        saved = scene.submitted(ADA)
        twin = person(f"ada{unseen}", email=None)
        answer = scene.approve(twin, saved)
        assert isinstance(answer, NotAllowed)
        assert "can all be seen" in answer.why
        assert Role.REVIEWER not in scene.access.roles_of(twin)
        assert why_barred(who(twin), (), [recorded(ADA)]) is not None
        assert may_be_one(who(twin), who(replace(ADA, issuer=OTHER_ISSUER, email=None)))

    def test_makes_no_author_and_no_editor(self, tmp_path: Path) -> None:
        for names in (("--author", "ada\u034f"), ("--author", "ada", "--editor", "bo\u2800b")):
            out = tmp_path / "plan.json"
            ran = call("draft", *RECORDED, "--target", "spark-checkpoint", *names, "--out", out, "--json")
            assert ran.code == 1
            assert "can all be seen" in json.loads(ran.out)["problem"]
            assert not out.exists()

    def test_makes_two_people_of_nobody(self) -> None:
        for unseen in UNSEEN:
            first, second = key_of("rita"), key_of(f"ri{unseen}ta")
            with pytest.raises(NotApprovedError, match="Two names that may be one person count as one"):
                judged(policy=trusting(first, second, required=2))


@attack(
    "A8",
    "the author is recorded as `ISSUER ada` without a mail address, and signs as `ada@example.org`, or the other way",
    before=Verdict.BROKEN,
    without="the comparison of local parts with all parts in `approval/people.py`",
)
class TestALocalPartOfAnAddress:
    @with_cases(
        ("author", "signer"),
        [
            (f"{ISSUER} ada", "ada@example.org"),
            (f"{ISSUER} ada@example.org", "ada"),
            (f"{ISSUER} auth0|ada", "Ada@Example.org"),
            ("Ada Smith", "ada@example.org"),
        ],
    )
    def test_bars_the_author_from_signing_and_applying(self, tmp_path: Path, author: str, signer: str) -> None:
        held_at_sign_and_apply(tmp_path / "signing", by(author), signer)
        barred(by(author), signer)

    @with_cases(("author", "reviewer"), [("ada", "ada@x.example"), ("ada@x.example", "ada")])
    def test_bars_the_author_in_the_console(self, scene: Scene, author: str, reviewer: str) -> None:
        refused_by_the_board(scene, author, reviewer)

    def test_counts_nobody_twice(self) -> None:
        counted_once("rita", "rita@example.org")

    def test_two_people_of_two_houses_stay_two(self) -> None:
        content = files.dump(by("alice@a.example")).encode()
        alice = keygen(subject="alice@b.example")
        assert judged(forged(alice, lambda _: None, plan=content), plan=by("alice@a.example"), policy=trusting(alice))


@attack(
    "A9",
    "case, width, mathematical letters, soft hyphen, ZWSP, ZWJ, tags, doubled blanks in the author's name",
    before=Verdict.HELD,
    without="`folded` and `without_invisible` in `approval/people.py`",
)
class TestAnotherWayToWriteAName:
    OTHERS = (
        "ADA SMITH",
        "ａｄａ ｓｍｉｔｈ",
        "𝒶𝒹𝒶 𝓈𝓂𝒾𝓉𝒽",
        "ada\u00ad smith",
        "a\u200bda smith",
        "a\u200dda smith",
        "ada smith\U000e0041",
        "ada \t smith",
        "ada\u00a0smith",
        "ada\u3000smith",
    )

    @with_cases("other", OTHERS, ids=ascii)
    def test_bars_the_author(self, other: str) -> None:
        barred(by(other), "ada smith")

    def test_bars_the_author_from_signing_and_applying(self, tmp_path: Path) -> None:
        for number, signer in enumerate(self.OTHERS[:3]):
            held_at_sign_and_apply(tmp_path / str(number), by("ada smith"), signer)

    def test_counts_nobody_twice(self) -> None:
        for other in self.OTHERS[:3]:
            counted_once("ada smith", other)


@attack(
    "A10",
    "homoglyphs: `аda` with a Cyrillic а, a dotless ı, Greek letters, I for l, 0 for O",
    before=Verdict.WEAK,
    without="`skeleton` in `approval/people.py`",
    left="names that look alike to people and not to UTS #39",
)
class TestALookalike:
    @with_cases("other", ALIKE)
    def test_of_the_author_is_barred(self, tmp_path: Path, other: str) -> None:
        barred(by(f"{ISSUER} ada"), other)
        if other == ALIKE[0]:
            held_at_sign_and_apply(tmp_path / "signing", by("ada"), other)

    @with_cases(("one", "other"), [("adi", "adı"), ("paul", "pauI"), ("otto", "0tto"), ("BOB", "ВОВ")])
    def test_counts_nobody_twice(self, one: str, other: str) -> None:
        counted_once(one, other)

    def test_is_barred_in_the_console(self, scene: Scene) -> None:
        refused_by_the_board(scene, "ada", "аdа")

    def test_keeps_those_apart_who_only_sound_alike(self) -> None:
        names: Sequence[str] = ("ada", "ida", "adam", "bob", "rob")
        keys = [keygen(subject=name) for name in names]
        approvals = [forged(key, lambda _: None, name=key.public.subject) for key in keys]
        assert len(judged(*approvals, policy=trusting(*keys, RITA, required=len(keys)), now=NOW)) == len(keys)
