"""Remedies about positions that a reviewer accepts as unproven."""

from __future__ import annotations

from offsetwise.approval.unproven import named
from tests.apply.test_accepting import applied, one_lost, places
from tests.apply.test_accepting import signed as signed_on
from tests.apply.worlds import TO_GROUP, stage
from tests.approval.signed import judged
from tests.approval.test_unproven import CHANGES, PLAN, position, resigned, signed
from tests.plans import plan_of
from tests.remedies.walk import Scene, Steps, corrected, walk

HERE = "approval/unproven.py"
corrected(
    f"{HERE}::named",
    "Say why each position may be applied",
    "unproven_without_a_reason",
    lambda: named(["orders:0"], []),
    lambda: named(["orders:0"], ["TEXT"]),
)
corrected(
    f"{HERE}::named",
    "Write for example --accept-unproven",
    "unproven_without_a_partition",
    lambda: named(["orders"], ["TEXT"]),
    lambda: named(["orders:0"], ["TEXT"]),
)
corrected(
    f"{HERE}::require_acceptable",
    "Accept only positions whose proof",
    "unproven_of_no_position",
    lambda: signed(("other", 0)),
    lambda: signed(("orders", 0)),
)
corrected(
    "approval/envelope.py::_read",
    "Ask the approver to sign this plan again",
    "unproven_with_a_key_more",
    lambda: judged(resigned(CHANGES["a key more"]), plan=PLAN),
    lambda: judged(signed(("orders", 0)), plan=PLAN),
)


@walk("approval/envelope.py::seal", "Accept fewer positions")
def _too_many_accepted(scene: Scene) -> Steps:  # noqa: ARG001 - every walk is given one
    plan = plan_of(*(position("orders", number) for number in range(400)), author="alice")

    def sign(count: int) -> object:
        return signed(*(("orders", number) for number in range(count)), reason="x" * 500, plan=plan)

    return Steps(lambda: sign(400), lambda: None, lambda: sign(50))


@walk("apply/recheck/accepting.py::require_needed", "sign the plan again, and accept only")
def _accepted_though_proven(scene: Scene) -> Steps:
    staged = stage(scene.folder, TO_GROUP)
    lost = one_lost(staged)
    return Steps(
        lambda: applied(staged, signed_on(staged, places(staged))),
        lambda: None,
        lambda: applied(staged, signed_on(staged, [lost])),
    )
