"""The Clusters screen: both clusters side by side, their differences, the mirror's progress, and how to reach them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from offsetwise.clusters.reading import ReadCluster
from offsetwise.console.answers import Answers, Question
from offsetwise.console.explore.clusters import access, mirror, retention, sinks, summary, topics
from offsetwise.console.explore.clusters.mirror import groups as draw_groups
from offsetwise.console.explore.clusters.summary import NO_TOPIC, HeldCluster, View, view
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, layout, terms
from offsetwise.console.widgets.blocks import Offer, busy, draw_answer
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.console.widgets.evidence import linked
from offsetwise.model import Cluster, Snapshot
from offsetwise.wording import many, read_at
from offsetwise.workflow import check_two_clusters

_SHOWN_PROBLEMS: Final = 20


def draw(answers: Answers, migration: Offered, head: guard.Head) -> None:
    answers_by_side = _cards(answers, migration)
    shown = view(answers_by_side[Cluster.OLD], answers_by_side[Cluster.NEW])
    head.context(_caption(migration, shown))
    read = False
    with guard.block("clusters"):
        if shown.old is not None and shown.new is not None and not migration.may_be_one:
            check_two_clusters(shown.old.snapshot, shown.new.snapshot)
        read = shown.old is not None or shown.new is not None
        if read:
            blocks.box(*summary.answer(shown))
    _tabs(answers, migration, answers_by_side, shown, read=read)


def _tabs(
    answers: Answers, migration: Offered, answers_by_side: dict[Cluster, HeldCluster | None], shown: View, *, read: bool
) -> None:
    """Draw what was read, and how to reach the clusters, in tabs: without tabs the page is five screens long.

    The tabs are the same before and after a reading: the browser keeps a tab open even if others are added before it.
    """
    parts: dict[str, Callable[[], None]] = {
        "Topics": partial(topics.draw, shown) if shown.pairs else _no_topic,
        "Groups": partial(draw_groups, shown),
        "Mirror": partial(mirror.mirror_health, shown),
        "Retention": partial(retention.draw, answers, migration, answers_by_side),
    }
    if not read:
        parts = dict.fromkeys(parts, partial(_unread, requested=any(answers_by_side.values())))
    if migration.sinks:
        parts[sinks.TITLE] = partial(sinks.draw, answers, migration)
    parts["Access"] = partial(access.draw, answers, migration)
    layout.tabs({title: partial(_kept_apart, title, draw) for title, draw in parts.items()})


def _unread(*, requested: bool) -> None:
    if requested:
        st.markdown(":gray[Not shown, for the reason above.]")
    else:
        st.markdown(terms.said(":gray[Not read yet: read one or both clusters above.]"))


def _no_topic() -> None:
    st.markdown(f":gray[{terms.said(f'No topic to show. {NO_TOPIC}')}]")


def _kept_apart(key: str, draw: Callable[[], None]) -> None:
    with guard.block(key):
        draw()


def _caption(migration: Offered, shown: View) -> str:
    ages = [
        "not read yet" if read is None else markdown(read_at(read.snapshot.taken_at, datetime.now(UTC)))
        for read in (shown.old, shown.new)
    ]
    message = ages[0] if ages[0] == ages[1] else f"old {ages[0]}, new {ages[1]}"
    return f"{blocks.clusters(migration.old, migration.new)} · {message}"


def _cards(answers: Answers, migration: Offered) -> dict[Cluster, HeldCluster | None]:
    questions = {side: Question.of(Reader.cluster, migration.name, side) for side in Cluster}
    if not migration.recorded and not any(
        answers.cached(question) or busy(answers, question) or answers.reading(question)
        for question in questions.values()
    ):
        with st.container(border=True):
            st.markdown("**Nothing was read yet.**")
            st.markdown(
                terms.said(
                    "Reading asks both clusters for their topics, logs, configurations and the migration's groups."
                )
                + " MirrorMaker's own topics are read too. Nothing is written."
            )
            st.button(
                terms.said("Read both clusters"),
                type="primary",
                icon=":material/hub:",
                key="read-both",
                on_click=_read_all,
                args=(answers, tuple(questions.values())),
            )
    results: dict[Cluster, HeldCluster | None] = {}
    columns = st.columns(2, border=True)
    for column, (side, question) in zip(columns, questions.items(), strict=True):
        with column:
            results[side] = _card(answers, migration, side, question)
    return results


def _read_all(answers: Answers, questions: tuple[Question[ReadCluster], ...]) -> None:
    for question in questions:
        answers.read(question)


def _card(answers: Answers, migration: Offered, side: Cluster, question: Question[ReadCluster]) -> HeldCluster | None:
    name = migration.old if side is Cluster.OLD else migration.new
    mark = f":blue[**{summary.OLD}**]" if side is Cluster.OLD else f":orange[**{summary.NEW}**]"
    st.markdown(mark if name == side else f"{mark} · **{markdown(name)}**")
    facts = st.container()
    offer = Offer(
        what=terms.said(f"the {side} cluster"),
        now=terms.said("Read this cluster"),
        again="Read again",
        icon=":material/hub:",
        key=f"cluster-{side}",
    )
    answer = draw_answer(answers, question, offer)
    with facts:
        if answer is not None:
            _facts(answer.value.snapshot)
        elif answers.reading(question) is None:
            st.markdown(":gray[not read yet]")
    return answer


def _facts(snapshot: Snapshot) -> None:
    st.markdown(f":gray[{markdown(read_at(snapshot.taken_at, datetime.now(UTC)))}]")
    if snapshot.cluster_id is None:
        st.markdown("? cluster id unknown")
    else:
        st.code(plain(snapshot.cluster_id), language=None, wrap_lines=True)
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    st.markdown(
        f"{many(len(snapshot.topics), terms.said('topic'))} · {many(partitions, terms.said('partition'))} · "
        f"{many(len(snapshot.groups), 'group')} asked about"
    )
    if snapshot.problems:
        with st.expander(f"▲ {many(len(snapshot.problems), 'problem')} while reading"):
            for problem in snapshot.problems[:_SHOWN_PROBLEMS]:
                st.markdown(f"- **{linked(problem.code)}**: {sentence(problem.message)} {sentence(problem.fix)}")
            if len(snapshot.problems) > _SHOWN_PROBLEMS:
                st.markdown(f":gray[and {len(snapshot.problems) - _SHOWN_PROBLEMS:,} more: they are in the JSON file.]")
