"""What a person decides about single partitions and whole topics, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console import choosing, paging, table
from offsetwise.console.checkpoint.frames import integers
from offsetwise.console.drafting.drafted import Drafted, Frozen
from offsetwise.console.drafting.work import Work
from offsetwise.console.escaping import cell, markdown
from offsetwise.console.selecting import Selection
from offsetwise.model import Override, PartitionComparison, PlannedPosition, Start, TopicPartition
from offsetwise.plan.request import StartChoice
from offsetwise.wording import many, number, verdicts

_OFFSET: Final = re.compile(r"[0-9]{1,19}")
_HIGHEST: Final = 2**63 - 1
MAX_REASON: Final = 1_000
_LOOK, _DECIDED, _ALL = "needs a look first", "decided by a person", "by topic"
_SAID: Final = "decision-refused"
_OFF: Final = "only somebody with the role author decides where a partition starts."
_OF_TOPIC: Final = (Start.EARLIEST, Start.LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The partitions of one page, with what is planned for them."""

    rows: tuple[PartitionComparison, ...]
    planned: tuple[PlannedPosition | None, ...]


def draw(frozen: Frozen, work: Work, made: Drafted | None, *, by: str | None) -> None:
    """Draw where every partition starts, and what a person can decide about it.

    Args:
        frozen: What is drafted from.
        work: What was decided so far; changed by the buttons.
        made: The draft; None where it may not be made as asked for.
        by: The name that decisions are recorded under; None for somebody who may not decide.
    """
    st.subheader("Where each partition starts", anchor=False)
    rows = frozen.observed.comparison.partitions
    with st.container(horizontal=True):
        order = choosing.choice("Show", [_LOOK, _DECIDED, _ALL], "show")
        topics = choosing.several("Topic", "topic", sorted({row.topic for row in rows}))
    kept = _kept(rows, topics, order, work)
    if not kept:
        st.markdown("No partition is decided by a person." if order == _DECIDED else "No partition passes the filter.")
    else:
        row, name = _choose(frozen, kept, _planned(made))
        _decide(row, name, work, by)
    if by is None:
        st.markdown(f":gray[Deciding is off: {_OFF}]")
    _topics(rows, work, by)
    _decided(work, by)


def _kept(
    rows: tuple[PartitionComparison, ...], topics: tuple[str, ...], order: str, work: Work
) -> tuple[PartitionComparison, ...]:
    made = [row for row in rows if not topics or row.topic in topics]
    if order == _DECIDED:
        made = [row for row in made if _key(row) in work.overrides or row.topic in work.starts]
    made.sort(key=lambda row: (row.topic, row.partition, row.source))
    if order == _LOOK:
        made.sort(key=lambda row: (row.exactness.proven, *verdicts.urgency(row)))
    return tuple(made)


def _planned(made: Drafted | None) -> dict[tuple[str, str, int], PlannedPosition]:
    return {} if made is None else {(one.source, one.topic, one.partition): one for one in made.plan.positions}


def _choose(
    frozen: Frozen, rows: tuple[PartitionComparison, ...], planned: dict[tuple[str, str, int], PlannedPosition]
) -> tuple[PartitionComparison, str]:
    page = rows[paging.page(len(rows))]
    shown = Shown(rows=page, planned=tuple(planned.get((row.source, row.topic, row.partition)) for row in page))
    names = choosing.row_names(page, among=frozen.observed.comparison.partitions)
    selection = Selection(key="row", grid=f"draft-{frozen.id}-{abs(hash(names))}", names=names, first=0)
    frame = frame_of(shown)
    columns = {
        name: st.column_config.Column(width=width, alignment=alignment, pinned=name in ("topic", "p"))
        for name, (width, alignment) in table.layout(frame, {"topic": 120, "p": 44, "how known": 150}).items()
    }
    selection.draw(
        table.printed(frame),
        columns=columns,
        alt=f"{many(len(page), 'partition')} with old offset, planned offset, how it is known, and what it costs.",
    )
    place = selection.choose("Decide about", width=320)
    return page[place], names[place]


def frame_of(shown: Shown) -> pd.DataFrame:
    """Give one row per partition. A missing planned offset means that nothing is planned."""
    positions = shown.planned
    return pd.DataFrame(
        {
            "topic": [cell(row.topic) for row in shown.rows],
            "p": integers([row.partition for row in shown.rows]),
            "old offset": integers([row.old_offset for row in shown.rows]),
            "translated": integers([row.new_offset for row in shown.rows]),
            "planned": integers([None if one is None else one.new_offset for one in positions]),
            "how known": [_known(row, one) for row, one in zip(shown.rows, positions, strict=True)],
            "replays ≤": integers([None if one is None else one.replay for one in positions]),
            "skips ≤": integers([None if one is None else one.skip for one in positions]),
            "reason": [
                cell(row.evidence.reason if one is None else one.reason)
                for row, one in zip(shown.rows, positions, strict=True)
            ],
        }
    )


