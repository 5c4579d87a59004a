"""Exactly this plan, approved by enough trusted people who neither wrote nor edited it: or a refusal in words."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import offsetwise
from offsetwise import files
from offsetwise.approval import ApprovalFile, ApprovalPolicy, PrivateKey, Verdict, approved, demo, keygen
from offsetwise.errors import NotApprovedError
from offsetwise.model import Approver, Plan
from offsetwise.model.digest import digest
from tests.approval.signed import (
    ALICE,
    EVE,
    FILE,
    MALLORY,
    NOW,
    PLAN,
    RALPH,
    RITA,
    edited,
    forged,
    judged,
    said,
    sealed,
    trusting,
)
from tests.with_cases import with_cases

OLD_ID, NEW_ID = (
    json.loads((Path(offsetwise.__file__).parent / "sample" / name).read_text(encoding="utf-8"))["cluster_id"]
    for name in ("old.json", "new.json")
)
OTHER_CLUSTER = replace(
    PLAN, requirements=replace(PLAN.requirements, new=replace(PLAN.requirements.new, cluster_id="other-id"))
)
OF_SAMPLE = replace(
    PLAN,
    requirements=replace(
        PLAN.requirements,
        old=replace(PLAN.requirements.old, cluster_id=OLD_ID),
        new=replace(PLAN.requirements.new, cluster_id=NEW_ID),
    ),
)


def refused(*told: str, call: Callable[[], object]) -> NotApprovedError:
    """Hold a refusal against what each promises: what was found, that nothing was written, and the next step."""
    with pytest.raises(NotApprovedError) as caught:
        call()
    error = caught.value
    for text in told:
        assert text in error.problem, error.problem
    assert error.problem.startswith(("Plan ", "Approval policy"))
    assert "expected" in error.problem or "listed" in error.problem or "rejected" in error.problem
    assert error.problem.endswith("Nothing was written.")
    assert error.fix.endswith(".")
    return error


class TestApproved:
    def test_by_a_trusted_person_the_approver_is_whom_the_configuration_names(self) -> None:
        assert judged(said()) == (
            Approver(
                key=RITA.public.id,
                issuer="https://login.example.org",
                subject="rita@example.org",
                approved_at="2026-03-01T12:00:00Z",
                expires_at="2026-03-02T12:00:00Z",
            ),
        )

    def test_by_two_of_three_in_any_order(self) -> None:
        policy = trusting(RITA, RALPH, MALLORY, required=2)
        for pair in itertools.permutations([said(RITA), said(RALPH)]):
            assert {each.subject for each in judged(*pair, policy=policy)} == {"rita@example.org", "ralph"}

    def test_although_another_approval_counts_for_nothing(self) -> None:
        broken = ApprovalFile(name="broken", content=b"{")

        assert [each.subject for each in judged(broken, said(MALLORY), said())] == ["rita@example.org"]

    def test_by_an_approver_whose_clock_is_a_little_ahead(self) -> None:
        assert judged(said(at=NOW + timedelta(seconds=120)))

    def test_in_the_last_second_and_at_the_longest_lifetime(self) -> None:
        policy = trusting(RITA, max_lifetime_s=3600)
        approval = said(expires_in=timedelta(hours=1))

        assert judged(approval, policy=policy, now=NOW + timedelta(seconds=3599))

    def test_with_the_demo_key_for_the_sample(self) -> None:
        key = demo.demo_key()
        written = files.dump(OF_SAMPLE).encode()

        assert judged(said(key, plan=written), policy=trusting(key), plan=OF_SAMPLE)


SHORT = timedelta(hours=1)
REFUSED: dict[str, tuple[ApprovalFile, str]] = {
    "another plan": (said(plan=files.dump(replace(PLAN, rewind_to=3)).encode()), "the approval of another plan"),
    "another cluster": (said(plan=files.dump(OTHER_CLUSTER).encode()), "the approval of another plan"),
    "unknown key": (said(MALLORY), "expected one of the keys that the applier trusts"),
    "trusted name, other key": (said(keygen(subject="ralph")), "expected one of the keys that the applier trusts"),
    "other subject": (said(RITA, subject="ralph"), "Nobody signs for somebody else"),
    "other issuer": (said(RITA, issuer="https://elsewhere.example.org"), "Nobody signs for somebody else"),
    "other case of the subject": (said(RITA, subject="Rita@example.org"), "Nobody signs for somebody else"),
    "expired": (said(at=NOW - timedelta(days=2)), "it expired at 2026-02-28T12:00:00Z, and it is 2026-03-01T12:00:00Z"),
    "expires now": (said(at=NOW - SHORT, expires_in=SHORT), "it expired at 2026-03-01T12:00:00Z"),
    "not yet valid": (said(at=NOW + timedelta(seconds=121)), "clocks may differ by 0:02:00"),
    "good for too long": (said(expires_in=timedelta(days=31)), "expected at most 30 days"),
    "ends before it begins": (
        forged(RITA, lambda body: body.update(expires_at="2026-03-01T11:00:00Z")),
        "not after it begins",
    ),
    "ends when it begins": (
        forged(RITA, lambda body: body.update(expires_at=body["approved_at"]), at=NOW + timedelta(seconds=60)),
        "not after it begins",
    ),
    "cut off": (replace(said(), content=said().content[:-20]), "cannot be read"),
    "empty": (replace(said(), content=b""), "cannot be read"),
    "not UTF-8": (replace(said(), content=b'{"payload": "\xff"}'), "other bytes than UTF-8"),
    "UTF-16": (replace(said(), content=said().content.decode().encode("utf-16")), "other bytes than UTF-8"),
    "a list": (replace(said(), content=b"[]"), "its top level is a list"),
    "too large": (replace(said(), content=said().content + b" " * 65_536), "more than 65536 bytes"),
    "too deep": (replace(said(), content=b'{"a":' * 40 + b"1" + b"}" * 40), "levels deep"),
    "far too deep": (replace(said(), content=b'{"a":' * 9000), "cannot be read"),
    "duplicate key": (
        replace(said(), content=said().content.replace(b"{", b'{"payload": "",', 1)),
        "the key 'payload' appears twice",
    ),
    "float": (replace(said(), content=b'{"payload": 1.5}'), "the number 1.5"),
    "NaN": (replace(said(), content=b'{"payload": NaN}'), "the number NaN"),
    "huge integer": (replace(said(), content=b'{"payload": ' + b"9" * 5000 + b"}"), "does not fit 64 bits"),
    "key that is not known": (edited(said(), lambda body: body.update(more=1)), "more is wrong"),
    "no payload": (edited(said(), lambda body: body.pop("payload")), "payload is wrong"),
    "payload of another type": (edited(said(), lambda body: body.update(payload=7)), "payload is wrong"),
    "other payload type": (
        edited(said(), lambda body: body.update(payloadType="application/vnd.in-toto+json")),
        "found 'application/vnd.in-toto+json': it was signed as something else",
    ),
    "signed as another payload type": (
        edited(sealed(b"{}", RITA, "text/plain"), lambda body: body.update(payloadType="application/json")),
        "found 'application/json'",
    ),
    "malformed base64": (edited(said(), lambda body: body.update(payload="@@@@")), "its payload is not base64"),
    "base64 with blanks": (
        edited(said(), lambda body: body.update(payload=body["payload"][:4] + "\n" + body["payload"][4:])),
        "its payload is not base64",
    ),
    "base64 for URLs": (
        edited(said(), lambda body: body["signatures"][0].update(sig="-_" * 43)),
        "its signature is not base64",
    ),
    "base64 that is not ASCII": (edited(said(), lambda body: body.update(payload="ÄÄÄÄ")), "is not base64"),
    "no signature": (edited(said(), lambda body: body.update(signatures=[])), "exactly one signature, found 0"),
    "several signatures": (
        edited(said(), lambda body: body["signatures"].append(body["signatures"][0])),
        "exactly one signature, found 2",
    ),
    "signature cut off": (
        edited(said(), lambda body: body["signatures"][0].update(sig=base64.b64encode(b"x" * 63).decode())),
        "found 63: it is cut off, or of another algorithm",
    ),
    "signature of another algorithm": (
        edited(said(), lambda body: body["signatures"][0].update(sig=base64.b64encode(b"x" * 72).decode())),
        "found 72: it is cut off, or of another algorithm",
    ),
    "algorithm named": (edited(said(), lambda body: body["signatures"][0].update(alg="none")), "alg is wrong"),
    "signature of somebody else": (
        edited(said(RALPH), lambda body: body["signatures"][0].update(keyid=RITA.public.id)),
        "expected the signature of rita@example.org",
    ),
    "payload changed after signing": (
        edited(said(), lambda body: body.update(payload=base64.b64encode(b"{}").decode())),
        "it was changed after it was signed",
    ),
    "signed, but no statement": (sealed(b"[]", RITA), "its top level is a list"),
    "statement of a newer version": (
        forged(RITA, lambda body: body.update(format_version="1.2")),
        "format_version is wrong",
    ),
    "statement of another kind": (forged(RITA, lambda body: body.update(format="offsetwise/plan")), "format is wrong"),
    "statement with a condition": (forged(RITA, lambda body: body.update(only_if="x")), "only_if is wrong"),
    "unknown verdict": (forged(RITA, lambda body: body.update(verdict="maybe")), "verdict is wrong"),
    "digest of another algorithm": (forged(RITA, lambda body: body.update(plan_digest="ab" * 20)), "plan_digest is"),
    "short nonce": (forged(RITA, lambda body: body.update(nonce="")), "nonce is wrong"),
    "time without zone": (forged(RITA, lambda body: body.update(approved_at="2026-03-01T12:00:00")), "such as"),
    "time that is none": (forged(RITA, lambda body: body.update(expires_at="2026-02-30T12:00:00Z")), "such as"),
    "year 0": (forged(RITA, lambda body: body.update(approved_at="0000-01-01T00:00:00Z")), "such as"),
    "year 1": (forged(RITA, lambda body: body.update(approved_at="0001-01-01T00:00:00Z")), "expected at most 30 days"),
    "name with an invisible character": (
        forged(RITA, lambda body: body["approver"].update(subject="rita\u200b@example.org")),
        "approver.subject is wrong",
    ),
    "name that is half a character": (
        forged(RITA, lambda body: body["approver"].update(subject="\ud800")),
        "approver.subject is wrong",
    ),
}


@with_cases("why", REFUSED)
def test_an_approval_is_refused_in_words(why: str) -> None:
    approval, told = REFUSED[why]

    refused(
        "expected the approval of 1 person whom the applier trusts, found none",
        f"Approval {approval.name}",
        told,
        call=lambda: judged(approval),
    )


class TestAPlan:
    @with_cases("at", range(0, len(FILE), 97))
    def test_with_any_byte_changed_is_another_plan(self, at: int) -> None:
        content = FILE[:at] + bytes([FILE[at] ^ 1]) + FILE[at + 1 :]

        refused("Plan ", call=lambda: judged(said(), content=content))

    def test_with_a_blank_more_is_another_plan_although_it_reads_the_same(self) -> None:
        refused("the plan was edited since", call=lambda: judged(said(), content=FILE + b" "))

    def test_other_than_what_its_file_says_is_not_written(self) -> None:
        smuggled = replace(PLAN, rewind_to=3)

        refused("found another plan", call=lambda: approved(FILE, smuggled, [said()], trusting(RITA), NOW))

    def test_of_a_newer_major_version_is_refused_naming_both(self) -> None:
        newer = FILE.replace(b'"format_version": "1.0"', b'"format_version": "2.0"')

        refused("version 1.2", "version 2.0", call=lambda: judged(said(), content=newer))

    @with_cases("change", [{"author": " "}, {"author": "\u200b"}, {"editors": ("eve", "")}], ids=str)
    def test_that_does_not_say_who_wrote_it_is_refused(self, change: dict[str, Any]) -> None:
        nobody = replace(PLAN, **change)

        refused("nobody could be barred", call=lambda: judged(said(), plan=nobody))

    def test_without_any_approval_is_refused(self) -> None:
        error = refused("found none", call=judged)

        assert "offsetwise sign" in error.fix

    def test_with_a_hundred_approvals_more_than_can_be_is_refused(self) -> None:
        refused("at most 100 approvals, found 101", call=lambda: judged(*[said()] * 101))


class TestAuthorAndEditors:
    @with_cases("key", [ALICE, EVE], ids=["author", "editor"])
    def test_are_barred_even_if_the_applier_trusts_them(self, key: PrivateKey) -> None:
        approval = forged(key, lambda _: None)

        refused(
            "expected somebody other than",
            key.public.subject,
            call=lambda: judged(approval, policy=trusting(key, RITA)),
        )

    @with_cases(
        "recorded",
        [
            "rita@example.org",
            " RITA@Example.ORG ",
            "ｒｉｔａ@example.org",
            "rita\u200b@example.org",
            "Rita Reviewer <rita@example.org>",
            "rita@example.org of https://login.example.org",
            "https://login.example.org|rita@example.org",
            "rita",
            "rita@example.org (via console)",
        ],
    )
    def test_are_barred_in_any_form_of_their_name(self, recorded: str) -> None:
        for plan in (replace(PLAN, author=recorded), replace(PLAN, editors=("bob", recorded))):
            named = _digest(plan)
            approval = forged(RITA, partial(dict.update, plan_digest=named))

            refused("is, or may be, its", call=partial(judged, approval, plan=plan))

    def test_are_barred_under_every_name_that_may_be_theirs_through_another(self) -> None:
        here, there = keygen(subject="rita"), keygen(subject="rita@b.org")
        plan = replace(PLAN, author="rita@a.org")
        approval = said(there, plan=files.dump(plan).encode())

        assert judged(approval, policy=trusting(there), plan=plan), "alone, it may be somebody else"
        refused("rita is, or may be", call=partial(judged, approval, policy=trusting(here, there), plan=plan))

    @with_cases("recorded", ["bob", "rita@other.org", "marita@example.org", "ritalin"])
    def test_are_not_taken_for_somebody_else(self, recorded: str) -> None:
        plan = replace(PLAN, author=recorded)

        assert judged(said(plan=files.dump(plan).encode()), plan=plan)

    def test_count_neither_among_the_people_who_could_approve(self) -> None:
        policy = trusting(RITA, ALICE, required=2)

        refused(
            "expected trusted keys of 2 people",
            "found keys of 1 person",
            "Alice is, or may be, its author 'alice'",
            call=lambda: judged(said(), policy=policy),
        )


class TestTwoPeople:
    POLICY = trusting(RITA, RALPH, MALLORY, required=2)

    def test_are_not_one_person_twice(self) -> None:
        refused(
            "found 1 (rita@example.org)", "counted already", call=lambda: judged(said(), said(), policy=self.POLICY)
        )

    def test_are_not_one_approval_twice(self) -> None:
        one = said()

        refused("a copy counts once", call=lambda: judged(one, one, policy=self.POLICY))

    def test_are_not_two_approvals_with_one_nonce(self) -> None:
        nonce = {"nonce": "0" * 32}
        pair = [forged(key, lambda body: body.update(nonce)) for key in (RITA, RALPH)]

        refused("found 1", "a copy counts once", call=lambda: judged(*pair, policy=self.POLICY))

    def test_are_not_one_person_with_two_keys(self) -> None:
        spare = keygen(subject="Rita@Example.org")

        refused(
            "found keys of 1 person",
            "count as one",
            call=lambda: judged(said(), said(spare), policy=trusting(RITA, spare, required=2)),
        )

    def test_are_not_one_person_with_two_keys_beside_others(self) -> None:
        spare = keygen(subject="Rita@Example.org")
        policy = trusting(RITA, spare, RALPH, required=2)

        refused("is, or may be, rita@example.org", call=lambda: judged(said(), said(spare), policy=policy))
        assert judged(said(spare), said(RALPH), policy=policy)

    def test_are_needed_both(self) -> None:
        late = said(RALPH, at=NOW - timedelta(days=2))

        refused(
            "of 2 people",
            "found 1 (rita@example.org)",
            "it expired",
            call=lambda: judged(said(), late, policy=self.POLICY),
        )


class TestARejection:
    @with_cases("first", [True, False])
    def test_by_a_trusted_person_is_heard_although_others_approve(self, first: bool) -> None:
        no = said(RALPH, verdict=Verdict.REJECTED)

        error = refused("ralph", "rejected it at", call=lambda: judged(*([no, said()] if first else [said(), no])))

        assert "Ask ralph" in error.fix

    def test_is_heard_even_of_somebody_barred_since_it_can_only_stop(self) -> None:
        no = forged(ALICE, lambda body: body.update(verdict="rejected"))

        refused("Alice", "rejected it at", call=lambda: judged(said(), no, policy=trusting(RITA, ALICE)))

    def test_by_somebody_else_or_of_another_plan_counts_for_nothing(self) -> None:
        other = said(RALPH, verdict=Verdict.REJECTED, plan=files.dump(OTHER_CLUSTER).encode())

        assert judged(said(MALLORY, verdict=Verdict.REJECTED), other, said())


class TestTrust:
    def test_in_nobody_approves_nothing(self) -> None:
        for policy in (ApprovalPolicy(), ApprovalPolicy(trusted=())):
            error = refused("expected a key that the applier trusts", call=partial(judged, said(), policy=policy))

            assert "--trust" in error.fix

    def test_is_never_taken_from_the_envelope(self) -> None:
        with_key = edited(said(MALLORY), lambda body: body["signatures"][0].update(cert=MALLORY.public.dump()))

        refused("cert is wrong", call=lambda: judged(with_key))

    def test_in_the_demo_key_holds_for_the_sample_only(self) -> None:
        key = demo.demo_key()
        approval = forged(key, lambda _: None)

        refused("demo key", "sample", call=lambda: judged(approval, policy=trusting(key)))

    def test_in_the_demo_key_needs_both_clusters_to_be_the_samples(self) -> None:
        for old, new in itertools.product((OLD_ID, None, "x", NEW_ID), (NEW_ID, None, "x", OLD_ID)):
            made = OF_SAMPLE.requirements
            plan = replace(
                OF_SAMPLE,
                requirements=replace(
                    made, old=replace(made.old, cluster_id=old), new=replace(made.new, cluster_id=new)
                ),
            )
            assert demo.is_of_sample(plan) == ((old, new) == (OLD_ID, NEW_ID))

    def test_without_a_time_zone_there_is_no_now(self) -> None:
        with pytest.raises(ValueError, match="zone"):
            judged(said(), now=datetime(2026, 3, 1))  # noqa: DTZ001 - what is refused


def test_every_refused_approval_is_told_where_too_few_are_left() -> None:
    error = refused(
        "found none",
        "unknown",
        "it expired",
        call=lambda: judged(
            replace(said(MALLORY), name="unknown"), replace(said(at=NOW - timedelta(days=3)), name="old")
        ),
    )

    assert error.problem.count("It counts for nothing.") == 2


def test_the_demo_key_and_the_sample_are_those_that_are_bundled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert demo.sample_clusters() == (OLD_ID, NEW_ID)
    assert demo.demo_key().public.id == demo.DEMO_KEY_ID

    (tmp_path / "sample").mkdir()
    for name in ("old.json", "new.json"):
        (tmp_path / "sample" / name).write_text(json.dumps({"cluster_id": None}))
    monkeypatch.setattr(demo, "package_files", lambda _: tmp_path)
    demo.sample_clusters.cache_clear()
    try:
        nameless = replace(PLAN.requirements.old, cluster_id=None), replace(PLAN.requirements.new, cluster_id=None)
        wanted = replace(PLAN.requirements, old=nameless[0], new=nameless[1])
        assert not demo.is_of_sample(replace(PLAN, requirements=wanted)), "a cluster that is not known is nobody's"
    finally:
        demo.sample_clusters.cache_clear()


def _digest(plan: Plan) -> str:
    return digest(files.dump(plan).encode())
