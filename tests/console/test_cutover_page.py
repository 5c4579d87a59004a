"""The Cutover page, run as Streamlit runs it: off until asked for, then live, then over; and a recording that plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from streamlit.testing.v1 import AppTest

from offsetwise.bundled import Bundled
from offsetwise.console.operate.cutover import lanes
from offsetwise.console.reader import Offered, Reader
from offsetwise.errors import ClusterUnreachableError
from offsetwise.model import Cutover, Finding, JobState, JobStatus, Severity
from offsetwise.plugins.kinesis.stream.spec import TERMS
from offsetwise.watch.recording import RecordedLook, recorded_cutover
from offsetwise.watch.status_history import StatusHistory
from offsetwise.watch.statuses import WatchedStatus
from offsetwise.wording import clock as at
from tests.console import builders
from tests.console.conftest import OpenPage, figures, words
from tests.console.readers import ValueReader
from tests.cutovers import DRAINING, GROWING, OPEN_TRANSACTION, STILL, seen
from tests.status_looks import BEGAN_MS, history, job, many, status
from tests.with_cases import with_cases

PAGE: Final = "pages/operate/cutover.py"
LIVE: Final = {"migration": "orders-to-new"}
NOW: Final = datetime.now(UTC)
TWO: Final = history(
    status(
        job("orders", JobState.STOPPED, stopped_ms=BEGAN_MS - 90_000, old_lag=40, wave="pilot"),
        job(
            "payments",
            JobState.BLOCKED,
            evidence="1 topic of the job not there: clicks (the new cluster).",
            wave="core",
        ),
        waves=("pilot", "core"),
    )
)


def watching(shown: StatusHistory, logs: Cutover | None = None, **changes: Any) -> ValueReader:
    """Return a reader whose migration is being watched."""
    made = ValueReader(live=builders.comparison())
    state = WatchedStatus(
        started_at=NOW - timedelta(seconds=70),
        history=shown,
        logs=logs,
        look_count=len(shown.moments),
        looked_at=NOW if shown.moments else None,
    )
    made.watched = replace(state, **changes)
    return made


def said(page: AppTest) -> str:
    html = [str(each.proto.body) for each in page.main.get("html")]
    return "\n".join((words(page), *html)).replace("\\", "").replace("**", "")


def lanes_of(page: AppTest) -> str:
    return next((body for body in (str(each.proto.body) for each in page.main.get("html")) if "<ul" in body), "")


def test_nothing_is_watched_until_somebody_asks_for_it(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())
    page = open_page(reader, PAGE, **LIVE)

    assert not page.exception
    assert "Nothing is watched." in said(page)
    assert not [call for call in reader.calls if call.startswith("watch")]

    page.selectbox(key="status-still").select("5 min").run()
    page.button(key="watch-status").click().run()

    assert reader.calls["watch orders-to-new, still for 300 s"] == 1
    assert "The first look is under way." in said(page)
    page.button(key="stop-status").click().run()
    assert reader.calls["stop watching orders-to-new"] == 1
    assert "Nobody watches any more." in said(page)


def test_without_a_folder_the_page_says_how_to_name_one(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())
    reader.folder = None
    page = open_page(reader, PAGE, **LIVE)

    assert "No folder is named for this migration" in said(page)
    assert "offsetwise console --migration migration.yaml --folder out" in said(page)
    assert [button.key for button in page.button if button.key == "watch-status"], (
        "positions can be watched all the same"
    )


def test_two_jobs_have_a_clock_lanes_and_the_next_step_of_the_blocked_one(open_page: OpenPage) -> None:
    page = open_page(watching(TWO), PAGE, **LIVE)

    assert not page.exception
    assert "1 of 2 jobs cannot go on: 1 blocked." in said(page)
    assert figures(page)["Point of no return"] == "not yet"
    assert figures(page)["To the end"] == "not known"
    assert "It waits for people: 1 job cannot go on." in said(page)
    rows = lanes_of(page)
    assert rows.index("checkpoint payments") < rows.index("checkpoint orders"), "blocked first"
    assert "lag old 40" in rows
    assert page.selectbox(key="cutover-next").value == "checkpoint payments"
    assert "1 topic of the job not there" in said(page)
    assert "offsetwise compare -m migration.yaml --checkpoint payments" in said(page)


def test_a_wave_is_shown_alone(open_page: OpenPage) -> None:
    page = open_page(watching(TWO), PAGE, wave="pilot", **LIVE)

    assert "Wave pilot: 1 of 1 job on the way, 0 caught up." in said(page)
    assert "The window of this wave is 2 h." in said(page)
    assert "checkpoint payments" not in lanes_of(page)


def test_two_hundred_jobs_come_in_pages_with_the_urgent_first_and_the_done_folded(open_page: OpenPage) -> None:
    page = open_page(watching(many(200), seen([STILL] * 300)), PAGE, **LIVE)

    assert not page.exception
    assert "An unexpected error occurred" not in said(page)
    assert {"cutover-rows", "cutover-done", "log-rows"} <= {each.key for each in page.selectbox}, "each has pages"
    rows = [body for body in (str(each.proto.body) for each in page.main.get("html")) if "<ul" in body]
    assert [body.count("<li") for body in rows] == [lanes.PER_PAGE, lanes.PER_PAGE]
    order = [rows[0].find(f"<b>{word}") for word in ("! different", "! blocked", "! stale")]
    assert 0 < order[0] < order[1] < order[2]
    assert "caught up</b>" not in rows[0]
    assert [each.label for each in page.expander if "caught up" in each.label] == ["70 jobs caught up"]


def test_a_job_that_began_passes_the_point_of_no_return(open_page: OpenPage) -> None:
    shown = history(
        status(job("orders", JobState.APPLIED), job("payments", JobState.APPLIED)),
        status(job("orders", JobState.STARTED, lag=900), job("payments", JobState.APPLIED), seconds=5),
    )
    page = open_page(watching(shown), PAGE, **LIVE)

    assert figures(page)["Point of no return"] == "passed"
    assert "By checkpoint orders, 2026-11-28 02:00:05 UTC." in said(page)


@with_cases(
    ("shown", "answer", "counts"),
    [
        (
            seen([STILL, GROWING]),
            "Open. The old cluster is still written to: 1 of 2 partitions grew by 50",
            (1, 0, 1, 0),
        ),
        (seen([DRAINING, DRAINING]), "Draining. The old logs have stood still for 1 s of 10 s.", (0, 2, 0, 0)),
        (seen([STILL, OPEN_TRANSACTION]), "Draining. A transaction is open on the old cluster", (0, 1, 1, 0)),
        (seen([STILL, STILL], copied=[True, False]), "Frozen. The old logs have stood still for 10 s.", (0, 0, 1, 1)),
        (seen([STILL], copied=[True]), "Copied. Every record of 1 partition of the old cluster is on", (0, 0, 0, 1)),
    ],
    ids=["open", "draining", "transaction", "frozen", "copied"],
)
def test_the_old_logs_are_said_with_their_evidence(
    open_page: OpenPage, shown: Cutover, answer: str, counts: tuple[int, ...]
) -> None:
    page = open_page(watching(TWO, shown), PAGE, **LIVE)

    assert not page.exception
    assert answer in said(page)
    assert [figures(page)[state] for state in ("Open", "Draining", "Frozen", "Copied")] == [*map(str, counts)]


def test_partitions_furthest_behind_come_first_with_who_still_writes(open_page: OpenPage) -> None:
    shown = seen([STILL, DRAINING, GROWING, [(100, 100), (120, 120)]])
    page = open_page(watching(TWO, shown), PAGE, **LIVE)

    table = next(each.value for each in page.dataframe if "still for" in each.value)
    assert table["p"].tolist() == [2, 3, 1, 0]
    assert table["state"].tolist() == ["! open", "! open", "▲ draining", "▲ frozen"]
    assert table["producers"].tolist()[0] == "4,001, 7"
    assert "OLD_LOG_GROWS" in said(page)


def test_findings_over_the_whole_are_shown_with_what_to_do(open_page: OpenPage) -> None:
    finding = Finding(
        code="JOB_IN_NO_WAVE",
        severity=Severity.WARNS,
        message="checkpoint orders is in no wave.",
        remedy="Add it to a wave.",
        topic=None,
        partition=None,
    )
    page = open_page(watching(history(status(job("orders"), findings=(finding,)))), PAGE, **LIVE)

    assert [each.label for each in page.expander if "as a whole" in each.label] == [
        "The migration as a whole: 1 finding"
    ]
    assert "checkpoint orders is in no wave." in said(page)


def test_what_could_not_be_read_and_why_it_ended_are_said(open_page: OpenPage) -> None:
    page = open_page(watching(TWO, messages=("out/x.json: expected a plan.",)), PAGE, **LIVE)
    assert "out/x.json: expected a plan." in said(page)

    error = ClusterUnreachableError("Cluster 'old': no answer.", fix="Start the broker.")
    page = open_page(watching(TWO, running=False, error=error), PAGE, **LIVE)
    assert "Cluster 'old': no answer." in said(page)
    assert "1 of 2 jobs cannot go on: 1 blocked." in said(page), "what was seen last stays"

    page = open_page(watching(TWO, running=False, unwatched=True), PAGE, **LIVE)
    assert "Nobody looked for a minute, so the watch ended." in said(page)


def test_an_old_look_is_not_taken_for_now_where_a_cluster_is_silent(open_page: OpenPage) -> None:
    silent, now = "Cluster 'new': expected a Kafka broker, found none.", datetime.now(UTC)
    old = now - timedelta(seconds=48)
    page = open_page(watching(TWO, messages=(silent,), unread=silent, looked_at=old), PAGE, **LIVE)
    assert "No look for" in page.warning[0].value
    assert at(old) in page.warning[0].value
    assert silent in page.warning[0].value.replace("\\", "")

    ended = {"running": False, "unread": silent, "looked_at": old}
    for changes in ({"unread": None, "looked_at": old}, {"unread": silent, "looked_at": now}, ended):
        page = open_page(watching(TWO, messages=(silent,), **changes), PAGE, **LIVE)
        assert not page.warning


def test_hostile_names_stay_text(open_page: OpenPage) -> None:
    name = "<img src=x onerror=alert(1)>"
    page = open_page(watching(history(status(job(name, wave=name), waves=(name,)))), PAGE, **LIVE)

    assert not page.exception
    assert "<img src=x" not in lanes_of(page)
    assert "&lt;img src=x" in lanes_of(page)


def test_a_stream_whose_ends_nobody_can_watch_says_so_in_its_words(open_page: OpenPage) -> None:
    class Streams(ValueReader):
        def offered(self) -> tuple[Offered, ...]:
            return tuple(replace(each, ends_watched=False, terms=TERMS) for each in super().offered())

    page = open_page(Streams(live=builders.comparison()), PAGE, **LIVE)

    assert not page.exception
    assert "no job becomes mirrored" in said(page)
    assert "status-still" not in [each.key for each in page.selectbox]


def recorded() -> ValueReader:
    """Return a reader whose sample has a recorded cutover of three looks."""
    made, shown, looks = ValueReader(), StatusHistory(), []
    for seconds, state in ((0, JobState.RUNNING), (300, JobState.APPLIED), (600, JobState.CAUGHT_UP)):
        shown = shown.with_look(status(job("orders", state), seconds=seconds))
        looks.append(RecordedLook(at_ms=1_000 * seconds, history=shown, logs=None))
    made.cutover = tuple(looks)
    return made


def test_a_recorded_cutover_is_shown_at_every_time_and_asks_nothing(open_page: OpenPage) -> None:
    reader = recorded()
    page = open_page(reader, PAGE, migration="sample")

    assert not page.exception
    assert "<b>· running</b>" in lanes_of(page)
    page.slider(key="cutover-at").set_value(300).run()
    assert "<b>▲ applied</b>" in lanes_of(page)
    page.slider(key="cutover-at").set_value(600).run()
    assert "All of 1 job caught up." in said(page)
    assert page.button(key="cutover-play").label == "Play again"
    assert reader.calls["look at the watch"] == 0


def test_a_recording_plays_and_pauses(open_page: OpenPage) -> None:
    page = open_page(recorded(), PAGE, migration="sample")
    page.button(key="cutover-play").click().run()
    assert page.button(key="cutover-pause").label == "Pause"
    page.slider(key="cutover-at").set_value(300).run()
    assert "<b>▲ applied</b>" in lanes_of(page), "it goes on from where the slider was moved to"
    page.button(key="cutover-pause").click().run()
    assert page.button(key="cutover-play").label == "Play"


def test_a_sample_without_a_cutover_says_so(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), PAGE, migration="sample")
    assert "No cutover was recorded with this sample." in said(page)

    page = open_page(Reader(()), PAGE, migration="orders-to-frankfurt (sample)")
    assert not page.exception
    assert "No cutover was recorded with this sample." in said(page)


def test_the_cutover_of_the_spark_sample_plays_from_running_jobs_to_all_caught_up(open_page: OpenPage) -> None:
    stale = next(
        look
        for look in recorded_cutover(Bundled.SPARK)
        if JobState.STALE in {job.state for job in jobs_at(look)} and look.history.begun
    )
    page = open_page(Reader(()), PAGE, migration="orders-to-new (sample)")
    assert not page.exception
    assert "clicks (the new cluster)" in said(page), "a topic was not mirrored at first"
    end_s = page.slider(key="cutover-at").max

    page.slider(key="cutover-at").set_value(-(-stale.at_ms // 1_000)).run()
    assert "1 of 4 jobs cannot go on: 1 stale." in said(page), "a job was started again after its plan was drafted"
    assert figures(page)["Point of no return"] == "passed"
    assert "lag old" in lanes_of(page)

    page.slider(key="cutover-at").set_value(end_s).run()
    assert "All of 4 jobs caught up." in said(page)
    assert figures(page)["To the end"] == "0 s"
    assert not page.exception


def test_the_cutover_of_the_flink_sample_plays_from_running_jobs_to_all_caught_up(open_page: OpenPage) -> None:
    looks = recorded_cutover(Bundled.FLINK)
    mistyped = next(look for look in looks if any("found nothing" in job.evidence for job in jobs_at(look)))
    page = open_page(Reader(()), PAGE, migration="order-counts-to-new (sample)")
    assert not page.exception
    assert "<b>· running</b>" in lanes_of(page)

    page.slider(key="cutover-at").set_value(-(-mistyped.at_ms // 1_000)).run()
    assert "1 of 3 jobs cannot go on: 1 blocked." in said(page), "the path of its savepoint was mistyped"
    assert figures(page)["Point of no return"] == "passed"

    page.slider(key="cutover-at").set_value(page.slider(key="cutover-at").max).run()
    assert "All of 3 jobs caught up." in said(page)
    assert not page.exception


def jobs_at(look: RecordedLook) -> Sequence[JobStatus]:
    return () if look.history.newest is None else look.history.newest.jobs
