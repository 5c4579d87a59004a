"""A reviewer accepts positions as unproven: which, why, and nothing that the reviewer's key did not sign."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from offsetwise import files
from offsetwise.approval import ApprovalFile, ApprovalPolicy, PrivateKey, Verdict, approved, keygen, sign, vouch
from offsetwise.approval.envelope import stated_in
from offsetwise.approval.signing import LIFETIME
from offsetwise.approval.unproven import accepted, named
from offsetwise.errors import NotApprovedError, OffsetwiseError, PlanError, UsageError
from offsetwise.model import AcceptedUnproven, LogRange, Override, Plan, PlannedPosition, RestartPoint, TopicPartition
from offsetwise.model.digest import digest
from offsetwise.plan.draft import totals_of
from tests.approval.signed import ALICE, EVE, MALLORY, NOW, RITA, edited, judged, sealed
from tests.plans import plan_of, planned
from tests.with_cases import with_cases

REASON = "retention took them; the record counts of both logs agree"


def position(topic: str, partition: int, **changes: Any) -> PlannedPosition:
    return replace(planned(topic, partition, RestartPoint(batch=6, old=1050, new=950)), **changes)


OWN = Override(offset=950, reason="agreed", by="alice")
POSITIONS = (
    position("orders", 0),
    position("orders", 1),
    position("clicks", 0, new_topic="old.clicks"),
    position("decided", 0, override=OWN),
    replace(
        planned("no-record", 0, RestartPoint(batch=6, old=0, new=0)),
        proof=None,
        old=LogRange(log_start=0, lso=0, hw=0),
    ),
)
PLAN = plan_of(*POSITIONS, author="alice", editors=("Eve Editor <eve@example.org>",), totals=totals_of(POSITIONS))
MAY = {TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 0)}


def signed(
    *places: tuple[str, int],
    reason: str = REASON,
    key: PrivateKey = RITA,
    plan: Plan = PLAN,
    verdict: Verdict = Verdict.APPROVED,
) -> ApprovalFile:
    wanted = accepted({TopicPartition(*each): reason for each in places})
    content = sign(
        files.dump(plan).encode(),
        key,
        subject=key.public.subject,
        issuer=key.public.issuer,
        now=NOW,
        verdict=verdict,
        accepted_unproven=wanted,
    )
    return ApprovalFile(name="plan.approval.json", content=content)


def payload(file: ApprovalFile) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(base64.b64decode(json.loads(file.content)["payload"]))
    return body


def test_what_is_accepted_is_signed_with_its_reason_and_read_again() -> None:
    file = signed(("orders", 1), ("clicks", 0))

    body = payload(file)
    assert body["accepted_unproven"] == [
        {"topic": "clicks", "partition": 0, "reason": REASON},
        {"topic": "orders", "partition": 1, "reason": REASON},
    ]
    (approver,) = judged(file, plan=PLAN)
    assert {each.topic_partition for each in approver.accepted_unproven} == {("orders", 1), ("clicks", 0)}
    assert {each.reason for each in approver.accepted_unproven} == {REASON}
    assert stated_in(file).accepted_unproven == approver.accepted_unproven


def test_an_approval_that_accepts_nothing_has_no_key_that_an_earlier_release_refuses() -> None:
    assert "accepted_unproven" not in payload(signed())


@with_cases("seed", range(40))
def test_exactly_the_positions_that_records_prove_can_be_accepted(seed: int) -> None:
    """Any choice of partitions, of the plan and not: signed where each may be, else refused by name."""
    chosen = random.Random(seed)
    topics = ("orders", "clicks", "old.clicks", "decided", "no-record", "other")
    places = {TopicPartition(chosen.choice(topics), chosen.randrange(3)) for _ in range(chosen.randrange(1, 4))}

    if places <= MAY:
        (approver,) = judged(signed(*places), plan=PLAN)
        assert {each.topic_partition for each in approver.accepted_unproven} == places
        return
    with pytest.raises(PlanError, match=r"accepted as unproven, and .*Nothing was signed") as refused:
        signed(*places)
    assert any(str(each) in refused.value.problem for each in places - MAY)


@with_cases(
    "reason",
    ["", " ", "\t", "two\nlines", "hid\u200bden", "\u202ereversed", "x" * 501],
    ids=lambda each: repr(each)[:20],
)
def test_a_reason_is_one_line_that_can_be_seen(reason: str) -> None:
    with pytest.raises(PlanError, match="expected a reason"):
        signed(("orders", 0), reason=reason)
    with pytest.raises(NotApprovedError, match="reason"):
        judged(resigned(lambda body: body["accepted_unproven"][0].update(reason=reason)), plan=PLAN)


@with_cases("key", [ALICE, EVE], ids=["author", "editor"])
def test_neither_author_nor_editor_accepts_anything(key: PrivateKey) -> None:
    with pytest.raises(NotApprovedError, match="other than its author and editors"):
        signed(("orders", 0), key=key)


def test_a_rejection_accepts_nothing() -> None:
    with pytest.raises(PlanError, match="A rejection accepts nothing"):
        signed(("orders", 0), verdict=Verdict.REJECTED)


def test_what_was_accepted_of_another_plan_counts_for_nothing() -> None:
    other = replace(PLAN, drafted_at="2026-03-02T00:00:00Z")

    with pytest.raises(NotApprovedError, match="it is of plan"):
        judged(signed(("orders", 0), plan=other), plan=PLAN)


def resigned(change: Callable[[dict[str, Any]], object], key: PrivateKey = RITA) -> ApprovalFile:
    """Sign a changed statement rightly, as the reviewer could with a tool of their own."""
    body = payload(signed(("orders", 0)))
    change(body)
    return sealed(json.dumps(body).encode(), key)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another partition": lambda body: body["accepted_unproven"][0].update(partition=7),
    "another topic": lambda body: body["accepted_unproven"][0].update(topic="other"),
    "one that a person decided": lambda body: body["accepted_unproven"][0].update(topic="decided"),
    "one twice": lambda body: body["accepted_unproven"].append(body["accepted_unproven"][0]),
    "none": lambda body: body.update(accepted_unproven=[]),
    "a later version": lambda body: body.update(format_version="1.2"),
    "a number as text": lambda body: body["accepted_unproven"][0].update(partition="0"),
    "a number below nothing": lambda body: body["accepted_unproven"][0].update(partition=-1),
    "a key more": lambda body: body["accepted_unproven"][0].update(until="always"),
    "no reason": lambda body: body["accepted_unproven"][0].pop("reason"),
}


@with_cases("change", CHANGES)
def test_what_no_command_signs_counts_for_nothing_even_from_a_trusted_key(change: str) -> None:
    judged(resigned(lambda _: None), plan=PLAN)

    with pytest.raises(NotApprovedError, match="counts for nothing"):
        judged(resigned(CHANGES[change]), plan=PLAN)


@with_cases("change", [*CHANGES, "added"])
def test_nothing_is_accepted_without_the_reviewers_key(change: str) -> None:
    """Whoever has the envelope, or another key, adds no position and takes none away."""

    def put_in(body: dict[str, Any]) -> None:
        body["accepted_unproven"] = [{"topic": "orders", "partition": 1, "reason": REASON}]

    changed = CHANGES.get(change, put_in)
    file = signed() if change == "added" else signed(("orders", 0))
    body = payload(file)
    changed(body)
    written = base64.b64encode(json.dumps(body, sort_keys=True).encode()).decode()
    others = sealed(json.dumps(body).encode(), MALLORY)

    for forged in (edited(file, lambda envelope: envelope.update(payload=written)), others):
        with pytest.raises(NotApprovedError, match="counts for nothing"):
            judged(forged, plan=PLAN)


@with_cases("seed", range(60))
def test_a_byte_of_the_payload_changed_counts_for_nothing(seed: int) -> None:
    file = signed(("orders", 0), ("clicks", 0))
    content = bytearray(base64.b64decode(json.loads(file.content)["payload"]))
    at = random.Random(seed).randrange(len(content))
    content[at] ^= 1 << seed % 8

    with pytest.raises(NotApprovedError):
        judged(edited(file, lambda body: body.update(payload=base64.b64encode(content).decode())), plan=PLAN)


def test_an_approval_that_would_be_too_large_to_be_read_again_is_not_signed() -> None:
    many = plan_of(*(position("orders", number) for number in range(400)), author="alice")

    with pytest.raises(UsageError, match="400 positions accepted as unproven"):
        signed(*(("orders", number) for number in range(400)), reason="x" * 500, plan=many)
    judged(signed(*(("orders", number) for number in range(400)), reason="x", plan=many), plan=many)


@with_cases(
    ("places", "reasons", "why"),
    [
        (["orders:0"], [], "expected a --reason for each of 1"),
        (["orders:0", "orders:1"], ["a", "b", "c"], "found 3"),
        ([], ["a"], "expected a --reason for each of 0"),
        (["orders:0", "orders:0"], ["a"], "found orders:0 twice"),
        *(
            (([text], ["a"], "expected topic:partition"))
            for text in ("orders", "orders-0", "orders:", ":0", "o:-1", "o:0=5")
        ),
    ],
)
def test_a_command_line_that_names_no_position_or_no_reason_is_refused(
    places: list[str], reasons: list[str], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        named(places, reasons)


def test_positions_have_one_reason_for_all_or_one_each() -> None:
    assert named(["b:1", "a:0"], ["x"]) == {("b", 1): "x", ("a", 0): "x"}
    assert named(["b:1", "a:0"], ["x", "y"]) == {("b", 1): "x", ("a", 0): "y"}
    assert named([], []) == {}


def test_a_console_signs_what_a_person_accepted_there() -> None:
    console = keygen(subject="the console", console=True)
    one = AcceptedUnproven(topic="orders", partition=0, reason=REASON)
    data = files.dump(PLAN).encode()
    made, said = vouch(
        digest(data),
        console,
        issuer="https://login.example.org",
        subject="rita",
        now=NOW,
        expires_in=LIFETIME,
        verdict=Verdict.APPROVED,
        accepted_unproven=(one,),
    )

    assert said.accepted_unproven == (one,)
    policy = ApprovalPolicy(trusted=(console.public,), vouching=((console.public.id, ("https://login.example.org",)),))
    (counted,) = approved(data, PLAN, (ApprovalFile(name="a", content=made),), policy, NOW)
    assert counted.approver.accepted_unproven == (one,)


def test_every_refusal_says_what_to_do() -> None:
    with pytest.raises(OffsetwiseError) as refused:
        signed(("other", 0))
    assert "dry run of `apply`" in refused.value.fix
