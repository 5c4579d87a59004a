"""The people who may not approve a plan: its author and everybody who edited it."""

from __future__ import annotations

from offsetwise.approval.people import plain, same_person
from offsetwise.errors import NotApprovedError
from offsetwise.model import Plan


def why_barred(plan: Plan, subject: str) -> str | None:
    """Return why this person may not approve; None if nothing recorded bars them.

    The names in a plan are recorded, not verified: a person who gave a wrong name is not detected here. What holds in
    any case is the number of trusted people that the applier's policy requires.
    """
    for role, names in (("author", (plan.author,)), ("editor", plan.editors)):
        for name in names:
            if same_person(name, subject):
                return f"{subject} is, or may be, its {role} {name!r}"
    for identity in plan.identities:
        if any(same_person(name, subject) for name in (identity.subject, identity.address) if name is not None):
            return f"{subject} is, or may be, {identity.subject!r} of {identity.issuer!r}, who had a hand in it"
    return None


def check_recorded(plan: Plan, digest: str) -> None:
    """Raise if a plan does not name its author and editors.

    Raises:
        NotApprovedError: A name is empty, so nobody could be barred.
    """
    if not all(plain(name) for name in (plan.author, *plan.editors)):
        raise NotApprovedError(
            f"Plan {digest[:12]}…: expected the names of its author and of everybody who edited it, found an empty "
            "one, so nobody could be barred from approving their own work. Nothing was written.",
            fix="Draft the plan again with `--author NAME`.",
        )
