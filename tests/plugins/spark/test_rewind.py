from __future__ import annotations

import pytest

from offsetwise.errors import PlanError
from offsetwise.plugins.spark.targets.rewind import rewound
from tests.plan.scene import batch, checkpoint
from tests.with_cases import with_cases


def test_positions_are_those_after_the_batch_and_nothing_is_pending() -> None:
    made = rewound(checkpoint(reruns_batch=7, last_planned_batch=7), 4, files=(("offsets/4", "cd"),))

    assert [each.offset for each in made.sources[0].positions] == [1010]
    assert made.details.progress.again is None


def test_the_checkpoint_is_still_held_to_its_last_batches() -> None:
    made = rewound(checkpoint(), 4, files=(("offsets/4", "cd"),))

    assert (made.details.progress.planned, made.details.progress.committed) == (6, 6)
    assert made.pins == (("offsets/6", "ab" * 32), ("offsets/4", "cd"))


@with_cases(("to", "why"), [(3, "not retained"), (6, "the last"), (5, "not committed")])
def test_only_an_earlier_committed_batch_that_is_retained_will_do(to: int, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        rewound(checkpoint(batches=(batch(4), batch(5, committed=False), batch(6))), to)
