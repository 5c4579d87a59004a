"""What an unedited start would do, by the table of what Spark was seen to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offsetwise.model import LogRange, RawReuse, RawVerdict
from offsetwise.plan.predict import predict
from tests.findings.cases import ROW
from tests.plan.scene import checkpoint, comparison, grouped, observed, pending, rows
from tests.with_cases import with_cases


@with_cases(
    ("changes", "effect", "told"),
    [
        ({}, "nothing", "same position"),
        ({"raw": RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=0)}, "silent skip", "never reads 100 records"),
        ({"raw": RawReuse(verdict=RawVerdict.LOSS)}, "silent skip", "never reads at least 0 records"),
        ({"raw": RawReuse(verdict=RawVerdict.REPLAY, skip=0, replay=3)}, "replay", "reads again 3 records"),
        ({"raw": RawReuse(verdict=RawVerdict.CONFUSION)}, "other records", "other records than its state expects"),
        ({"raw": RawReuse(verdict=RawVerdict.UNKNOWN)}, "unknown", "was not read"),
        ({"new": LogRange(log_start=0, lso=1000, hw=1000)}, "exception", "leaves offsets/7 with new numbers"),
        ({"new": LogRange(log_start=1051, lso=1100, hw=1100)}, "exception", "below the new log's start, 1,051"),
        ({"new_topic": "old.orders"}, "exception", "it is called old.orders"),
    ],
    ids=["same", "loss", "loss-uncounted", "replay", "confusion", "unknown", "beyond", "below", "renamed"],
)
def test_the_effect_of_an_unedited_start(changes: dict[str, Any], effect: str, told: str) -> None:
    made = predict(comparison(*rows(changes)))

    assert made.effect == effect
    assert told in made.told


def test_an_exception_comes_before_any_skip_and_says_what_follows_without_it() -> None:
    made = predict(
        comparison(
            *rows(
                {"raw": RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=0)},
                {"new": LogRange(log_start=0, lso=1000, hw=1000)},
            )
        )
    )

    assert made.effect == "exception"
    assert "With failOnDataLoss=false it would go on" in made.told
    assert "never reads 100 records" in made.told


def test_a_new_partition_that_does_not_begin_at_0_makes_the_query_fail() -> None:
    added = {"old_offset": None, "restart": (), "new": LogRange(log_start=7, lso=9, hw=9)}

    assert "is new and starts at 7, not 0" in predict(comparison(*rows({}, added))).told


def test_a_pending_batch_that_ends_past_the_log_fails_and_pollutes_nothing_more() -> None:
    short = {**pending(1000, equal=True), "new": LogRange(log_start=0, lso=1060, hw=1060)}
    made = predict(comparison(*rows(short), checkpoint=checkpoint(last_planned_batch=7, reruns_batch=7)))

    assert made.effect == "exception"
    assert "because batch 7 ends past the log" in made.told


def test_a_groups_consumer_follows_its_settings_and_gets_no_exception() -> None:
    outside = RawReuse(verdict=RawVerdict.OUT_OF_RANGE)
    made = predict(grouped(replace(ROW, raw=outside)))

    assert made.effect == "unknown"
    assert "auto.offset.reset" in made.told
    assert predict(grouped()).effect == "nothing"


def test_the_samples_are_predicted_to_fail_as_the_recorded_checkpoint_did() -> None:
    assert predict(observed("orders")).effect == "exception"
    assert "polluted checkpoint" in predict(observed("payments")).told
