"""The five states of a block: loading, empty, denied, unavailable, error. One dead block never blanks the rest."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.console.answers import Answer, Answers, CachedAnswer, Question, Reading
from offsetwise.console.widgets import terms
from offsetwise.console.widgets.escaping import markdown, plain, sentence
from offsetwise.errors import AccessError, ClusterAuthError, ClusterUnreachableError, OffsetwiseError, PlanError
from offsetwise.wording import clock, duration, number
from offsetwise.wording.verdicts import Tone

CHART_OPTIONS: Final = {"showSendToCloud": False, "displaylogo": False, "displayModeBar": False}
_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    what: str
    """As in "Reading … is done". Markdown, names escaped."""
    now: str
    """On the button while nothing was read."""
    again: str
    icon: str
    key: str
    """Tells the buttons of several offers on one page apart."""
    why: str = ""
    """What is read, in a sentence or two; nothing where the page around it says so."""
    at_once: bool = False
    """Read when the page opens. For what costs little, and asks no cluster."""
    stop: str | None = None
    """On the button that stops the reading; None for what cannot be stopped."""


_POLL_S: Final = 0.5
_CARD_PX: Final = 230
_CARD_PADDING_PX: Final = 48
_DIGIT_PX: Final = 20
"""A card's number is cut where it does not fit."""
_BOX: Final = {
    Tone.WRONG: (st.error, ":material/error:"),
    Tone.CAREFUL: (st.warning, ":material/warning:"),
    Tone.UNKNOWN: (st.info, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def live(
    answers: Answers, question: Question[Answer], offer: Offer, *, actions: DeltaGenerator | None = None
) -> CachedAnswer[Answer] | None:
    """Draw the state of an answer - not read, being read, failed, held - and give it if it is there.

    Waits in place while it is being read: for a page with nothing else to show, and for what is there at once.
    `draw_answer` draws the same without waiting. A recorded answer draws nothing. After a failure the answer of
    before is given, with its time said. `actions` is where the button stands that reads again; else it stands here.
    """
    # In this order: an answer is held before its reading is forgotten, so that one of both is seen.
    reading = answers.reading(question)
    answer = answers.cached(question)
    if answers.recorded(question):
        return answer
    with st.empty().container():
        if reading is None and answer is None and offer.at_once:
            reading = answers.read(question)
        if reading is not None and not reading.outcome.done():
            stop_button(answers, question, offer, reading)
            loading(reading, offer.what)
            st.rerun()
        error = None if reading is None else reading.error
        if answer is None and error is None:
            answer = answers.cached(question)  # a small reading ends before anybody looks
        ended(answers, question, offer, answer, error, actions=actions)
    return answer


def ended(
    answers: Answers,
    question: Question[Answer],
    offer: Offer,
    answer: CachedAnswer[Answer] | None,
    error: BaseException | None,
    *,
    actions: DeltaGenerator | None = None,
) -> None:
    start = partial(_start, answers, question)
    if isinstance(error, Exception):
        note = f"What was read at {clock(answer.at)} is still shown." if answer else ""
        failed(error, retry=start, key=offer.key, note=note)
    elif answer is not None:
        with actions or nullcontext():
            st.button(offer.again, icon=":material/refresh:", key=f"{offer.key}-again", on_click=start)
    else:
        # In one block, which the steps then take: a second element would stay on screen beside them.
        with st.container(border=bool(offer.why)):
            if offer.why:
                st.markdown(f"**Nothing was read yet.**  \n{offer.why}")
            kind: Literal["primary", "secondary"] = "primary" if offer.why else "secondary"
            st.button(offer.now, type=kind, icon=offer.icon, key=f"{offer.key}-now", on_click=start)


def _start(answers: Answers, question: Question[Any]) -> None:
    answers.read(question)


def stop_button(answers: Answers, question: Question[Any], offer: Offer, reading: Reading[Any]) -> None:
    if offer.stop:
        stopping = reading.stopped.is_set()
        st.button(
            offer.stop,
            icon=":material/stop:",
            key=f"{offer.key}-stop",
            disabled=stopping,
            help="It stops at its next step." if stopping else None,
            on_click=answers.stop,
            args=(question,),
        )


def under_way(reading: Reading[Any], what: str) -> str:
    return f"{'Stopping' if reading.stopped.is_set() else 'Reading'} {what} …"


def _elapsed(reading: Reading[Any]) -> str:
    """Describe for how long a reading has gone on, and how long the one before it took. Markdown."""
    before = reading.took_before_s
    took = "" if before is None else f"; it took {_seconds(before)} the last time"
    return f":gray[{_seconds(reading.elapsed_s())} so far{took}]"


def _seconds(amount: float) -> str:
    return duration(1_000 * round(amount))


def loading(reading: Reading[Any], what: str) -> None:
    """Show the named steps of a reading until it ends. Its outcome is left to the caller."""
    with st.status(under_way(reading, what), expanded=True) as status:
        elapsed = st.empty()
        lines: dict[str, DeltaGenerator] = {}
        while not reading.outcome.done():
            elapsed.markdown(_elapsed(reading))
            for name in list(reading.steps):
                if name not in lines:
                    lines[name] = st.empty()
                draw_step(lines[name], reading, name)
            time.sleep(_POLL_SECONDS)
        failed = reading.outcome.exception() is not None
        status.update(
            label=f"Reading {what} {'stopped' if failed else 'is done'}",
            state="error" if failed else "complete",
            expanded=False,
        )


def draw_step(slot: DeltaGenerator, reading: Reading[Any], name: str) -> None:
    done, total = reading.steps[name]
    remaining_s = reading.remaining_s(name)
    amount = f" · {done:,} of {total:,}" if total > 1 else ""
    remaining = "" if remaining_s is None else f" · about {_seconds(max(1, remaining_s))} left"
    slot.progress(min(1.0, done / total) if total > 0 else 0.0, text=f"{markdown(name)}{amount}{remaining}")


def section(title: str, *, shown: str = "") -> None:
    """Head a part of a page, so that `contents` leads to it. Where given, `shown` is its heading. Markdown."""
    st.header(shown or terms.said(title), anchor=_anchor(title))


def contents(*titles: str) -> None:
    st.markdown(":gray[On this page:] " + " · ".join(f"[{terms.said(title)}](#{_anchor(title)})" for title in titles))


def clusters(old: str, new: str) -> str:
    r"""Return from which cluster to which a migration goes, as Markdown.

    >>> clusters("eu-west", "eu_central")
    '**eu\\-west** → **eu\\_central**'
    """
    return f"**{markdown(old)}** → **{markdown(new)}**"


def lead_on(label: str, page: str, query: Mapping[str, str], *, icon: str, next_step: bool = True) -> None:
    """Draw the link that goes on to another page with what is shown here.

    It is no button: Streamlit refuses to switch to a page with what a widget of this one has in the address.

    Args:
        label: Of the link. Markdown, names escaped.
        page: A file under `pages/`.
        query: What the page is to show.
        icon: Beside the label.
        next_step: Whether it is what there is to do now; else the label is a plain one.
    """
    st.page_link(Path(page), label=f"**{label}**" if next_step else label, icon=icon, query_params=dict(query))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def command(lines: str) -> None:
    """Draw a command line to copy, in which no option breaks: a browser would break `--new` between its hyphens."""
    # Of the languages that the browser colours, only this one has whole options for its pieces; the style of the page
    # takes the colours away.
    st.code(lines, language="batch", wrap_lines=True)


def empty(why: str, next_step: str, do: str | None = None) -> None:
    with st.container(border=True):
        st.markdown(f"**{why}**")
        st.markdown(next_step)
        if do:
            command(do)


def denied(why: str, *, permission: str, next_step: str, shown: str | None = None) -> None:
    with st.container(border=True):
        st.warning(f"**Locked**  \n{why}", icon=":material/lock:")
        st.markdown(f"**What is needed:** {permission}.  \n{next_step}")
        if shown:
            st.code("\n".join(map(plain, shown.splitlines())), language=None, wrap_lines=True)


def toast(tone: Tone, text: str) -> None:
    """Show for a few seconds in the corner of the window what came of a button, wherever the page is scrolled to.

    Args:
        tone: Whether it went right.
        text: Markdown, names escaped.
    """
    st.toast(f"**{tone.icon}** {text}", duration="long")


def failed(error: Exception, *, retry: Callable[[], None] | None = None, key: str = "retry", note: str = "") -> None:
    """Show an error as problem and fix in one box, with a way to try again, and its details folded.

    Args:
        error: What went wrong. One that is not ours says so and asks for a report.
        retry: What "Retry" does; None leaves the button out.
        key: Tells several error blocks on one page apart.
        note: What is still shown although this failed.
    """
    icon, heading = _kind(error)
    if isinstance(error, OffsetwiseError):
        problem, fix = error.problem, error.fix
    else:
        problem = "An unexpected error occurred."
        fix = "Try again. If it comes back, report it with the details below."
    st.error(f"**{heading}**  \n{sentence(problem)}  \n**What to do:** {sentence(fix)}", icon=icon)
    if note:
        st.markdown(f":gray[{note}]")
    if retry is not None:
        st.button("Retry", icon=":material/refresh:", key=f"{key}-button", on_click=retry)
    with st.expander("Details"):
        st.code("\n".join(_chain(error)), language=None, wrap_lines=True)


def _kind(error: Exception) -> tuple[str, str]:
    if isinstance(error, (AccessError, ClusterAuthError)):
        return ":material/lock:", "Not permitted"
    if isinstance(error, ClusterUnreachableError):
        return ":material/cloud_off:", "The cluster does not answer"
    if isinstance(error, PlanError):
        return ":material/block:", "This plan is not allowed"
    return ":material/error:", "This could not be read"


def _chain(error: BaseException) -> list[str]:
    lines = [
        f"{type(error).__name__}: {plain(str(error))}" if isinstance(error, OffsetwiseError) else type(error).__name__
    ]
    cause = error.__cause__
    return lines if cause is None else [*lines, *(f"caused by {line}" for line in _chain(cause))]


def draw_answer(answers: Answers, question: Question[Answer], offer: Offer) -> CachedAnswer[Answer] | None:
    """Draw whether the answer was read, is being read, or failed, and give the last one there is.

    What is drawn above it takes what is given here: an answer may come while the page is being drawn, and nothing
    would draw it again.
    """
    reading = answers.reading(question)
    answer = answers.cached(question)
    if answers.recorded(question):
        return answer
    if reading is None and answer is None and offer.at_once:
        reading = answers.read(question)
    if reading is not None and not reading.outcome.done():
        st.fragment(_steps, run_every=_POLL_S)(answers, question, offer)
        return answer
    error = None if reading is None else reading.error
    answer = answer or answers.cached(question)  # a small reading ends before anybody looks
    # In one place, which the steps then take: what one fragment drew before the fragment in it stays on screen.
    with st.empty().container():
        ended(answers, question, offer, answer, error)
    return answer


def busy(answers: Answers, question: Question[Any]) -> bool:
    reading = answers.reading(question)
    return reading is not None and not reading.outcome.done()


def _steps(answers: Answers, question: Question[Any], offer: Offer) -> None:
    """Show how far the reading is, again and again.

    Waiting in a loop would not do: Streamlit lets no click inside a fragment interrupt what runs.
    """
    reading = answers.reading(question)
    if reading is None or reading.outcome.done():
        st.rerun()
    stop_button(answers, question, offer, reading)
    # Not as a context: leaving one would call it complete.
    status = st.status(under_way(reading, offer.what), expanded=True)
    status.markdown(_elapsed(reading))
    for step in list(reading.steps):
        draw_step(status, reading, step)


def box(tone: Tone, text: str) -> None:
    """Draw a verdict or an answer, in the same box and with the same icon on every page. Markdown, names escaped."""
    draw, icon = _BOX[tone]
    draw(text, icon=icon)


class Card(NamedTuple):
    label: str
    value: str
    meaning: str | None = None
    """Shown when the pointer rests on the label."""
    tone: Tone | None = None
    """What the number says of the job; None where it says neither good nor bad."""
    note: str | None = None
    """Shown below the number. Markdown."""


def cards(shown: Sequence[Card]) -> None:
    longest = max(len(card.value) for card in shown)
    width = max(_CARD_PX, _CARD_PADDING_PX + _DIGIT_PX * longest)
    with st.container(horizontal=True):
        for index, card in enumerate(shown):
            if card.note is None:
                _metric(card, border=True)
            else:
                with st.container(border=True, width=width, height="stretch", gap=None, key=f"card-{index}"):
                    _metric(card, border=False)
                    st.markdown(card.note)


def _metric(card: Card, *, border: bool) -> None:
    value, icon = card.value, None
    if card.tone is not None:
        value, icon = f":{card.tone.colour}[{card.value}]", _BOX[card.tone][1]
    meaning = None if card.meaning is None else terms.said(card.meaning)
    # Not "stretch": where cards take two rows in a column, each would be as tall as both, and lie on what follows.
    st.metric(terms.said(card.label), value, border=border, help=meaning, icon=icon, height="content")


def counted(
    label: str, count: int | None, meaning: str, tone: Tone | None = None, *, printed: Callable[[int], str] = number
) -> Card:
    """Return the card of a count that has a tone unless it is 0; one that is not known says so.

    >>> counted("Unread", 1050, "Records.", Tone.WRONG)
    Card(label='Unread', value='1,050', meaning='Records.', tone=<Tone.WRONG: 'wrong'>, note=None)
    >>> counted("Unread", 0, "Records.", Tone.WRONG).tone, counted("Unread", None, "Records.", Tone.WRONG).tone
    (None, <Tone.UNKNOWN: 'unknown'>)
    """
    if count is None:
        return Card(label, "?", meaning, Tone.UNKNOWN)
    return Card(label, printed(count), meaning, tone if count else None)
