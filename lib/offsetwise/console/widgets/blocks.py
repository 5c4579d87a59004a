"""The five states of a block: loading, empty, denied, unavailable, error. A failed block never blanks the rest."""

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
    """Label of the button while nothing was read."""
    again: str
    icon: str
    key: str
    """Distinguishes the buttons of several offers on one page."""
    why: str = ""
    """What is read, in a sentence or two; empty if the page around it says so."""
    at_once: bool = False
    """Read when the page opens. For cheap readings that need no cluster."""
    stop: str | None = None
    """Label of the button that stops the reading; None if it cannot be stopped."""


_POLL_S: Final = 0.5
_CARD_PX: Final = 230
_CARD_PADDING_PX: Final = 48
_DIGIT_PX: Final = 20
"""A card cuts a number that does not fit."""
_BOX: Final = {
    Tone.WRONG: (st.error, ":material/error:"),
    Tone.CAREFUL: (st.warning, ":material/warning:"),
    Tone.UNKNOWN: (st.info, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def live(
    answers: Answers, question: Question[Answer], offer: Offer, *, actions: DeltaGenerator | None = None
) -> CachedAnswer[Answer] | None:
    """Draw the state of an answer - not read, being read, failed, in memory - and return it if it is there.

    Blocks while it is being read: for a page with nothing else to show, and for fast readings. `draw_answer` draws the
    same without blocking. A recorded answer draws nothing. After a failure the previous answer is returned, with its
    time shown. `actions` is the container of the button that reads again; by default the button is here.
    """
    # In this order: an answer is stored before its reading is removed, so that one of them is seen.
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
            answer = answers.cached(question)  # a short reading may have ended meanwhile
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
        # In one block, which the steps replace: a second element would stay on screen next to them.
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
    """Draw the heading of a section, so that `contents` can link to it. `shown` replaces its text. Markdown."""
    st.header(shown or terms.said(title), anchor=_anchor(title))


def contents(*titles: str) -> None:
    st.markdown(":gray[On this page:] " + " · ".join(f"[{terms.said(title)}](#{_anchor(title)})" for title in titles))


def clusters(old: str, new: str) -> str:
    r"""Return the source and the target of a migration, as Markdown.

    >>> clusters("eu-west", "eu_central")
    '**eu\\-west** → **eu\\_central**'
    """
    return f"**{markdown(old)}** → **{markdown(new)}**"


def lead_on(label: str, page: str, query: Mapping[str, str], *, icon: str, next_step: bool = True) -> None:
    """Draw the link to the next page, with what is shown here.

    It is not a button: Streamlit refuses to switch pages with a query parameter that a widget is bound to.

    Args:
        label: Label of the link. Markdown, names escaped.
        page: A file under `pages/`.
        query: What the page is to show.
        icon: Next to the label.
        next_step: Whether it is the next thing to do, which makes the label bold.
    """
    st.page_link(Path(page), label=f"**{label}**" if next_step else label, icon=icon, query_params=dict(query))


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def command(lines: str) -> None:
    """Draw a command line to copy, without breaks in options: a browser would break `--new` between its hyphens."""
    # Of the browser's highlighters, only this one has whole options as tokens; the page's style removes the colours.
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
    """Show the result of a button for a few seconds in the corner of the window, wherever the page is scrolled to.

    Args:
        tone: Whether it succeeded.
        text: Markdown, names escaped.
    """
    st.toast(f"**{tone.icon}** {text}", duration="long")


def failed(error: Exception, *, retry: Callable[[], None] | None = None, key: str = "retry", note: str = "") -> None:
    """Draw an error as problem and fix in one box, with a button to retry and collapsed details.

    Args:
        error: The error. If it is not an `OffsetwiseError`, the text asks for a report.
        retry: Action of "Retry"; None leaves the button out.
        key: Distinguishes several error blocks on one page.
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
    """Draw whether the answer was read, is being read, or failed, and return the last one there is.

    What is drawn above it has to use the returned answer: it may arrive while the page is being drawn, and nothing
    would draw that part again.
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
    answer = answer or answers.cached(question)  # a short reading may have ended meanwhile
    # In one container, which the steps replace: what a fragment drew before its inner fragment stays on screen.
    with st.empty().container():
        ended(answers, question, offer, answer, error)
    return answer


def busy(answers: Answers, question: Question[Any]) -> bool:
    reading = answers.reading(question)
    return reading is not None and not reading.outcome.done()


def _steps(answers: Answers, question: Question[Any], offer: Offer) -> None:
    """Show the progress of a reading, repeatedly.

    A loop would not do: Streamlit lets no click inside a fragment interrupt a running script.
    """
    reading = answers.reading(question)
    if reading is None or reading.outcome.done():
        st.rerun()
    stop_button(answers, question, offer, reading)
    # Not as a context manager: leaving it would mark it as complete.
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
    """Shown when the pointer is over the label."""
    tone: Tone | None = None
    """Tone of the number; None if it is neutral."""
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
    # Not "stretch": if cards take two rows in a column, each would be as tall as both, and overlap what follows.
    st.metric(terms.said(card.label), value, border=border, help=meaning, icon=icon, height="content")


def counted(
    label: str, count: int | None, meaning: str, tone: Tone | None = None, *, printed: Callable[[int], str] = number
) -> Card:
    """Return the card of a count, with a tone unless it is 0; an unknown one says so.

    >>> counted("Unread", 1050, "Records.", Tone.WRONG)
    Card(label='Unread', value='1,050', meaning='Records.', tone=<Tone.WRONG: 'wrong'>, note=None)
    >>> counted("Unread", 0, "Records.", Tone.WRONG).tone, counted("Unread", None, "Records.", Tone.WRONG).tone
    (None, <Tone.UNKNOWN: 'unknown'>)
    """
    if count is None:
        return Card(label, "?", meaning, Tone.UNKNOWN)
    return Card(label, printed(count), meaning, tone if count else None)
