"""Review bundles that this console was started with: looked at without a cluster, and taken in to be decided about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from offsetwise import regular_files
from offsetwise.console import board, guard
from offsetwise.console.escaping import markdown
from offsetwise.console.exporting import answers
from offsetwise.console.reviewing.sentences import at, named
from offsetwise.errors import FileError
from offsetwise.review.allowing import Verb
from offsetwise.review.bundle import MAX_PACKED_BYTES, Bundle, open_bundle
from offsetwise.wording import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """One bundle as it was handed over."""

    name: str
    """Of its file."""
    data: bytes
    bundle: Bundle

    @property
    def migration(self) -> str:
        """What its comparison is called among the migrations."""
        return f"{self.bundle.plan.migration} (bundle {self.bundle.plan_digest[:8]})"


_handed: list[Handed] = []


def load(paths: Sequence[Path]) -> tuple[Handed, ...]:
    """Read bundles.

    Raises:
        FileError: One cannot be read, is no bundle, or was changed since it was written.
        PlanError: The plan in one contradicts itself.
    """
    return tuple(map(_load, paths))


def use(handed: Sequence[Handed]) -> None:
    """Offer these in this process from now on."""
    _handed[:] = handed


def handed() -> tuple[Handed, ...]:
    """Give those that are offered."""
    return tuple(_handed)


def offer(seat: board.Seat) -> None:
    """Draw the bundles, each with the button that takes it in."""
    for number, each in enumerate(_handed):
        with guard.block(f"handed-{number}"), st.container(border=True):
            _offer(seat, each, f"handed-{number}")


def _offer(seat: board.Seat, handed: Handed, key: str) -> None:
    bundle = handed.bundle
    st.markdown(
        f"**{markdown(handed.name)}** · plan `{bundle.plan_digest[:8]}…` of {markdown(bundle.plan.migration)}, "
        f"{many(len(bundle.plan.positions), 'partition')}  \n"
        f"Submitted by {markdown(named(bundle.submitted_by))} at {at(bundle.submitted_at_ms)} UTC. There it can be "
        f"decided until {at(bundle.expires_at_ms)} UTC."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if bundle.observed is not None:
            for label, page in (("Comparison", "compare"), ("Snapshots", "clusters")):
                st.page_link(
                    Path(f"pages/explore/{page}.py"),
                    label=label,
                    icon=":material/open_in_new:",
                    query_params={"migration": handed.migration},
                )
        with st.popover(f"Digest of the plan `{bundle.plan_digest[:8]}`"):
            st.code(bundle.plan_digest, language=None)
            st.markdown(":gray[It has to be the one that the console shows where the bundle comes from.]")
        refused = seat.board.why_not(seat.person, Verb.RECEIVE_BUNDLE)
        if refused is None:
            st.button(
                "Take it in for review",
                icon=":material/inbox:",
                key=key,
                type="primary",
                on_click=partial(_take, key, seat, handed),
            )
    if refused is not None:
        st.markdown(f":material/lock: {markdown(refused.why)}  \n:gray[{markdown(refused.fix)}]")
    answers.draw(key, "handed")


def _take(key: str, seat: board.Seat, handed: Handed) -> None:
    answers.keep(
        key,
        handed.name,
        "handed",
        seat,
        lambda now: now.board.receive_bundle(now.person, handed.data, name=handed.name),
    )


def _load(path: Path) -> Handed:
    try:
        data = regular_files.read_named(path, MAX_PACKED_BYTES)
    except OSError as error:
        raise FileError(
            f"{path}: expected a review bundle, but it cannot be read ({error.strerror}). The console was not started.",
            fix="Give the path of a bundle as the page Export wrote it.",
        ) from error
    return Handed(name=path.name, data=data, bundle=open_bundle(data, subject=path.name))
