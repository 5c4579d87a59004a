"""The kinds of repair, as the targets declare them that write a repaired copy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from offsetwise.errors import UsageError
from offsetwise.model import Target
from offsetwise.plan.settings import Settings, Takers
from offsetwise.plan.target import target_type, target_types
from offsetwise.registry import with_absent


class RepairSettings(Settings):
    options = {"--repair": "repair"}  # noqa: RUF012 - a class variable, as `Settings` declares it
    kinds: ClassVar[Mapping[str, type[Settings]]] = MappingProxyType({})
    """The kinds of repair that the copy can get, each with the keys that it takes. A target's subclass declares them;
    a name that several targets declare has the keys of the first one."""

    repair: str | None = Field(default=None, exclude=True, description="the kind of repair that the copy gets")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        schema["properties"]["repair"]["enum"] = list(cls.kinds or repair_kinds())
        return schema


def repairing_targets() -> Mapping[str, type[RepairSettings]]:
    """Return the targets that write a repaired copy, by name."""
    return {kind.name: kind.parameters for kind in target_types() if issubclass(kind.parameters, RepairSettings)}


def repair_kinds() -> Takers:
    return {kind: model for of in reversed([*repairing_targets().values()]) for kind, model in of.kinds.items()}


def takes_repair(target: Target, kind: str) -> bool:
    parameters = target_type(target.kind).parameters
    return issubclass(parameters, RepairSettings) and kind in parameters.kinds


def repair_target(kind: str) -> Target:
    """Return the target that writes a copy with a repair.

    Raises:
        UsageError: There is no such kind of repair.
    """
    for name, parameters in repairing_targets().items():
        if kind in parameters.kinds:
            return Target(kind=name)
    known = ", ".join(repair_kinds())
    expected = f"one of {known}" if known else "no repair, since no installed plug-in has one"
    raise UsageError(
        f"--set repair: expected {expected}; found {kind[:100]!r}. Nothing was drafted.",
        fix=with_absent("Name one of the list." if known else "Omit --set repair."),
    )
