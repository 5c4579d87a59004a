"""What `--set` gives to each kind of repair."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, Field

from offsetwise.errors import UsageError
from offsetwise.plan.settings import Settings


class _Topic(Settings):
    topic: str = Field(min_length=1, max_length=249, description="the topic to put back")


def _spelled(text: str) -> str:
    return str(UUID(text))


class _Metadata(Settings):
    query_id: Annotated[str, AfterValidator(_spelled)] = Field(description="the id that the query had, a UUID")


KINDS: Final[Mapping[str, type[Settings]]] = MappingProxyType(
    {
        "drop-pending-batch": Settings,
        "remove-damaged-commit": Settings,
        "drop-batch-after-gap": Settings,
        "restore-topic": _Topic,
        "restore-metadata": _Metadata,
        "rebuild-shard-commit": Settings,
    }
)


def require_kind(kind: str) -> str:
    """Go on only with a kind of repair that there is.

    Raises:
        UsageError: It is none.
    """
    if kind not in KINDS:
        raise UsageError(
            f"--repair: expected one of {', '.join(KINDS)}; found {kind[:100]!r}. Nothing was drafted.",
            fix="Name one of the list.",
        )
    return kind
