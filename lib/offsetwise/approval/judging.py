"""Decide whether exactly this plan is approved; no other module does.

Trust comes only from the policy. What a plan, an envelope or a statement says about whom to trust is only compared with
it. Each approval is evaluated by itself; an invalid one does not count, and its reason is reported if too few remain. A
rejection by a trusted person always counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from offsetwise import files
from offsetwise.approval import demo
from offsetwise.approval.eligibility import check_recorded, why_barred
from offsetwise.approval.envelope import SIGN_AGAIN, ApprovalFile, Statement, Verdict, opened, statement, text_of
from offsetwise.approval.keys import PublicKey
from offsetwise.approval.people import distinct_people
from offsetwise.approval.policy import CLOCK_SKEW_S, MAX_LIFETIME_S, ApprovalPolicy
from offsetwise.approval.unproven import why_not
from offsetwise.errors import FileError, NotApprovedError
from offsetwise.model import Approver, Plan
from offsetwise.model.digest import digest as digest_of
from offsetwise.wording import many

MAX_FILES: Final = 100
_TOLD: Final = 8
"""How many invalid approvals a message lists."""
_SOMEBODY_ELSE: Final = "Let a trusted person who neither wrote nor edited the plan sign it with `offsetwise sign`."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    digest: str
    plan: Plan
    policy: ApprovalPolicy
    keys: tuple[PublicKey, ...]
    people: Mapping[str, int]
    """The number of the person by name: of each key's holder, and of everybody whom a console vouched for."""
    excluded: tuple[tuple[int, str], ...]
    """(person, why they may not approve)."""
    max_lifetime: timedelta
    clock_skew: timedelta
    times: tuple[datetime, ...]
    """An approval must be valid at one of these times. The last one is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    approver: Approver
    file: ApprovalFile
    """As it was given."""


def approved(
    plan_bytes: bytes,
    plan: Plan,
    envelopes: Sequence[ApprovalFile],
    policy: ApprovalPolicy,
    now: datetime,
    *,
    begun_at: datetime | None = None,
) -> tuple[Counted, ...]:
    """Return the valid approvals of exactly this plan, one for each person, at least as many as the policy requires.

    Args:
        plan_bytes: The plan's file, every byte.
        plan: The plan parsed from it, which is going to be written.
        envelopes: The given approvals.
        policy: The keys that the applier trusts.
        now: With its time zone.
        begun_at: When the plan was applied, for a rollback: an approval that was valid then counts as well.

    Raises:
        NotApprovedError: Too few trusted people approved it, one of them rejected it, or the policy can never be met.
            The message has the reason for each invalid approval.
    """
    case = _case(plan_bytes, plan, policy, *(() if begun_at is None else (begun_at,)), now)
    if len(envelopes) > MAX_FILES:
        raise NotApprovedError(
            f"{_name(case)}: expected at most {MAX_FILES} approvals, found {len(envelopes):,}. Nothing was written.",
            fix="Give the approvals of this plan only.",
        )
    heard = [_heard(file, case) for file in envelopes]
    case = _with_people(case, [heard_one for heard_one in heard if not isinstance(heard_one, NotApprovedError)])
    _check_can_be_met(case, policy.required)
    # For each person, statements about this plan alone count before those about a set: they may accept more.
    in_order = sorted(zip(envelopes, heard, strict=True), key=lambda pair: _is_of_set(pair[1]))
    counted, refused = _count(case, in_order)
    if len(counted) < policy.required:
        raise _too_few(case, policy.required, tuple(approval.approver for approval in counted), refused)
    return counted


def _is_of_set(heard: tuple[PublicKey, Statement] | NotApprovedError) -> bool:
    return not isinstance(heard, NotApprovedError) and heard[1].plans != ()


def _count(
    case: _Case, envelopes: Iterable[tuple[ApprovalFile, tuple[PublicKey, Statement] | NotApprovedError]]
) -> tuple[tuple[Counted, ...], list[NotApprovedError]]:
    """Return the valid approvals, one for each person, and why the others are invalid.

    Raises:
        NotApprovedError: A trusted person rejected the plan.
    """
    counted: dict[int, Counted] = {}
    nonces: set[str] = set()
    refused = []
    for file, heard in envelopes:
        try:
            key, said = _believed(file, heard, case)
            _check_new(file, case, said, people=counted, nonces=nonces)
        except NotApprovedError as error:
            refused.append(error)
            continue
        if said.verdict is Verdict.REJECTED:
            raise NotApprovedError(
                f"{_name(case)}: {said.subject} ({said.issuer}) rejected it at {text_of(said.approved_at)}. "
                "Nothing was written.",
                fix=f"Ask {said.subject} why, and draft a plan that answers it.",
            )
        nonces.add(said.nonce)
        counted[case.people[said.subject]] = Counted(approver=_approver(key, said), file=file)
    return tuple(counted.values()), refused


def _approver(key: PublicKey, said: Statement) -> Approver:
    return Approver(
        key=key.id,
        issuer=said.issuer,
        subject=said.subject,
        approved_at=text_of(said.approved_at),
        expires_at=text_of(said.expires_at),
        accepted_unproven=said.accepted_unproven,
    )


def believed(
    plan_bytes: bytes, plan: Plan, file: ApprovalFile, policy: ApprovalPolicy, now: datetime
) -> tuple[PublicKey, Statement]:
    """Return a valid approval or rejection of exactly this plan, and the trusted key that signed it.

    Args:
        plan_bytes: The plan's file, every byte.
        plan: The plan parsed from it.
        file: The given approval.
        policy: The trusted keys. The required number is not checked here.
        now: With its time zone.

    Raises:
        NotApprovedError: It is invalid.
    """
    case = _case(plan_bytes, plan, policy, now)
    heard = _heard(file, case)
    return _believed(file, heard, _with_people(case, [] if isinstance(heard, NotApprovedError) else [heard]))


def _case(plan_bytes: bytes, plan: Plan, policy: ApprovalPolicy, *times: datetime) -> _Case:
    if any(time.utcoffset() is None for time in times):
        raise ValueError("expected times with their zone")
    digest = digest_of(plan_bytes)
    try:
        same = files.load(plan_bytes, "plan", subject="plan") == plan
    except FileError as error:
        raise NotApprovedError(
            f"Plan {digest[:12]}…: expected a plan's file, found another one: {error.problem} Nothing was written.",
            fix=error.fix,
        ) from error
    if not same:
        raise NotApprovedError(
            f"Plan {digest[:12]}…: expected what is going to be written to be what its file says, found another plan. "
            "Nothing was written.",
            fix="Read the plan again from the file that was approved.",
        )
    check_recorded(plan, digest)
    return _Case(
        digest=digest,
        plan=plan,
        policy=policy,
        keys=policy.trusted or (),
        people={},
        excluded=(),
        max_lifetime=timedelta(seconds=MAX_LIFETIME_S if policy.max_lifetime_s is None else policy.max_lifetime_s),
        clock_skew=timedelta(seconds=CLOCK_SKEW_S if policy.clock_skew_s is None else policy.clock_skew_s),
        times=times,
    )


def _with_people(case: _Case, heard: Sequence[tuple[PublicKey, Statement]]) -> _Case:
    """Return the case with numbered people: the holders of keys, and those for whom a trusted console signed."""
    names = [key.subject for key in case.keys if not key.vouches]
    names += [said.subject for key, said in heard if key.vouches]
    people = dict(zip(names, distinct_people(names), strict=True))
    why = [(person, why_barred(case.plan, name)) for name, person in people.items()]
    return replace(
        case, people=people, excluded=tuple((person, reason) for person, reason in why if reason is not None)
    )


def _check_can_be_met(case: _Case, required: int) -> None:
    if not case.keys:
        raise NotApprovedError(
            f"{_name(case)}: expected a key that the applier trusts, found none, so nobody can approve it. "
            "Nothing was written.",
            fix="Name a reviewer's .pub file with `--trust`, or under `approval.trusted_keys` of the migration file; "
            "with both, a key must be in both.",
        )
    if any(case.policy.issuers(key) for key in case.keys if key.vouches):
        return  # a console signs for as many people as sign in there
    possible = set(case.people.values()) - {person for person, _ in case.excluded}
    if len(possible) < required:
        sentences = [why for _, why in case.excluded]
        sentences += [
            f"the console {key.subject} may vouch for people of no issuer" for key in case.keys if key.vouches
        ]
        excluded = "".join(f"; {why}" for why in dict.fromkeys(sentences))
        raise NotApprovedError(
            f"{_name(case)}: expected trusted keys of {_people(required)} other than its author and editors, "
            f"found keys of {_people(len(possible))}{excluded}. Two names that may be one person count as one. "
            "Nothing was written.",
            fix="Trust the keys of more people who neither wrote nor edited it, wherever trusted keys are named.",
        )


def _heard(file: ApprovalFile, case: _Case) -> tuple[PublicKey, Statement] | NotApprovedError:
    try:
        return _verified(file, case)
    except NotApprovedError as error:
        return error


def _believed(
    file: ApprovalFile, heard: tuple[PublicKey, Statement] | NotApprovedError, case: _Case
) -> tuple[PublicKey, Statement]:
    """Return a statement if its signer may decide, at this time.

    Raises:
        NotApprovedError: It is invalid.
    """
    if isinstance(heard, NotApprovedError):
        raise heard
    key, said = heard
    if said.verdict is Verdict.APPROVED:
        what = f"Approval {file.name}"
        _check_not_barred(what, said, case)
        _check_times(what, said, case)
        why = why_not(case.plan, said.accepted_unproven)
        if why is not None:
            raise NotApprovedError(f"{what}: {why} It counts for nothing.", fix=SIGN_AGAIN)
    return key, said


def _verified(file: ApprovalFile, case: _Case) -> tuple[PublicKey, Statement]:
    """Verify the signature, the plan, and that the key may sign for the named person.

    Raises:
        NotApprovedError: It is invalid.
    """
    what = f"Approval {file.name}"
    signed = opened(file)
    key = next((key for key in case.keys if key.id == signed.key), None)
    if key is None:
        known = ", ".join(f"{key.subject} ({key.id[:12]}…)" for key in case.keys[:_TOLD])
        raise NotApprovedError(
            f"{what}: expected one of the keys that the applier trusts ({known}), found {signed.key[:12]!r}. "
            "It counts for nothing.",
            fix="Let a trusted person sign, or trust the key after checking its id with its holder.",
        )
    signed_statement = statement(signed, key)
    said = signed_statement.about(case.digest)
    if said is None:
        raise _of_another(what, signed_statement, case)
    if key.vouches:
        _check_vouched(what, key, said, case.policy.issuers(key))
    elif (said.issuer, said.subject) != (key.issuer, key.subject):
        raise NotApprovedError(
            f"{what}: it names {said.subject} ({said.issuer}), expected {key.subject} ({key.issuer}), whose key signed "
            "it. Nobody signs for somebody else. It counts for nothing.",
            fix="Let the approver sign under the name and issuer that the applier's configuration gives their key.",
        )
    if key.id == demo.DEMO_KEY_ID and not demo.is_of_sample(case.plan):
        raise NotApprovedError(
            f"{what}: it is signed with the demo key, which anybody can have and which is good for the bundled sample "
            "only; this plan is of other clusters. It counts for nothing.",
            fix="Make a key with `offsetwise keygen`, and trust that.",
        )
    return key, said


def _of_another(what: str, said: Statement, case: _Case) -> NotApprovedError:
    plan, result = f"{case.digest[:12]}…", f"plan {said.plan_digest[:12]}…"
    if said.plans:
        result = f"the {many(len(said.plans), 'plan')} of set {said.plan_digest[:12]}…"
        plan = f"plan {plan} among them"
    return NotApprovedError(
        f"{what}: it is of {result}, expected {plan}: the plan was edited since, or this is the approval of another "
        "plan. It counts for nothing.",
        fix="Give the plan's file exactly as it was signed, or let the approver sign this one.",
    )


def _check_vouched(what: str, key: PublicKey, said: Statement, issuers: tuple[str, ...]) -> None:
    if said.issuer not in issuers:
        whom = " or ".join(issuers) if issuers else "nobody"
        raise NotApprovedError(
            f"{what}: the console {key.subject} signed it for {said.subject} of {said.issuer}, and the applier lets it "
            f"vouch for people of {whom}. It counts for nothing.",
            fix="Name the issuer under `vouches_for` of that key in `approval.trusted_keys` of the migration file, if "
            "people who sign in there may approve.",
        )


def _check_not_barred(what: str, said: Statement, case: _Case) -> None:
    why = next((why for person, why in case.excluded if person == case.people[said.subject]), None)
    if why is not None:
        raise NotApprovedError(
            f"{what}: expected somebody other than the plan's author and editors, but {why}. It counts for nothing.",
            fix=_SOMEBODY_ELSE,
        )


def _check_times(what: str, said: Statement, case: _Case) -> None:
    wrong = [_wrong_time(said, case, now) for now in case.times]
    if None not in wrong and wrong[-1] is not None:
        message, fix = wrong[-1]
        raise NotApprovedError(f"{what}: {message}. It counts for nothing.", fix=fix)


def _wrong_time(said: Statement, case: _Case, at: datetime) -> tuple[str, str] | None:
    """Return why an approval is not valid at a time, and the remedy; None if it is valid."""
    begins, ends, now = text_of(said.approved_at), text_of(said.expires_at), text_of(at)
    if said.expires_at <= said.approved_at:
        message, fix = f"it expires at {ends}, not after it begins at {begins}", SIGN_AGAIN
    elif said.expires_at - said.approved_at > case.max_lifetime:
        message = f"it is good from {begins} to {ends}, expected at most {case.max_lifetime}"
        fix = "Let the approver sign again with a shorter `--expires-in-hours`."
    elif said.approved_at > at + case.clock_skew:
        message = f"it was made at {begins}, but it is {now} here, and clocks may differ by {case.clock_skew}"
        fix = "Synchronize the clocks of both machines, and let the approver sign again."
    elif at >= said.expires_at:
        message = f"it expired at {ends}, and it is {now}"
        fix = "Let the approver look at the plan and sign it again."
    else:
        return None
    return message, fix


def _check_new(
    file: ApprovalFile,
    case: _Case,
    said: Statement,
    *,
    people: dict[int, Counted],
    nonces: set[str],
) -> None:
    if said.verdict is Verdict.REJECTED:
        return
    if said.nonce in nonces:
        message = f"its nonce {said.nonce} was used by another approval: a copy counts once"
    elif case.people[said.subject] in people:
        other = people[case.people[said.subject]].approver.subject
        message = f"{said.subject} is, or may be, {other}, whose approval is counted already"
    else:
        return
    raise NotApprovedError(f"Approval {file.name}: {message}. It counts for nothing.", fix=_SOMEBODY_ELSE)


def _too_few(
    case: _Case, required: int, counted: tuple[Approver, ...], refused: list[NotApprovedError]
) -> NotApprovedError:
    result = f"{len(counted)} ({', '.join(approver.subject for approver in counted)})" if counted else "none"
    message = "".join(f" {error.problem}" for error in refused[:_TOLD])
    more = f" {len(refused) - _TOLD:,} more count for nothing." if len(refused) > _TOLD else ""
    return NotApprovedError(
        f"{_name(case)}: expected the approval of {_people(required)} whom the applier trusts, found {result}."
        f"{message}{more} Nothing was written.",
        fix=refused[0].fix if refused else _SOMEBODY_ELSE,
    )


def _people(count: int) -> str:
    return many(count, "person", "people")


def _name(case: _Case) -> str:
    return f"Plan {case.digest[:12]}…"
