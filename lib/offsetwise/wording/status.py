from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from offsetwise.model import JobState, JobStatus, Status
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone, Verdict

STATE: Final = {
    JobState.READY: Verdict(icon="·", word="ready", tone=Tone.UNKNOWN),
    JobState.RUNNING: Verdict(icon="·", word="running", tone=Tone.UNKNOWN),
    JobState.STOPPED: Verdict(icon="▲", word="stopped", tone=Tone.CAREFUL),
    JobState.MIRRORED: Verdict(icon="▲", word="mirrored", tone=Tone.CAREFUL),
    JobState.COMPARED: Verdict(icon="▲", word="compared", tone=Tone.CAREFUL),
    JobState.PLANNED: Verdict(icon="▲", word="planned", tone=Tone.CAREFUL),
    JobState.APPROVED: Verdict(icon="▲", word="approved", tone=Tone.CAREFUL),
    JobState.APPLIED: Verdict(icon="▲", word="applied", tone=Tone.CAREFUL),
    JobState.STARTED: Verdict(icon="✓", word="started", tone=Tone.RIGHT),
    JobState.CAUGHT_UP: Verdict(icon="✓", word="caught up", tone=Tone.RIGHT),
    JobState.BLOCKED: Verdict(icon="!", word="blocked", tone=Tone.WRONG),
    JobState.STALE: Verdict(icon="!", word="stale", tone=Tone.WRONG),
    JobState.DIFFERENT: Verdict(icon="!", word="different", tone=Tone.WRONG),
    JobState.ROLLED_BACK: Verdict(icon="▲", word="rolled back", tone=Tone.CAREFUL),
}


def counted(jobs: Iterable[JobStatus]) -> str:
    """Count jobs by state, failed ones first, then from the furthest to the least far."""
    counts = Counter(job.state for job in jobs)
    order = [state for state in JobState if not state.is_on_its_way]
    order += [state for state in reversed(JobState) if state.is_on_its_way]
    return ", ".join(f"{counts[state]:,} {STATE[state].word}" for state in order if counts[state])


def answer(status: Status) -> str:
    if not status.jobs:
        return "No job."
    if status.is_done:
        return f"All of {many(len(status.jobs), 'job')} caught up."
    return f"{many(len(status.jobs), 'job')}: {counted(status.jobs)}."
