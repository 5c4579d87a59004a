"""A plan drafted from what was read, computed once: a rerun of the page only looks it up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console.desk import Desk, Subject
from offsetwise.errors import ConfigError, PlanError
from offsetwise.model import Plan
from offsetwise.plan.digest import digest
from offsetwise.plan.request import DraftRequest
from offsetwise.workflow import Observed

_KEPT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """One reading of everything, that plans are drafted from. Nothing is read again."""

    migration: str
    subject: Subject
    observed: Observed
    id: int
    """Changes whenever it is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A plan and the file that it would be saved as."""

    plan: Plan
    content: bytes
    digest: str


def drafted(desk: Desk, frozen: Frozen, request: DraftRequest, drafted_at: str) -> Drafted | PlanError | ConfigError:
    """Give the plan, or every reason why there may be none. Shared by all sessions, and never changed."""
    return _drafted(frozen.id, repr(request), drafted_at, desk, frozen, request)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _drafted(
    frozen_id: int,
    asked: str,
    drafted_at: str,
    _desk: Desk,
    _frozen: Frozen,
    _request: DraftRequest,
) -> Drafted | PlanError | ConfigError:
    plan = _plan(frozen_id, asked, _desk, _frozen, _request)
    if not isinstance(plan, Plan):
        return plan
    plan = replace(plan, drafted_at=drafted_at)
    content = files.dump(plan).encode("utf-8", "surrogatepass")
    return Drafted(plan=plan, content=content, digest=digest(content))


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _plan(
    frozen_id: int,  # noqa: ARG001 - the key
    asked: str,  # noqa: ARG001 - the key
    _desk: Desk,
    _frozen: Frozen,
    _request: DraftRequest,
) -> Plan | PlanError | ConfigError:
    """Give the plan as of its reading: when it was drafted changes nothing else of it."""
    seen = _frozen.observed
    try:
        return _desk.draft(_frozen.migration, _frozen.subject, seen, _request, seen.comparison.taken_at)
    except (PlanError, ConfigError) as error:
        return error
