from __future__ import annotations

from types import MappingProxyType
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field

from offsetwise.plan.repair.kinds import RepairSettings
from offsetwise.plan.settings import Settings


class _RepairedTopic(Settings):
    topic: str = Field(
        min_length=1, max_length=10_000, description="the topic to put back; several with commas between them"
    )


def _spelled(text: str) -> str:
    return str(UUID(text))


class _Metadata(Settings):
    query_id: Annotated[str, AfterValidator(_spelled)] = Field(
        description="the id that the query had, a UUID", examples=["UUID"]
    )


class SparkRepairSettings(RepairSettings):
    model_config = ConfigDict(title=RepairSettings.__name__)  # as `targets --json` names it
    kinds = MappingProxyType(
        {
            "drop-pending-batch": Settings,
            "remove-damaged-commit": Settings,
            "drop-batch-after-gap": Settings,
            "restore-topic": _RepairedTopic,
            "restore-metadata": _Metadata,
            "rebuild-shard-commit": Settings,
        }
    )
