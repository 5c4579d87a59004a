"""The watches of a process: one child for each migration however many look, and none that nobody looks at."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.model import JobState
from offsetwise.watch import statuses
from offsetwise.watch.recording import looks_of
from offsetwise.watch.status_history import StatusHistory
from offsetwise.watch.statuses import BackgroundStatuses, WatchedStatus
from tests.commands import call
from tests.cutovers import STILL, seen
from tests.status_looks import job, status

VIEWERS = 10
GOES_ON = "import time\nwhile True: time.sleep(0.05)\n"
"""The rest of a child that goes on until it is ended."""


@pytest.fixture
def watches() -> Iterator[BackgroundStatuses]:
    made = BackgroundStatuses()
    yield made
    made.close()


def child(*lines: str, then: str = "", message: str = "") -> tuple[str, ...]:
    """Return a command that prints lines and a message, and then does something else, or ends."""
    script = (
        f"import sys\nsys.stderr.write({message!r})\nfor line in {list(lines)!r}: print(line, end='', flush=True)\n"
    )
    return (sys.executable, "-c", script + then)


def look(state: JobState, seconds: float = 0) -> str:
    return files.dump(status(job("orders", state), seconds=seconds), indent=None)


def seen_when(watches: BackgroundStatuses, done: Callable[[WatchedStatus], bool]) -> WatchedStatus:
    """Look until something is so."""
    end = time.monotonic() + 60
    while True:
        watched = watches.watched("m")
        assert watched is not None
        if done(watched):
            return watched
        assert time.monotonic() < end, watched
        time.sleep(0.01)


def test_ten_who_look_share_one_process_and_its_looks(watches: BackgroundStatuses) -> None:
    arguments = child(look(JobState.RUNNING), look(JobState.STOPPED, 5), then=GOES_ON)

    def view(_: int) -> WatchedStatus:
        watches.start("m", arguments)
        return seen_when(watches, lambda watched: watched.look_count == 2)

    with ThreadPoolExecutor(VIEWERS) as viewers:
        views = list(viewers.map(view, range(VIEWERS)))

    assert watches.begun == 1
    assert {id(watched.history) for watched in views} == {id(views[0].history)}, "nobody reads for himself"
    assert [moment.marks["checkpoint orders"].state for moment in views[0].history.moments] == ["RUNNING", "STOPPED"]


def test_it_ends_when_nobody_has_looked_for_a_while_and_what_it_saw_stays() -> None:
    watches = BackgroundStatuses(idle_s=1.5)
    watches.start("m", child(look(JobState.RUNNING), then=GOES_ON))
    process = watches._watches["m"].child
    for _ in range(20):  # as long as somebody looks, it goes on
        watched = watches.watched("m")
        assert watched is not None
        assert watched.running
        time.sleep(0.1)

    process.wait(60)  # nobody looks any more
    watched = seen_when(watches, lambda each: not each.running)

    assert watched.unwatched
    assert watched.look_count == 1
    watches.close()


def test_a_person_ends_it_and_watches_again(watches: BackgroundStatuses) -> None:
    watches.start("m", child(look(JobState.RUNNING), then=GOES_ON))
    first = watches._watches["m"].child
    watches.stop("m")
    assert first.wait(60) != 0
    assert not seen_when(watches, lambda each: not each.running).unwatched

    watches.start("m", child(look(JobState.RUNNING), then=GOES_ON))
    assert seen_when(watches, lambda each: each.look_count == 1).running
    assert watches.begun == 2


def test_it_ends_with_the_process_that_looks() -> None:
    watches = BackgroundStatuses()
    watches.start("m", child(then=GOES_ON))
    process = watches._watches["m"].child
    watches.close()
    assert process.poll() is not None


def test_looks_at_the_old_logs_and_messages_are_kept_beside(watches: BackgroundStatuses) -> None:
    logs = files.dump(seen([STILL]), indent=None)
    watches.start("m", child(logs, look(JobState.RUNNING), then=GOES_ON, message="out/x.json: expected a plan.\n"))
    watched = seen_when(watches, lambda each: each.look_count == 1 and bool(each.messages))
    assert watched.logs is not None
    assert [row.end for row in watched.logs.partitions] == [100]
    assert watched.messages == ("out/x.json: expected a plan.",)


def test_what_cannot_be_read_now_is_told_until_a_look_succeeds(watches: BackgroundStatuses) -> None:
    silent = "Cluster 'new': expected a Kafka broker, found none."
    later = f"import time\ntime.sleep(1)\nprint({silent!r}, file=sys.stderr, flush=True)\n{GOES_ON}"
    watches.start("m", child(look(JobState.RUNNING), then=later))
    assert seen_when(watches, lambda each: each.unread is not None).unread == silent
    watches.stop("m")

    again = f"import time\ntime.sleep(2)\nprint({look(JobState.RUNNING, 5)!r}, end='', flush=True)\n{GOES_ON}"
    watches.start("m", child(look(JobState.RUNNING), then=again, message=f"{silent}\n"))
    assert seen_when(watches, lambda each: each.look_count == 2).unread is None


def test_why_it_ended_is_kept(watches: BackgroundStatuses, tmp_path: Path) -> None:
    watches.start("m", statuses.command(tmp_path / "absent.yaml", None, still_for_s=60))
    error = seen_when(watches, lambda each: not each.running).error
    assert error is not None
    assert "absent.yaml" in error.problem
    assert error.fix

    watches.start("m", child(then="raise SystemExit(3)", message="Killed for its memory.\n"))
    assert seen_when(watches, lambda each: not each.running).ended == "Killed for its memory."

    watches.start("m", child(look(JobState.CAUGHT_UP)))
    watched = seen_when(watches, lambda each: not each.running)
    assert (watched.error, watched.ended) == (None, None), "all have caught up"


def test_a_line_that_is_no_look_is_an_error_and_stops_nobody(watches: BackgroundStatuses) -> None:
    broken = look(JobState.RUNNING).replace('"RUNNING"', '"FLYING"')
    watches.start("m", child(broken, look(JobState.STOPPED), then=GOES_ON))
    watched = seen_when(watches, lambda each: each.look_count == 1)
    assert watched.running
    assert watched.error is not None


def test_a_process_that_is_killed_inside_a_line_has_ended(watches: BackgroundStatuses) -> None:
    half = look(JobState.STOPPED)[:40]
    watches.start("m", child(look(JobState.RUNNING), half, then="import os\nos.kill(os.getpid(), 9)\n"))
    watched = seen_when(watches, lambda each: not each.running)
    assert (watched.look_count, watched.ended) == (1, "Its process ended with exit code -9.")


def test_the_command_is_one_that_the_command_line_takes(tmp_path: Path) -> None:
    arguments = statuses.command(tmp_path / "m.yaml", tmp_path / "out", still_for_s=30)
    error = call(*arguments[arguments.index("status") :]).refused()
    assert error["error"] == "ConfigError"
    assert "m.yaml" in error["problem"]


def test_a_recording_is_the_lines_that_were_printed() -> None:
    lines = [look(JobState.RUNNING), files.dump(seen([STILL]), indent=None), look(JobState.STOPPED, 5)]
    first, second = looks_of(lines)
    assert (first.at_ms, first.logs) == (0, None)
    assert second.at_ms == 5_000
    assert second.logs is not None
    assert isinstance(second.history, StatusHistory)
