"""What holds for every plan, whatever is compared and decided."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from offsetwise import files
from offsetwise.config import JobTraits
from offsetwise.errors import OffsetwiseError, PlanError
from offsetwise.model import Exactness, LogRange, Plan, RestartPoint, Start, TopicPartition
from offsetwise.model.digest import digest
from offsetwise.plan.draft import totals_of
from offsetwise.plan.reading import read_plan
from tests.plan.scene import COPY, ETL, EVERY, STARTING, comparison, drafted, override, rows

SCHEMA = files.schema("plan")
COUNTS = st.one_of(st.none(), st.integers(0, 5))
PLACES = st.integers(-3, 30)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one row: any exactness, any place, any counts, logs that may not be known."""
    old, new = draw(st.one_of(st.none(), st.integers(0, 30))), draw(st.one_of(st.none(), PLACES))
    start = draw(st.integers(0, 10))
    end = draw(st.one_of(st.none(), st.integers(start, 30)))
    return {
        "old_offset": old,
        "new_offset": new,
        "restart": () if old is None else (RestartPoint(batch=6, old=old, new=new),),
        "exactness": draw(st.sampled_from(Exactness)),
        "bounds": (new, new),
        "replay": draw(COUNTS),
        "skip": draw(st.sampled_from([0, 0, 0, None, 2])),
        "foreign_below": draw(st.sampled_from([0, 0, 0, None, 2])),
        "new": LogRange(log_start=start, lso=end, hw=end),
    }


DECISIONS = st.dictionaries(st.integers(0, 3), PLACES)
JOBS = st.builds(
    JobTraits, tolerates_replay=st.sampled_from([None, False, True]), sink=st.sampled_from([None, "kafka"])
)


@settings(deadline=None)
@given(st.lists(changes(), min_size=1, max_size=4), DECISIONS, JOBS, st.sampled_from(EVERY), st.booleans())
def test_a_plan_holds_no_offset_that_was_not_translated_or_decided(
    drawn: list[dict[str, Any]], decided: dict[int, int], job: JobTraits, target: Any, rewound: bool
) -> None:
    compared = rows(*drawn)
    decisions = {number: offset for number, offset in decided.items() if number < len(compared)}
    try:
        made = drafted(
            comparison(*compared),
            target,
            job=job,
            sink_rewound=rewound,
            overrides=tuple(
                (TopicPartition("orders", number), override(offset)) for number, offset in decisions.items()
            ),
        )
    except PlanError:
        return

    assert len(made.positions) == len(compared)
    for row, position in zip(compared, made.positions, strict=True):
        start, end = row.new.log_start, row.new.hw
        assert start is not None
        assert end is not None
        assert start <= position.new_offset <= end
        if row.partition in decisions:
            assert position.override is not None
            assert position.new_offset == position.override.offset == decisions[row.partition]
        elif row.old_offset is None:
            assert (position.start, position.new_offset) == (Start.EARLIEST, start)
        else:
            assert position.new_offset == row.new_offset
            assert row.exactness not in (Exactness.CLAIMED, Exactness.UNKNOWN)
            assert not position.skip
            if not job.tolerates_replay:
                assert row.exactness is not Exactness.BOUNDED
                assert not position.replay
    assert made.totals == totals_of(made.positions)
    assert made.totals.replay == sum(each.replay or 0 for each in made.positions)
    assert made.totals.skip == sum(each.skip or 0 for each in made.positions)
    _survives(made)


def _survives(made: Plan) -> None:
    text = files.dump(made)
    read = read_plan(text.encode(), subject="plan.json")
    assert read == made
    assert files.dump(read) == text


TEXT = files.dump(drafted(comparison(*rows({}, {})), COPY, STARTING, ETL, sink_rewound=True))
BYTES = TEXT.encode()


def test_a_plan_fits_its_published_schema() -> None:
    jsonschema.validate(files.read_object(TEXT, subject="plan.json"), SCHEMA)


def test_a_plan_stands_with_one_position_per_line() -> None:
    assert sum('"new_offset"' in line for line in TEXT.splitlines()) == 2


@settings(deadline=None, max_examples=500)
@given(st.integers(0, len(BYTES) - 1), st.integers(0, 255), st.sampled_from(["replace", "insert", "delete", "cut"]))
def test_a_changed_plan_is_refused_or_means_what_it_says_and_has_another_digest(at: int, byte: int, how: str) -> None:
    given_bytes = bytes([byte])
    mutant = {
        "replace": BYTES[:at] + given_bytes + BYTES[at + 1 :],
        "insert": BYTES[:at] + given_bytes + BYTES[at:],
        "delete": BYTES[:at] + BYTES[at + 1 :],
        "cut": BYTES[:at],
    }[how]
    assert mutant == BYTES or digest(mutant) != digest(BYTES)
    try:
        read = read_plan(mutant, subject="plan.json")
    except OffsetwiseError:
        return
    again = files.load(files.dump(read), "plan", subject="again")
    assert again == read
    for one in read.positions:
        assert one.new_offset >= 0
        assert not one.restart or one.restart[0].new == one.new_offset
