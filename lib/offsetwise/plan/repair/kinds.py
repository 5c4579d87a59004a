from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, Field

from offsetwise.errors import UsageError
from offsetwise.plan.settings import Settings


class _RepairedTopic(Settings):
    topic: str = Field(
        min_length=1, max_length=10_000, description="the topic to put back; several with commas between them"
    )


def _spelled(text: str) -> str:
    return str(UUID(text))


class _Metadata(Settings):
    query_id: Annotated[str, AfterValidator(_spelled)] = Field(description="the id that the query had, a UUID")


KINDS: Final[Mapping[str, type[Settings]]] = MappingProxyType(
    {
        "drop-pending-batch": Settings,
        "remove-damaged-commit": Settings,
        "drop-batch-after-gap": Settings,
        "restore-topic": _RepairedTopic,
        "restore-metadata": _Metadata,
        "rebuild-shard-commit": Settings,
    }
)


class RepairSettings(Settings):
    options = {"--repair": "repair"}  # noqa: RUF012 - a class variable, as `Settings` declares it

    repair: str | None = Field(
        default=None,
        exclude=True,
        description="the kind of repair that the copy gets",
        json_schema_extra={"enum": list(KINDS)},
    )


def require_kind(kind: str) -> str:
    """Return the kind of repair if it exists.

    Raises:
        UsageError: It does not.
    """
    if kind not in KINDS:
        raise UsageError(
            f"--set repair: expected one of {', '.join(KINDS)}; found {kind[:100]!r}. Nothing was drafted.",
            fix="Name one of the list.",
        )
    return kind
