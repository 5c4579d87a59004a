"""Selections, kept in the URL: a link shows what the sender saw, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Final, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from offsetwise.console.answers import Answers
from offsetwise.console.reader import Offered
from offsetwise.console.warm_spark import Warmth
from offsetwise.console.widgets import escaping, terms
from offsetwise.model import Subject, TopicPartition

WORST_FIRST: Final = "Worst first"
BY_NAME: Final = "By name"
_LIST_PX: Final = 56
_LETTER_PX: Final = 8
_WIDEST_PX: Final = 420
"""A list in the context bar shows its longest name whole, up to this width."""
_SPARK: Final = {
    Warmth.ABSENT: "PySpark is not installed yet: the first comparison installs it, in half a minute or more",
    Warmth.COLD: "Spark is not started",
    Warmth.STARTING: "Spark is starting",
    Warmth.WARM: "Spark is ready",
    Warmth.FREED: "Spark was freed after a while without work; it starts again when it is needed",
    Warmth.FAILED: "Spark could not be started ahead",
}


class Placed(Protocol):
    @property
    def source(self) -> str:
        """The source's id."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""


def migration(answers: Answers, bar: DeltaGenerator, *, spark: bool = True) -> Offered:
    """Let the person choose a migration.

    Args:
        answers: The answers of this process.
        bar: Container for it in the context bar.
        spark: Whether the page may need Spark, which is then started ahead.
    """
    names = {offered.name: offered for offered in answers.offered}
    chosen = names[_of_link(bar, "Migration", "migration", list(names), what="a migration")]
    terms.use(chosen.terms)
    now = answers.reader.warm_spark(chosen.name) if spark and not chosen.recorded else None
    if now is not None:
        st.markdown(f":gray[{_SPARK[now.warmth]}{f': {escaping.markdown(now.why)}' if now.why else ''}]")
    return chosen


def migration_and_subject(answers: Answers, bar: DeltaGenerator) -> tuple[Offered, Subject | None]:
    chosen = migration(answers, bar)
    subjects = {str(subject): subject for subject in chosen.subjects}
    if not subjects:
        return chosen, None
    what = f"a job of {chosen.name}"
    bar.markdown(":gray[:material/chevron_right:]", width="content")
    return chosen, subjects[_of_link(bar, "Job", "of", list(subjects), what=what)]


def _of_link(bar: DeltaGenerator, label: str, key: str, options: Sequence[str], *, what: str) -> str:
    """Let the person choose an option. If a link names an unknown one, say so and use the first.

    Streamlit forgets an unknown value of the URL at the next rerun, which a page may cause by itself.
    """
    linked, noted = st.query_params.get(key), f"{key}-of-link"
    if linked is not None and linked not in options:
        st.session_state[noted] = linked
    elif linked is not None or key not in st.session_state:
        st.session_state.pop(noted, None)
    chosen_key = f"{key}-chosen"
    if linked is None and key not in st.session_state and st.session_state.get(chosen_key) in options:
        st.session_state[key] = st.session_state[chosen_key]  # of another page, after one that shows no such list
    letters = max(len(escaping.plain(option)) for option in options)
    with bar, _of_every_page():
        chosen = st.selectbox(
            label,
            options,
            key=key,
            bind="query-params",
            format_func=escaping.plain,
            label_visibility="collapsed",
            width=min(_WIDEST_PX, _LIST_PX + _LETTER_PX * letters),
        )
    st.session_state[chosen_key] = chosen
    unrecognized: str | None = st.session_state.get(noted)
    if unrecognized is None or chosen != options[0]:
        st.session_state.pop(noted, None)
    else:
        st.warning(
            f"**The link names {escaping.markdown(what)} that this console does not have: "
            f"{escaping.markdown(unrecognized)}**"
            f"  \nWhat you see is {escaping.markdown(chosen)}. Pick another one above, or start the console "
            "with the migration file that the link was made with.",
            icon=":material/link_off:",
        )
    return chosen


@contextmanager
def _of_every_page() -> Iterator[None]:
    """Attach widgets to the router instead of the page, so that their values persist from page to page.

    Streamlit removes the query parameters of a page's widgets from the next page's URL, even if the link names them.
    """
    run = get_script_run_ctx()
    with nullcontext() if run is None else run.run_with_active_hash(run.pages_manager.main_script_hash):
        yield


def row_names(rows: Iterable[Placed], *, among: Iterable[Placed]) -> tuple[str, ...]:
    several_sources = len({placed.source for placed in among}) > 1
    return tuple(f"{row.topic_partition}@{row.source}" if several_sources else str(row.topic_partition) for row in rows)


def choice(label: str, options: Sequence[str], key: str, *, default: str | None = None, width: int = 240) -> str:
    """Let the person choose an option; `default` or the first until they do, and if the URL names an unknown one."""
    selected = st.session_state.get(key)
    if selected is not None and selected not in options:
        del st.session_state[key]
    index = options.index(default) if default in options else 0
    return st.selectbox(
        terms.said(label), options, index=index, key=key, bind="query-params", format_func=escaping.plain, width=width
    )


def several(label: str, key: str, options: Sequence[str]) -> tuple[str, ...]:
    """Let the person choose any number of options; none means all. Unknown ones in the URL are ignored."""
    message = terms.said(label)
    return tuple(
        st.multiselect(message, options, key=key, bind="query-params", placeholder="all", format_func=escaping.plain)
    )
