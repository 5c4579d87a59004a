"""The decisions of a person about single partitions and whole topics, each with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console.plan.work import Drafted, Frozen, Work
from offsetwise.console.widgets import blocks, evidence, layout, selectors, table, terms
from offsetwise.console.widgets.escaping import cell, markdown, sentence
from offsetwise.console.widgets.table import Column, Columns, Selection
from offsetwise.model import AnyPosition, Override, PartitionComparison, PlannedPosition, Start
from offsetwise.plan.request import StartChoice
from offsetwise.ports.stream import position
from offsetwise.position import HIGHEST_OFFSET, OpaquePosition
from offsetwise.review.demo import name_of
from offsetwise.translation.alternatives import Alternative, alternatives
from offsetwise.wording import brief, many, number, verdicts
from offsetwise.wording.verdicts import Tone, Verdict

TITLE: Final = "Where each partition starts"
MAX_REASON: Final = 1_000
_LOOK, _DECIDED, _ALL = "needs a look first", "decided by a person", "by name"
_SAID: Final = "decision-refused"
_UNSET: Final = "leave-unset"
_PROOF_PX: Final = 430
"""The proof of one partition may be longer than all decisions on this page."""
_OFF: Final = "only somebody with the role author decides where a partition starts."
_OF_TOPIC: Final = (Start.EARLIEST, Start.LATEST)
_PARTITIONS: Final[Columns[tuple[PartitionComparison, PlannedPosition | None]]] = (
    Column("topic", lambda of: of[0].topic, 84, pinned=True),
    table.partition(lambda of: of[0].partition, pinned=True),
    Column("old offset", lambda of: of[0].old_offset, help="The next record to read on the old cluster."),
    Column(
        "translated",
        lambda of: of[0].new_offset,
        help="The position of the same record on the new cluster.",
        when=lambda rows: any(
            planned_position is None or planned_position.new_offset != row.new_offset for row, planned_position in rows
        ),
    ),
    Column(
        "planned",
        lambda of: None if of[1] is None else of[1].new_offset,
        None,
        "Where the plan resumes on the new cluster.",
    ),
    Column("how known", lambda of: _known(*of), 150),
    Column("replays ≤", lambda of: None if of[1] is None else of[1].replay, help="Records read twice, at most."),
    Column("skips ≤", lambda of: None if of[1] is None else of[1].skip, help="Records never read, at most."),
    Column("reason", lambda of: of[0].evidence.reason if of[1] is None else of[1].reason),
)
"""A partition, and its planned position; None if there is none."""
_DECISIONS: Final[Columns[tuple[str, str, str, str]]] = (
    Column("what", lambda decision: decision[0]),
    Column("starts at", lambda decision: decision[1]),
    Column("reason", lambda decision: decision[2]),
    Column("by", lambda decision: decision[3], heading="decided by"),
)


def draw(frozen: Frozen, work: Work, drafted: Drafted | None, *, by: str | None) -> None:
    """Draw where every partition starts, and what a person can decide about it.

    Args:
        frozen: What is drafted from.
        work: The decisions so far; the buttons change it.
        drafted: The draft; None if it is refused.
        by: The name that decisions are recorded under; None for a person who may not decide.
    """
    blocks.section(TITLE)
    rows = frozen.comparison.partitions
    with st.container(horizontal=True):
        order = selectors.choice("Show", [_LOOK, _DECIDED, _ALL], "show")
        topics = selectors.several("Topic", "topic", sorted({row.topic for row in rows}))
    comparisons = _chosen_rows(rows, topics, order, work)
    if not comparisons:
        why = "No partition is decided by a person." if order == _DECIDED else "No partition passes the filter."
        st.markdown(terms.said(why))
    else:
        generator, right = layout.two_columns("draft", main=3, right=2)
        with generator:
            row, name = _choose(frozen, comparisons, _planned(drafted))
            _decide(row, name, work, by)
        with right, st.container(height=_PROOF_PX):
            evidence.draw(frozen.comparison, row)
    if by is None:
        st.markdown(f":gray[Deciding is off: {terms.said(_OFF)}]")
    _topics(rows, work, by)
    if frozen.comparison.begins_by_setting:
        _without_commit(rows, work, by)
    _decided(work, by)


def _chosen_rows(
    rows: tuple[PartitionComparison, ...], topics: tuple[str, ...], order: str, work: Work
) -> tuple[PartitionComparison, ...]:
    comparisons = [row for row in rows if not topics or row.topic in topics]
    if order == _DECIDED:
        comparisons = [row for row in comparisons if row.topic_partition in work.overrides or row.topic in work.starts]
    comparisons.sort(key=lambda row: (row.topic, row.partition, row.source))
    if order == _LOOK:
        comparisons.sort(key=lambda row: (row.exactness.proven, *verdicts.urgency(row)))
    return tuple(comparisons)


def _planned(drafted: Drafted | None) -> dict[tuple[str, str, int], PlannedPosition]:
    return (
        {}
        if drafted is None
        else {
            (planned_position.source, planned_position.topic, planned_position.partition): planned_position
            for planned_position in drafted.plan.positions
        }
    )


def _choose(
    frozen: Frozen, rows: tuple[PartitionComparison, ...], planned: dict[tuple[str, str, int], PlannedPosition]
) -> tuple[PartitionComparison, str]:
    page = rows[table.page(len(rows))]
    names = selectors.row_names(page, among=frozen.comparison.partitions)
    selection = Selection(key="row", grid=f"draft-{frozen.id}-{abs(hash(names))}", names=names, first=0)
    selection.draw(
        table.prepared(_PARTITIONS, [(row, planned.get((row.source, row.topic, row.partition))) for row in page]),
        alt=terms.said(
            f"{many(len(page), 'partition')} with old offset, planned offset, how it is known, and what it costs."
        ),
    )
    index = selection.choose("Decide about", width=320)
    return page[index], names[index]


def _known(row: PartitionComparison, planned: PlannedPosition | None) -> Verdict:
    if planned is not None and planned.override is not None:
        return Verdict(icon="✎", word=f"decided: {planned.start}", tone=Tone.CAREFUL)
    return verdicts.EXACTNESS[(planned or row).exactness]


def _decide(row: PartitionComparison, name: str, work: Work, by: str | None) -> None:
    key = row.topic_partition
    there = work.overrides.get(key)
    said = st.session_state.pop(_SAID, None)
    opaque = isinstance(row.new_offset, OpaquePosition)
    _alternatives(row, name, work, by)
    needed = there is not None or said is not None or not row.exactness.proven
    title = f"Decide {'about' if needed else 'otherwise about'} {markdown(str(key))}"
    with st.expander(title, expanded=needed), st.form(f"decide-{name}", border=False):
        st.markdown(
            f"**{markdown(str(key))}** · old {brief(row.old_offset)} · translated {brief(row.new_offset)} "
            f"({verdicts.EXACTNESS[row.exactness]}) · new log {brief(row.new.log_start)} to {brief(row.new.hw)}"
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                terms.said("Another offset on the new cluster"),
                value="" if there is None else str(there.offset),
                key=f"offset-{name}",
                placeholder=f"such as {number(row.new_offset)}" if opaque else "digits only",
                max_chars=MAX_REASON if opaque else 40,
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
            blocks.box(Tone.WRONG, sentence(said))


def _alternatives(row: PartitionComparison, name: str, work: Work, by: str | None) -> None:
    choices = alternatives(row)
    if choices:
        st.markdown(
            "Below the translated offset, the new log holds records that the old one does not have. Two answers, each "
            "with its price:"
        )
    for index, alternative in enumerate(choices):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{number(alternative.offset)}**, {alternative.name}: {alternative.price}.", width="stretch")
            st.button(
                f"Take {number(alternative.offset)}",
                icon=":material/check:",
                key=f"alternative-{index}-{name}",
                disabled=by is None,
                on_click=_take,
                args=(work, row, name, alternative, by),
            )


def _take(work: Work, row: PartitionComparison, name: str, chosen: Alternative, by: str | None) -> None:
    st.session_state[f"offset-{name}"], st.session_state[f"reason-{name}"] = str(chosen.offset), chosen.reason
    _set(work, row, name, by)


def _set(work: Work, row: PartitionComparison, name: str, by: str | None) -> None:
    offset, reason = st.session_state[f"offset-{name}"].strip(), st.session_state[f"reason-{name}"].strip()
    known_positions = row.old_offset, row.new_offset, row.new.log_start
    wrong, at = wrong_with(offset, reason, *known_positions), position(offset, *known_positions)
    if wrong is not None or at is None or by is None:
        st.session_state[_SAID] = wrong or _OFF
        return
    work.overrides[row.topic_partition] = Override(offset=at, reason=reason, by=by)


def wrong_with(offset: str, reason: str, *known_positions: AnyPosition | None) -> str | None:
    """Describe what is wrong with a decision as it was typed; None if nothing is.

    >>> wrong_with("950", "seen in the log")
    >>> wrong_with("1e3", "x")
    "Expected an offset as digits from 0 to 9,223,372,036,854,775,807, found '1e3'. Nothing was changed."

    Args:
        offset: The position as typed.
        reason: Why it is right.
        *known_positions: Positions of the same partition; the typed one must be of the same kind.
    """
    if position(offset, *known_positions) is None:
        such = next(
            (candidate for candidate in known_positions if candidate is not None and not isinstance(candidate, int)),
            None,
        )
        how = f"an offset as digits from 0 to {HIGHEST_OFFSET:,}" if such is None else f"a position such as {such}"
        return f"Expected {how}, found {offset[:40]!r}. Nothing was changed."
    if not reason:
        return "Expected the reason why this offset is right, found none. Nothing was changed."
    return None


def _topics(rows: Sequence[PartitionComparison], work: Work, by: str | None) -> None:
    with st.expander(terms.said("Start a whole topic somewhere else")):
        st.markdown(
            terms.said(
                "Instead of the translated offsets. By a time, or where another group is: "
                "`offsetwise draft --start TOPIC=timestamp:TIME`, which reads the clusters."
            )
        )
        with st.form("start-of-topic", border=False):
            topics = sorted({row.topic for row in rows})
            topic = st.selectbox(terms.said("Topic"), topics, key="start-topic", format_func=cell)
            st.selectbox("Start", [start.value for start in _OF_TOPIC], key="start-at", width=200)
            st.text_input(
                "Why it is right",
                key="start-reason",
                placeholder="required; a reviewer reads it",
                max_chars=MAX_REASON,
            )
            st.form_submit_button(
                terms.said("Decide for the topic"),
                icon=":material/edit:",
                disabled=by is None or topic is None,
                on_click=_start,
                args=(work, by),
            )
        said = st.session_state.pop(f"{_SAID}-topic", None)
        if said is not None:
            blocks.box(Tone.WRONG, said)


def _without_commit(rows: Sequence[PartitionComparison], work: Work, by: str | None) -> None:
    unset = [row for row in rows if row.old_offset is None]
    if unset:
        st.checkbox(
            f"Write nothing for {many(len(unset), 'partition')} without a commit",
            value=work.leaves_unset,
            key=_UNSET,
            help="The client's auto.offset.reset decides there, unless another offset is decided for a partition.",
            disabled=by is None,
            on_change=_leave_unset,
            args=(work,),
        )


def _leave_unset(work: Work) -> None:
    work.leaves_unset = bool(st.session_state[_UNSET])


def _start(work: Work, by: str | None) -> None:
    topic, at = st.session_state["start-topic"], Start(st.session_state["start-at"])
    reason = st.session_state["start-reason"].strip()
    if not reason or by is None:
        st.session_state[f"{_SAID}-topic"] = "Expected the reason why this start is right. Nothing was changed."
        return
    work.starts[topic] = StartChoice(topic=topic, start=at, reason=reason, by=by)


def _decided(work: Work, by: str | None) -> None:
    results = [
        (str(key), str(override.offset), override.reason, name_of(override.by))
        for key, override in work.overrides.items()
    ]
    results += [(topic, str(choice.start), choice.reason, name_of(choice.by)) for topic, choice in work.starts.items()]
    if not results:
        return
    st.markdown(f"**Decided by people: {number(len(results))}**")
    table.paged(
        _DECISIONS, results, "decided", alt=f"{many(len(results), 'decision')} of people, each with its reason."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = selectors.choice("Take back", [decision[0] for decision in results], "take-back", width=320)
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
    for key in [override for override in work.overrides if str(override) == name]:
        del work.overrides[key]
