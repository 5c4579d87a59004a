from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.clusters.reading import MinimumAcls
from offsetwise.console.answers import Answers, Question
from offsetwise.console.explore.clusters import summary
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, terms
from offsetwise.console.widgets.blocks import Offer, busy, draw_answer
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.model import Cluster
from offsetwise.streams.access import Granted, Permissions, Resource, Step, StepResult
from offsetwise.wording import clock, many, number
from offsetwise.wording.verdicts import Tone

_ICON: Final = {
    StepResult.OK: ":green[✓ ok]",
    StepResult.FAILED: ":red[! failed]",
    StepResult.SKIPPED: ":gray[– skipped]",
}
_SHOWN: Final = 12


def draw(answers: Answers, migration: Offered) -> None:
    blocks.section("Reaching the clusters")
    if migration.recorded:
        st.markdown(
            terms.said(":gray[The sample's clusters were recorded and do not run: no connection can be tested.]")
        )
    else:
        _reached(answers, migration)
    blocks.section("Minimum ACLs")
    st.markdown(
        ":gray[What reading this migration takes, and nothing more: no WRITE, CREATE, ALTER or DELETE. "
        "admin.properties are those of a user who may grant.]"
    )
    for side in Cluster:
        with guard.block(f"acls-{side}"):
            _acls(answers, migration.name, side)


def _reached(answers: Answers, migration: Offered) -> None:
    for column, side in zip(st.columns(2, border=True), Cluster, strict=True):
        with column:
            name = migration.old if side is Cluster.OLD else migration.new
            mark = summary.OLD if side is Cluster.OLD else summary.NEW
            st.markdown(f"**{mark}**" if name == side else f"**{mark} · {markdown(name)}**")
            with guard.block(f"connection-{side}"):
                _connection(answers, migration.name, side)
            with guard.block(f"permissions-{side}"):
                _permissions(answers, migration.name, side)


def _connection(answers: Answers, migration: str, side: Cluster) -> None:
    question = Question.of(Reader.connection, migration, side)
    offer = Offer(
        what=f"the steps to the {side} cluster",
        now="Test the connection",
        again="Test again",
        icon=":material/network_check:",
        key=f"connection-{side}",
    )
    answer = draw_answer(answers, question, offer)
    if answer is None or busy(answers, question):
        return
    failed = next((step for step in answer.value if step.state is StepResult.FAILED), None)
    total = sum(step.took_ms for step in answer.value)
    if failed is None:
        blocks.box(Tone.RIGHT, f"**Every step succeeded** in {number(total)} ms.")
    else:
        blocks.box(Tone.WRONG, f"**The step “{failed.name}” failed** after {number(total)} ms.")
    st.markdown(f":gray[tested {clock(answer.at)}]")
    for step in answer.value:
        _step(step)


def _step(step: Step) -> None:
    took = "" if step.state is StepResult.SKIPPED else f" :gray[{number(step.took_ms)} ms]"
    fix = f"  \n**What to do:** {sentence(step.fix)}" if step.fix else ""
    said = sentence(step.said)
    icon = ":orange[▲ ok, with a remark]" if step.state is StepResult.OK and step.fix else _ICON[step.state]
    st.markdown(f"{icon} **{step.name}**{took}  \n{f':gray[{said}]' if not fix else said}{fix}")


def _permissions(answers: Answers, migration: str, side: Cluster) -> None:
    question = Question.of(Reader.permissions, migration, side)
    offer = Offer(
        what=f"the permissions on the {side} cluster",
        now="Ask what the user may do",
        again="Ask again",
        icon=":material/key:",
        key=f"permissions-{side}",
    )
    answer = draw_answer(answers, question, offer)
    if answer is None or busy(answers, question):
        return
    shown = answer.value
    user = f"The user {markdown(repr(shown.user))}" if shown.user else "The user"
    writable = shown.writable
    if shown.authorizer is False:
        blocks.box(
            Tone.CAREFUL,
            "**This cluster checks no ACLs:** everybody who reaches it may write. Offsetwise does not, but nothing "
            "here would stop it. Use it only where that is meant.",
        )
    elif writable:
        blocks.box(
            Tone.CAREFUL,
            f"**{user} can write.** Reading never needs it. Take these operations away, so that a leaked secret "
            "harms nothing:",
        )
    elif any(granted.error for granted in shown.granted):
        blocks.box(Tone.UNKNOWN, f"**{user} could not be examined whole.**")
    else:
        blocks.box(Tone.RIGHT, f"**{user} can only read**, as far as was asked.")
    if shown.authorizer is not False:
        _lines([f"{_named(granted)}: {', '.join(granted.writing)}{_commit(granted)}" for granted in writable])
    lacking = [granted for granted in shown.granted if granted.missing]
    if lacking:
        st.markdown("**Missing for reading:**")
        _lines([f"{_named(granted)}: {', '.join(granted.missing)}" for granted in lacking])
    unread = [granted for granted in shown.granted if granted.error]
    if unread:
        st.markdown("**Not answered:**")
        _lines([f"{_named(granted)}: {markdown(granted.error or '')}" for granted in unread])
    st.markdown(
        f":gray[asked {clock(answer.at)} about the cluster, "
        f"{many(_count(shown, Resource.TOPIC), 'topic')} and {many(_count(shown, Resource.GROUP), 'group')}. "
        "The broker was asked; nothing was tried.]"
    )


def _count(permissions: Permissions, resource: Resource) -> int:
    return sum(1 for granted in permissions.granted if granted.resource is resource)


def _named(granted: Granted) -> str:
    return "the cluster" if granted.resource is Resource.CLUSTER else f"{granted.resource} {markdown(granted.name)}"


def _commit(granted: Granted) -> str:
    return " (may commit offsets)" if granted.resource is Resource.GROUP and "READ" in granted.writing else ""


def _lines(lines: list[str]) -> None:
    if not lines:
        return
    more = [f"- and {len(lines) - _SHOWN:,} more"] if len(lines) > _SHOWN else []
    st.markdown("\n".join([f"- {line}" for line in lines[:_SHOWN]] + more))


def _acls(answers: Answers, migration: str, side: Cluster) -> None:
    question = Question.of(Reader.minimum_acls, migration, side)
    offer = Offer(
        what="the checkpoints",
        now="Work them out",
        again="Work them out again",
        icon=":material/key:",
        key=f"acls-{side}",
        at_once=True,
    )
    with st.expander(f"{'● old' if side is Cluster.OLD else '◆ new'}: commands to copy"):
        answer = draw_answer(answers, question, offer)
        if answer is not None:
            _commands(answer.value)


def _commands(acls: MinimumAcls) -> None:
    if acls.unread:
        names = ", ".join(markdown(name) for name in acls.unread)
        blocks.box(Tone.UNKNOWN, f"These checkpoints could not be read, so their topics are missing below: {names}.")
    if not acls.topics:
        st.markdown("? No topic is known: the migration names no checkpoint that could be read, and maps no topic.")
    if not acls.commands:
        st.markdown("There is no command: this service has no ACLs. Its page in the documentation lists the rights.")
    for command in acls.commands:
        optional = ":gray-badge[optional] " if command.optional else ""
        st.markdown(f"{optional}{command.purpose}")
        blocks.command(command.command)
