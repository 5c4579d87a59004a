"""A key of `job` and a section of the migration file that only the tests know."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from offsetwise.client_properties.sign_on import SignOn
from offsetwise.config import CheckpointConfig, JobKeys, Location, SectionEntry


class ToyJob(JobKeys):
    """What is stated about a toy."""

    colour: Annotated[str, Field(pattern="^(red|blue)$")] | None = None

    @property
    def old_cluster_id(self) -> str | None:
        return self.colour


class Shelf(SectionEntry):
    """A shelf, and the toy on it."""

    at: Location
    empty: bool = False

    @property
    def checkpoint(self) -> CheckpointConfig | None:
        return None if self.empty else CheckpointConfig(name=self.name, uri=f"{self.at}/toy")

    @property
    def root(self) -> str:
        return self.at

    def sign_on_at(self, address: str) -> SignOn | None:
        return SignOn(user="ada", section="shelves") if self.name in address else None