def _known(row: PartitionComparison, one: PlannedPosition | None) -> str:
    if one is None:
        return str(verdicts.EXACTNESS[row.exactness])
    if one.override is not None:
        return f"✎ decided: {one.start}"
    return str(verdicts.EXACTNESS[one.exactness])


def _decide(row: PartitionComparison, name: str, work: Work, by: str | None) -> None:
    key = _key(row)
    there = work.overrides.get(key)
    said = st.session_state.pop(_SAID, None)
    with st.form(f"decide-{name}", border=True):
        st.markdown(
            f"**{markdown(str(key))}** · old {number(row.old_offset)} · translated {number(row.new_offset)} "
            f"({verdicts.EXACTNESS[row.exactness]}) · new log {number(row.new.log_start)} to {number(row.new.hw)}"
        )
        st.text_input(
            "Another offset on the new cluster",
            value="" if there is None else str(there.offset),
            key=f"offset-{name}",
            placeholder="digits only",
            max_chars=40,
        )
        st.text_input(
            "Why it is right",
            value="" if there is None else there.reason,
            key=f"reason-{name}",
            placeholder="required; a reviewer reads it",
            max_chars=MAX_REASON,
        )
        st.form_submit_button(
            "Decide",
            icon=":material/edit:",
            disabled=by is None,
            on_click=_set,
            args=(work, row, name, by),
        )
        if said is not None:
            st.error(markdown(said), icon=":material/error:")


def _set(work: Work, row: PartitionComparison, name: str, by: str | None) -> None:
    """Take a decision over into the work, or say what is wrong with it."""
    offset, reason = st.session_state[f"offset-{name}"].strip(), st.session_state[f"reason-{name}"].strip()
    wrong = wrong_with(offset, reason)
    if wrong is not None or by is None:
        st.session_state[_SAID] = wrong or _OFF
        return
    work.overrides[_key(row)] = Override(offset=int(offset), reason=reason, by=by)


def wrong_with(offset: str, reason: str) -> str | None:
    """Say what is wrong with a decision as it was typed; None where nothing is.

    >>> wrong_with("950", "seen in the log")
    >>> wrong_with("1e3", "x")
    "Expected an offset as digits from 0 to 9,223,372,036,854,775,807, found '1e3'. Nothing was changed."
    """
    if not _OFFSET.fullmatch(offset) or int(offset) > _HIGHEST:
        return f"Expected an offset as digits from 0 to {_HIGHEST:,}, found {offset[:40]!r}. Nothing was changed."
    if not reason:
        return "Expected the reason why this offset is right, found none. Nothing was changed."
    return None


def _topics(rows: Sequence[PartitionComparison], work: Work, by: str | None) -> None:
    with st.expander("Start a whole topic somewhere else"):
        st.markdown(
            "In the place of the translated offsets. By a time, or where another group stands: "
            "`offsetwise draft --start TOPIC=timestamp:TIME`, which reads the clusters."
        )
        with st.form("start-of-topic", border=False):
            topic = st.selectbox("Topic", sorted({row.topic for row in rows}), key="start-topic", format_func=cell)
            st.selectbox("Start", [each.value for each in _OF_TOPIC], key="start-at", width=200)
            st.text_input("Why it is right", key="start-reason", max_chars=MAX_REASON)
            st.form_submit_button(
                "Decide for the topic",
                icon=":material/edit:",
                disabled=by is None or topic is None,
                on_click=_start,
                args=(work, by),
            )
        said = st.session_state.pop(f"{_SAID}-topic", None)
        if said is not None:
            st.error(said, icon=":material/error:")


def _start(work: Work, by: str | None) -> None:
    topic, at = st.session_state["start-topic"], Start(st.session_state["start-at"])
    reason = st.session_state["start-reason"].strip()
    if not reason or by is None:
        st.session_state[f"{_SAID}-topic"] = "Expected the reason why this start is right. Nothing was changed."
        return
    work.starts[topic] = StartChoice(topic=topic, start=at, reason=reason, by=by)


def _decided(work: Work, by: str | None) -> None:
    made = [(str(key), str(one.offset), one.reason, one.by) for key, one in work.overrides.items()]
    made += [(topic, str(one.start), one.reason, one.by) for topic, one in work.starts.items()]
    if not made:
        return
    st.markdown(f"**Decided by people: {number(len(made))}**")
    frame = pd.DataFrame(
        {
            "what": [cell(each[0]) for each in made],
            "starts at": [each[1] for each in made],
            "reason": [cell(each[2]) for each in made],
            "by": [cell(each[3]) for each in made],
        }
    )
    paging.draw(frame, "decided", alt=f"{many(len(made), 'decision')} of people, each with its reason.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = choosing.choice("Take back", [each[0] for each in made], "take-back", width=320)
        st.button(
            "Take back",
            icon=":material/undo:",
            key="take-back-now",
            disabled=by is None,
            on_click=_take_back,
            args=(work, name),
        )


def _take_back(work: Work, name: str) -> None:
    work.starts.pop(name, None)
    for key in [each for each in work.overrides if str(each) == name]:
        del work.overrides[key]


def _key(row: PartitionComparison) -> TopicPartition:
    return TopicPartition(topic=row.topic, partition=row.partition)
