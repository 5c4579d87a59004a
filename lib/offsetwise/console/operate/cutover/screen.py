"""The Cutover screen: the clock of a wave, a lane for each of its jobs, and the state of the old logs.

One process watches the status for all viewers. No rerun contacts a cluster or reads the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers
from offsetwise.console.operate.cutover import clock, lanes, logs, playing
from offsetwise.console.reader import Offered
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, palette, selectors, table, terms
from offsetwise.console.widgets.blocks import Card
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.evidence import findings
from offsetwise.console.widgets.palette import Palette
from offsetwise.model import Cutover, JobState, JobStatus, Severity, Status, WaveStatus
from offsetwise.watch.status_history import StatusHistory
from offsetwise.watch.statuses import EVERY_S, WatchedStatus
from offsetwise.wording import clock as at
from offsetwise.wording import duration, many, number
from offsetwise.wording.status import STATE
from offsetwise.wording.verdicts import Tone

ALL: Final = "All waves"
WAVE: Final = "wave"
"""Key of the chosen wave, in the session and in the URL."""
_STILL_FOR: Final = {"30 s": 30.0, "1 min": 60.0, "5 min": 300.0, "15 min": 900.0}
_OVERDUE_S: Final = 60
"""A look takes seconds; one older than this is a sign of a fault."""
_LATE_S: Final = 15
"""Age from which a look is outdated while something cannot be read."""
_MESSAGES: Final = 5
_FEW: Final = 5
"""With at most this many jobs, the next step of one of them is shown expanded."""


def draw(answers: Answers, migration: Offered, head: guard.Head) -> None:
    head.context(blocks.clusters(migration.old, migration.new))
    if migration.recorded:
        _recorded(answers, migration)
        return
    watched = answers.reader.status_watch(migration.name)
    running = watched is not None and watched.running
    st.fragment(_live, run_every=EVERY_S if running else None)(answers, migration, running)


def _recorded(answers: Answers, migration: Offered) -> None:
    recorded = answers.reader.recorded_cutover(migration.name)
    if not recorded:
        blocks.empty(
            "No cutover was recorded with this sample.",
            "Choose the sample orders-to-new above: its cutover plays here. Or start the console with a migration file "
            "of your own, whose clusters can be asked:",
            "offsetwise console --migration migration.yaml --folder out",
        )
        return
    plays = playing.is_playing(migration.name, recorded[-1].at_ms)
    st.fragment(_play, run_every=playing.EVERY_S if plays else None)(answers, migration, plays)


def _play(answers: Answers, migration: Offered, plays: bool) -> None:
    with guard.block("cutover"):
        recorded = answers.reader.recorded_cutover(migration.name)
        st.markdown(
            f":gray[This cutover was recorded from {migration.recorded_from}: {len(recorded):,} looks in "
            f"{duration(recorded[-1].at_ms)}. It plays in a minute.]"
        )
        newest = recorded[-1].history.newest
        shown = playing.draw(migration.name, recorded, draw_more=lambda: None if newest is None else _wave(newest))
        if plays != playing.is_playing(migration.name, recorded[-1].at_ms):
            st.rerun()  # a fragment reruns at the interval set when the whole page was drawn
        _body(shown.history, shown.logs, now_ms=shown.history.at_ms or 0)


def _live(answers: Answers, migration: Offered, running: bool) -> None:
    with guard.block("cutover"):
        watched = answers.reader.status_watch(migration.name)
        if running != (watched is not None and watched.running):
            st.rerun()  # it was started or has ended: the page sets the interval again
        _controls(answers, migration, watched)
        if watched is None:
            return
        _trouble(watched)
        if watched.history.newest is None:
            st.markdown(":gray[The first look is under way.]" if running else ":gray[It ended before a look.]")
            return
        now = datetime.now(UTC) if watched.running else watched.looked_at or watched.started_at
        _body(watched.history, watched.logs, now_ms=round(1_000 * now.timestamp()))


def _controls(answers: Answers, migration: Offered, watched: WatchedStatus | None) -> None:
    if watched is not None and watched.running:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if watched.history.newest is not None:
                _wave(watched.history.newest)
            st.markdown(f":gray[{_freshness(watched)}]", width="stretch")
            st.button(
                "Stop watching",
                icon=":material/stop_circle:",
                key="stop-status",
                on_click=_stop,
                args=(answers, migration.name),
            )
        return
    with st.container(border=True):
        st.markdown(f"**{_not_watched(watched)}**  \n{_what(migration)}")
        if migration.folder is None:
            st.markdown(
                "**No folder is named for this migration**, so its comparisons, plans and receipts are not seen, and "
                "no job comes further than mirrored. Start the console with `--folder`, the folder that `compare "
                "--out` and `draft --out` write to:"
            )
            blocks.command("offsetwise console --migration migration.yaml --folder out")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _beginning(answers, migration, watched)


def _beginning(answers: Answers, migration: Offered, watched: WatchedStatus | None) -> None:
    still = "1 min"
    if migration.ends_watched:
        still = st.selectbox("The old logs stand still for", list(_STILL_FOR), index=1, key="status-still", width=210)
    st.button(
        "Watch" if watched is None else "Watch again",
        type="primary",
        icon=":material/visibility:",
        key="watch-status",
        on_click=_start,
        args=(answers, migration.name, _STILL_FOR[still]),
    )
    if watched is not None and watched.history.newest is not None:
        _wave(watched.history.newest)


def _what(migration: Offered) -> str:
    read = "both clusters, the checkpoints and groups" + ("" if migration.folder is None else " and the folder")
    logs_too = (
        " It watches where the logs on the old cluster end too, and compares their last records with Spark once they "
        "stand still."
        if migration.ends_watched
        else " Nobody can watch where the logs of this cluster end: no job becomes mirrored."
    )
    return terms.said(
        f"Watching reads {read} of this migration every {EVERY_S:g} s, in one process for everybody who looks, and "
        f"ends a minute after the last one has left.{logs_too} Nothing is written."
    )


def _not_watched(watched: WatchedStatus | None) -> str:
    if watched is None:
        return "Nothing is watched."
    newest = watched.history.newest
    if newest is not None and newest.is_done:
        return "Every job has caught up; nobody watches any more."
    if watched.unwatched:
        return "Nobody looked for a minute, so the watch ended. What it saw last is below."
    return "Nobody watches any more."


def _freshness(watched: WatchedStatus) -> str:
    since = f"Watched since {at(watched.started_at)}"
    if watched.looked_at is None:
        return f"{since}."
    ago_s = _ago_s(watched.looked_at)
    overdue = " The next one is overdue." if ago_s > _OVERDUE_S else ""
    return f"{since} · {many(watched.look_count, 'look')}, the newest {duration(1_000 * ago_s)} ago.{overdue}"


def _ago_s(looked_at: datetime) -> int:
    return max(0, int((datetime.now(UTC) - looked_at).total_seconds()))


def _trouble(watched: WatchedStatus) -> None:
    if watched.running and watched.unread and watched.looked_at and (ago_s := _ago_s(watched.looked_at)) > _LATE_S:
        st.warning(
            f"**No look for {duration(1_000 * ago_s)}: what stands below is from {at(watched.looked_at)}**  \n"
            f"{sentence(watched.unread)}",
            icon=":material/warning:",
        )
    if watched.error is not None:
        blocks.failed(watched.error, key="status")
    elif watched.ended is not None:
        st.error(f"**The watch ended before its time**  \n{sentence(watched.ended)}", icon=":material/error:")
    if watched.messages:
        lines = "".join(f"\n- {sentence(message)}" for message in watched.messages[-_MESSAGES:])
        with st.expander(f"▲ What could not be read ({len(watched.messages):,})"):
            st.markdown(lines)


def _start(answers: Answers, migration: str, still_for_s: float) -> None:
    answers.reader.watch_status(migration, still_for_s)


def _stop(answers: Answers, migration: str) -> None:
    answers.reader.stop_status(migration)


def _body(history: StatusHistory, watched_logs: Cutover | None, *, now_ms: int) -> None:
    """Draw what the looks have shown.

    Args:
        history: The looks.
        watched_logs: State of the old logs.
        now_ms: Time that the clock counts to, epoch ms.
    """
    status = history.newest
    if status is None:
        return
    colours = palette.current()
    wave = _chosen(status)
    jobs = lanes.of_wave(status.jobs, wave)
    _answer(status, jobs, wave)
    _clock(history, jobs, next((wave_status for wave_status in status.waves if wave_status.wave == wave), None), now_ms)
    st.html(lanes.style(colours) + lanes.strip(history, wave))
    _whole(status)
    _jobs(lanes.lanes(history, wave), colours)
    with guard.block("logs"):
        logs.draw(watched_logs)


def _jobs(shown: lanes.Lanes, colours: Palette) -> None:
    if shown.open:
        blocks.section("Jobs")
        _next(shown)
        page = table.page(len(shown.open), "cutover-rows", size=lanes.PER_PAGE, label="Jobs shown")
        st.html(lanes.rows(shown, colours, page.start or 0))
    if shown.done:
        with st.expander(f"{many(len(shown.done), 'job')} caught up", icon=":material/check_circle:"):
            page = table.page(len(shown.done), "cutover-done", size=lanes.PER_PAGE, label="Jobs shown")
            st.html(lanes.rows(shown, colours, page.start or 0, done=True))


def _wave(status: Status) -> None:
    if status.waves:
        selectors.choice("Wave", [ALL, *(plain(wave.wave) for wave in status.waves)], WAVE, width=240)


def _chosen(status: Status) -> str | None:
    """Return the wave that the person chose; None for all."""
    chosen = st.session_state.get(WAVE)
    return next((wave.wave for wave in status.waves if plain(wave.wave) == chosen), None)


def _answer(status: Status, jobs: Sequence[JobStatus], wave: str | None) -> None:
    counts = lanes.counts(jobs)
    urgent = [state for state in lanes.URGENT if counts[state]]
    done = counts[JobState.CAUGHT_UP]
    total = many(len(jobs), "job")
    if urgent:
        tone = Tone.WRONG if any(STATE[state].tone is Tone.WRONG for state in urgent) else Tone.CAREFUL
        named = ", ".join(f"{counts[state]:,} {STATE[state].word}" for state in urgent)
        headline = f"{sum(counts[state] for state in urgent):,} of {total} cannot go on: {named}."
    elif done == len(jobs):
        tone, headline = Tone.RIGHT, f"All of {total} caught up."
    else:
        tone, headline = Tone.UNKNOWN, f"{len(jobs) - done:,} of {total} on the way, {done:,} caught up."
    of = "" if wave is None else f"Wave {markdown(wave)}: "
    waits = (
        []
        if wave is None
        else [w for wave_status in status.waves if wave_status.wave == wave for w in wave_status.waits_for]
    )
    blocks.box(tone, f"**{of}{markdown(headline)}** {' '.join(map(sentence, waits))}")


def _clock(history: StatusHistory, jobs: Sequence[JobStatus], wave: WaveStatus | None, now_ms: int) -> None:
    stopped, end = clock.downtime(history, jobs), clock.estimate(history, jobs)
    blocks.cards(
        [
            Card("Stopped for", _stopped_for(stopped, now_ms), note=f":gray[{_stops(stopped, wave)}]"),
            Card(
                "To the end",
                "not known" if end.ms is None else f"about {duration(end.ms)}" if end.ms else "0 s",
                note=f":gray[{sentence(end.why)}]",
            ),
            _no_return(history, jobs),
        ]
    )


def _stopped_for(stopped: clock.Downtime, now_ms: int) -> str:
    length_ms = stopped.length_ms(now_ms)
    if length_ms is not None:
        return duration(1_000 * (length_ms // 1_000))
    return "not known" if stopped.without_time else "not yet"


def _stops(stopped: clock.Downtime, wave: WaveStatus | None) -> str:
    parts = []
    if stopped.first_ms is not None:
        parts.append(f"The first job stopped at {at(stopped.first_ms)}")
        if stopped.until_ms is not None:
            parts[-1] += f", the last caught up at {at(stopped.until_ms)}"
        parts[-1] += "."
    if stopped.running:
        parts.append(f"{many(stopped.running, 'job')} still {'runs' if stopped.running == 1 else 'run'}.")
    if stopped.without_time:
        parts.append(f"Of {many(stopped.without_time, 'job')} nobody knows since when.")
    if wave is not None and wave.window_ms is not None:
        parts.append(f"The window of this wave is {duration(wave.window_ms)}.")
    return " ".join(parts) or "No job was seen to stop."


def _no_return(history: StatusHistory, jobs: Sequence[JobStatus]) -> Card:
    passed = clock.no_return(history, jobs)
    label = "Point of no return"
    meaning = (
        "The first batch that the sink takes from the new cluster. Until then every job goes back without a loss: its "
        "old checkpoint is as it was. From then on, going back reads records again that the sink already has."
    )
    if passed is None:
        return Card(label, "not yet", meaning, note=":gray[No job has begun on the new cluster: all can go back.]")
    moment = f"{at(passed.at_ms)}" if passed.observed else f"before {at(passed.at_ms)}"
    more = f", {number(passed.jobs - 1)} more since" if passed.jobs > 1 else ""
    return Card(label, "passed", meaning, Tone.CAREFUL, note=f":gray[By {markdown(passed.job)}, {moment}{more}.]")


def _next(shown: lanes.Lanes) -> None:
    steps = {lane.job.job: (lane.job, lane.job.next) for lane in shown.open if lane.job.next is not None}
    if not steps:
        return
    with st.expander("The next step of a job, to copy", expanded=len(steps) <= _FEW):
        job, step = steps[selectors.choice("Next step of", list(steps), "cutover-next", width=420)]
        verdict = STATE[job.state]
        st.markdown(f":{verdict.tone.colour}-badge[{verdict}] {sentence(job.evidence)}")
        if step.startswith("offsetwise "):
            blocks.command(plain(step))
        else:
            st.markdown(sentence(step))


def _whole(status: Status) -> None:
    if not status.findings:
        return
    blocking = sum(finding.severity is Severity.BLOCKS for finding in status.findings)
    title = f"The migration as a whole: {many(len(status.findings), 'finding')}"
    with st.expander(f"! {title}, {number(blocking)} of severity blocks" if blocking else title):
        findings(status.findings)
