"""Sections of the migration file to which plug-ins add keys.

A plug-in describes its keys by a model, which is combined with the section if a file has one of the keys: the parsed
value is an instance of both classes, and so has the checks and the properties of both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

from pydantic import ValidationInfo, ValidatorFunctionWrapHandler, model_validator
from pydantic_core import PydanticCustomError

from offsetwise.errors import PluginError
from offsetwise.model import StatedJob
from offsetwise.registry import Registry, absent_plugins
from offsetwise.strict_yaml import Section


class OpenSection(Section):
    """A section to which plug-ins may add keys. Their models are imported only if a file has such keys.

    The whole value is checked in `model_post_init`: an "after" validator would run twice.
    """

    registry: ClassVar[Registry]
    """Loads the model of a key."""

    @model_validator(mode="wrap")
    @classmethod
    def _with_plugins(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        others = [key for key in value if key not in cls.model_fields] if isinstance(value, Mapping) else []
        known = {key for key in others if key in cls.registry}
        if not known:
            return handler(value)
        return cls.joined(cls.models(known)).model_validate(value, context=info.context)

    @classmethod
    def models(cls, keys: set[str]) -> Mapping[str, type[Section]]:
        """Load the models of keys, in the order of their plug-ins.

        Raises:
            PluginError: One is of another distribution, and cannot be loaded or used.
        """
        return {key: cls.model(key) for key in cls.registry.in_order(keys)}

    @classmethod
    @abstractmethod
    def model(cls, key: str) -> type[Section]:
        """Load the model of one key.

        Raises:
            PluginError: It is of another distribution, and cannot be loaded or used.
        """

    @classmethod
    @abstractmethod
    def joined(cls, models: Mapping[str, type[Section]]) -> type[Self]:
        """Return this section combined with the models of keys."""

    @classmethod
    def with_every_key(cls) -> type[Self]:
        """Return this section with the keys of all plug-ins, except those that cannot be loaded."""
        models = {}
        for key in cls.registry:
            with suppress(PluginError):
                models[key] = cls.model(key)
        return cls.joined(models)

    @classmethod
    def _unknown_key(cls, key: str) -> PydanticCustomError:
        conflicts = [conflict for conflict in cls.registry.conflicts if f" {key!r} of " in conflict]
        context = {
            "key": key,
            "known": [*dict.fromkeys((*cls.model_fields, *cls.registry))],
            "plugins": [*conflicts, *filter(None, (absent_plugins(),))],
        }
        return PydanticCustomError("unknown_key", "{key}", context)


class JobKeys(Section):
    """Keys of `job` that belong together: those of a plug-in, or of all jobs.

    The properties have the values for jobs of which nothing is stated.
    """

    @property
    def old_cluster_id(self) -> str | None:
        """The id of the old cluster in a source of several clusters."""
        return None

    @property
    def stream_name(self) -> str | None:
        """The stream that it reads, if its positions name none."""
        return None

    @property
    def other_reader(self) -> str | None:
        """The name of a checkpoint of another job, which reads the same stream."""
        return None

    @property
    def can_read_other_names(self) -> bool | None:
        """Whether the job can read topics of other names."""
        return None

    @property
    def needs_old_records(self) -> bool | None:
        """Whether records that are only on the old cluster are still needed."""
        return None

    def in_plan(self, stated: StatedJob) -> StatedJob:
        """Return the stated values in a plan, completed with the fields of format version 1 for these keys."""
        return stated
