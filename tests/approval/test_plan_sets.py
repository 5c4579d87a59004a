"""One approval of a set of plans: whom it lets sign, and for which plans it counts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings, strategies

from offsetwise import files
from offsetwise.approval import ApprovalFile, PrivateKey, Verdict, keygen
from offsetwise.approval.envelope import stated_in
from offsetwise.approval.signing_sets import sign_set
from offsetwise.approval.strict import MAX_BYTES
from offsetwise.cli import documents
from offsetwise.errors import FileError, NotApprovedError, OffsetwiseError, PlanError, UsageError
from offsetwise.model import Plan, PlanOfSet, PlanSet, RestartPoint
from offsetwise.model.digest import digest
from offsetwise.plan.sets.file import MOST_PLANS
from tests.approval.signed import ALICE, EVE, NOW, PLAN, RALPH, RITA, judged, said, sealed, trusting
from tests.plans import planned
from tests.with_cases import with_cases

OTHER = replace(PLAN, author="bob", editors=())
THIRD = replace(PLAN, author="carol", editors=())
STRANGER = replace(PLAN, author="dora", editors=())
THREE = (PLAN, OTHER, THIRD)


def content_of(plan: Plan) -> bytes:
    return files.dump(plan).encode()


def set_of(plans: Sequence[Plan]) -> bytes:
    """Write the set of some plans."""
    entries = tuple(
        PlanOfSet(job=f"group g{number}", file=f"group-g{number}.plan.json", digest=digest(content_of(plan)))
        for number, plan in enumerate(plans)
    )
    return files.dump(PlanSet(migration="orders-to-new", wave=None, plans=entries, refused=())).encode()


def signed(key: PrivateKey = RITA, *, plans: Sequence[Plan] = THREE, **how: Any) -> ApprovalFile:
    content = sign_set(set_of(plans), [content_of(plan) for plan in plans], key, **({"now": NOW} | how))
    return ApprovalFile(name="set.approval.json", content=content)


def payload_of(file: ApprovalFile) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(base64.b64decode(json.loads(file.content)["payload"]))
    return body


def forged_set(change: Callable[[dict[str, Any]], object]) -> ApprovalFile:
    """Sign a changed statement about a set rightly."""
    body = payload_of(signed())
    change(body)
    return sealed(json.dumps(body).encode(), RITA)


class TestAnApproval:
    def test_counts_for_each_plan_of_the_set(self) -> None:
        for plan in THREE:
            assert [approver.subject for approver in judged(signed(), plan=plan)] == ["rita@example.org"]

    def test_counts_for_no_other_plan(self) -> None:
        with pytest.raises(NotApprovedError, match=r"it is of the 3 plans of set .* expected plan .* among them"):
            judged(signed(), plan=STRANGER)

    @with_cases("plan", [replace(PLAN, author="x"), replace(PLAN, keeps=("everything",))], ids=["author", "words"])
    def test_counts_for_no_plan_that_was_edited(self, plan: Plan) -> None:
        with pytest.raises(NotApprovedError, match="expected plan"):
            judged(signed(), plan=plan)

    def test_names_the_set_and_the_plans_in_order_in_a_version_that_older_releases_refuse(self) -> None:
        body = payload_of(signed())

        assert body["format_version"] == "1.1"
        assert body["plan_set"] == {
            "digest": digest(set_of(THREE)),
            "plans": [digest(content_of(plan)) for plan in THREE],
        }
        assert "plan_digest" not in body
        jsonschema.validate(body, documents.schema("approval"))
        assert payload_of(said())["format_version"] == "1.0"

    def test_of_one_person_counts_behind_what_they_signed_of_the_plan_alone(self) -> None:
        alone = said(at=NOW - timedelta(minutes=1))

        (approver,) = judged(signed(), alone)
        assert approver.approved_at == "2026-03-01T11:59:00Z"
        assert len(judged(signed(), said(RALPH))) == 2

    def test_counts_once_though_it_is_given_twice(self) -> None:
        assert len(judged(signed(), signed(), said(RALPH))) == 2
        with pytest.raises(NotApprovedError, match="whose approval is counted already"):
            judged(signed(), signed(), policy=trusting(RITA, RALPH, required=2))

    def test_of_500_plans_is_read(self) -> None:
        plans = [replace(PLAN, author=f"author {number}") for number in range(MOST_PLANS)]
        file = signed(plans=plans)

        assert len(file.content) < MAX_BYTES
        assert judged(file, plan=plans[-1])
        with pytest.raises(PlanError, match="at most 500 plans, found 501"):
            signed(plans=[*plans, STRANGER])

    @with_cases(
        "change",
        [
            lambda body: body.update(plan_digest=body["plan_set"]["digest"]),
            lambda body: body.update(plan_digest=None),
            lambda body: body.update(format_version="1.0"),
            lambda body: body.update(format_version="1.2"),
            lambda body: body.update(plan_set=None),
            lambda body: body["plan_set"].update(plans=[]),
            lambda body: body["plan_set"].update(plans=body["plan_set"]["plans"][:1] * 2),
            lambda body: body["plan_set"].update(plans=[body["plan_set"]["plans"][0].upper()]),
            lambda body: body["plan_set"].update(wave="pilot"),
            lambda body: body["plan_set"].pop("digest"),
            lambda body: body.update(accepted_unproven=[{"topic": "orders", "partition": 0, "reason": "because"}]),
        ],
        ids=[
            *("both", "null beside", "older", "newer", "null", "no plan", "a plan twice", "capitals", "another key"),
            *("no digest", "unproven"),
        ],
    )
    def test_of_another_shape_counts_for_nothing(self, change: Callable[[dict[str, Any]], object]) -> None:
        assert judged(forged_set(lambda _: None))
        with pytest.raises(NotApprovedError, match="cannot be read"):
            judged(forged_set(change))

    def test_of_one_plan_with_a_set_beside_it_counts_for_nothing(self) -> None:
        body = payload_of(said()) | {"plan_set": payload_of(signed())["plan_set"]}

        with pytest.raises(NotApprovedError, match="cannot be read"):
            judged(sealed(json.dumps(body).encode(), RITA))


class TestARejection:
    def test_holds_for_each_plan_of_the_set_whatever_others_say(self) -> None:
        no = signed(verdict=Verdict.REJECTED)

        for plan in THREE:
            with pytest.raises(NotApprovedError, match=r"rita@example.org .* rejected it"):
                judged(said(RALPH, plan=content_of(plan)), no, plan=plan)

    def test_is_none_of_another_plan(self) -> None:
        no, yes = signed(verdict=Verdict.REJECTED), said(RALPH, plan=content_of(STRANGER))

        assert judged(yes, no, plan=STRANGER)

    def test_needs_no_proofs(self) -> None:
        unproven = replace(PLAN, positions=(replace(PLAN.positions[0], proof=None),))

        assert stated_in(signed(plans=[OTHER, unproven], verdict=Verdict.REJECTED)).plans


class TestSigning:
    @with_cases("verdict", list(Verdict))
    @with_cases("key", [ALICE, EVE, keygen(subject="Bob"), keygen(subject="carol")], ids=["a", "editor", "b", "c"])
    def test_is_refused_to_whoever_had_a_hand_in_one_of_the_plans(self, key: PrivateKey, verdict: Verdict) -> None:
        with pytest.raises(NotApprovedError, match=r"^group g[012]: Plan .* expected a signer other than") as caught:
            signed(key, verdict=verdict)
        assert "Nothing was signed" in caught.value.problem

    def test_is_refused_where_one_plan_could_not_be_signed_alone(self) -> None:
        unproven = replace(PLAN, positions=(replace(PLAN.positions[0], proof=None),))

        with pytest.raises(PlanError, match=r"^group g1: "):
            signed(plans=[OTHER, unproven])
        with pytest.raises(NotApprovedError, match=r"^group g2: .* found an empty one"):
            signed(plans=[PLAN, OTHER, replace(PLAN, author=" ")])

    def test_is_refused_where_a_plan_is_not_the_one_that_the_set_names(self) -> None:
        with pytest.raises(FileError, match="expected the plan of group g1"):
            sign_set(set_of(THREE), [content_of(plan) for plan in (PLAN, STRANGER, THIRD)], RITA, now=NOW)
        with pytest.raises(ValueError, match="zip"):
            sign_set(set_of(THREE), [content_of(PLAN)], RITA, now=NOW)

    def test_is_refused_to_a_console_and_for_a_lifetime_that_cannot_be(self) -> None:
        with pytest.raises(NotApprovedError, match="expected the key of a person"):
            signed(keygen(subject="desk", console=True))
        with pytest.raises(UsageError, match="expected a lifetime"):
            signed(expires_in=timedelta(0))


NAMES = strategies.lists(strategies.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=6, unique=True)


@settings(max_examples=25)
@given(NAMES, strategies.integers(0, 5), strategies.sampled_from(["exact", "one byte more", "left out"]))
def test_whatever_the_set_its_approval_counts_for_exactly_its_plans(names: list[str], at: int, change: str) -> None:
    plans = [
        replace(PLAN, author=f"author {name}", positions=(planned("orders", 0, RestartPoint(batch=6, old=at, new=at)),))
        for name in names
    ]
    chosen = plans[at % len(plans)]
    within = [plan for plan in plans if change != "left out" or plan is not chosen] or [STRANGER]
    content = content_of(chosen) + (b"\n" if change == "one byte more" else b"")
    file = signed(plans=within)

    if change == "exact":
        assert judged(file, plan=chosen, content=content)
    else:
        with pytest.raises(OffsetwiseError):
            judged(file, plan=chosen, content=content)
