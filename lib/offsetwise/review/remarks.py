from __future__ import annotations

import hashlib
from typing import Final

from offsetwise.errors import OffsetwiseError
from offsetwise.model import Receipt, StepState
from offsetwise.plan.evidence import plan_of, require_agreeing
from offsetwise.review.answers import AlreadyDecided, Done, NotAllowed, OtherAnswer
from offsetwise.review.attempt import Attempt
from offsetwise.review.people import who
from offsetwise.store.review_rows import State

MAX_COMMENT: Final = 10_000
"""The maximum length of a comment, in characters."""


def comment(attempt: Attempt, text: str) -> OtherAnswer:
    opened = attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    person, row, _ = opened
    if not text.strip() or len(text) > MAX_COMMENT:
        return NotAllowed(
            why=f"A remark has 1 to {MAX_COMMENT:,} characters, and this one has {len(text.strip()):,}.",
            fix="Say it in fewer words, and keep the long text elsewhere." if text.strip() else "Write something.",
        )
    attempt.change.add_comment(row.id, row.number, by=who(person), at_ms=attempt.now_ms, body=text)
    return Done(plan=row.id, state=row.state)


def add_receipt(attempt: Attempt, receipt: Receipt, content: bytes) -> OtherAnswer:
    change, opened = attempt.change, attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    person, row, _ = opened
    version = change.version_of(receipt.plan_digest)
    if version is None or version.plan != row.id:
        return NotAllowed(
            why=f"The receipt is of plan {receipt.plan_digest[:8]}…, which is not a version of plan {row.id}.",
            fix="Open the plan that was applied.",
        )
    try:
        plan_bytes = change.content(version.id)
        _, plan = plan_of(receipt, plan_bytes, subject="The receipt")
        require_agreeing("The receipt", plan, version.digest, receipt.steps)
    except OffsetwiseError as error:
        return NotAllowed(why=error.problem, fix=error.fix)
    if change.receipt_known(hashlib.sha256(content).hexdigest()):
        return AlreadyDecided(state=row.state, message="This very receipt is kept already.")
    change.add_receipt(row.id, digest=receipt.plan_digest, content=content, by=who(person), at_ms=attempt.now_ms)
    done = all(step.state is StepState.DONE for step in receipt.steps)
    state = row.state
    if done and version.number == row.number and row.state.open:
        state = State.APPLIED
        change.move(row.id, state, number=row.number, at_ms=attempt.now_ms)
    return Done(plan=row.id, state=state)
