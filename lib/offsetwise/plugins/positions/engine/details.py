from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from offsetwise.model import Details


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsDetails(Details):
    begins_by_setting: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        return "positions file"
