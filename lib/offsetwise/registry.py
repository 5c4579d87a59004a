"""Which streams, targets and engines there are, by name: the product's own, and those of installed plug-ins.

A plug-in is a distribution with entry points in the groups `offsetwise.streams` and `offsetwise.targets`, whose values
are packages such as this product's own, and `offsetwise.engines`, whose values are objects: `package.module:ENGINE`.
They are looked up when a name is none of the product's, and when all are listed: reading entry points takes time that
a command which names no plug-in need not spend. Of Offsetwise this module imports the errors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from offsetwise.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Installed:
    """One name that an installed distribution brings."""

    value: str
    """As its entry point says: a package, or an object in a module."""
    distribution: str
    """Its name and version."""


class Registry(MutableMapping[str, str]):
    """Values by name: the product's own first, in their order, then those of installed plug-ins, by name."""

    def __init__(self, group: str, own: Mapping[str, str]) -> None:
        self.group = group
        self._own = dict(own)

    def __getitem__(self, name: str) -> str:
        """Return the value of a name."""
        return self._own[name] if name in self._own else self.installed[name].value

    def __contains__(self, name: object) -> bool:
        """Return whether a name is registered."""
        return name in self._own or name in self.installed

    def __setitem__(self, name: str, value: str) -> None:
        """Add a name, as if it were the product's own."""
        self._own[name] = value

    def __delitem__(self, name: str) -> None:
        """Take a name of the product's own away."""
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        """Yield every name."""
        yield from self._own
        yield from (name for name in self.installed if name not in self._own)

    def __len__(self) -> int:
        """Return how many names there are."""
        return sum(1 for _ in self)

    @cached_property
    def installed(self) -> Mapping[str, Installed]:
        """What installed distributions bring, by name; none that two of them, or the product itself, bring."""
        return {name: of[0] for name, of in self._found.items() if len(of) == 1 and name not in self._own}

    @property
    def conflicts(self) -> tuple[str, ...]:
        """A sentence for each name that is not used because several bring it."""
        return tuple(
            f"{self.group} {name!r} of {' and '.join(installed.distribution for installed in of)} is not used: "
            + ("Offsetwise has one of that name itself." if name in self._own else "two plug-ins have the name.")
            for name, of in self._found.items()
            if len(of) > 1 or name in self._own
        )

    def load(self, name: str, module: str) -> ModuleType:
        """Import a module of a package.

        Args:
            name: A registered one.
            module: The module's name in the package.

        Raises:
            PluginError: It is a plug-in's and cannot be imported.
        """
        loaded: ModuleType = self._loaded(name, lambda value: import_module(f"{value}.{module}"))
        return loaded

    def load_object(self, name: str, kind: type[T], at: str = "") -> T:
        """Load the object that a name stands for, which has the same name.

        Args:
            name: A registered one.
            kind: What it must be.
            at: Where it is in the package, as `.module:ATTRIBUTE`; "" where the value itself says it.

        Raises:
            PluginError: It is a plug-in's, and cannot be loaded or is something else.
        """

        def loaded(value: str) -> T:
            module, _, attribute = f"{value}{at}".partition(":")
            found = getattr(import_module(module), attribute)
            if not isinstance(found, kind):
                raise TypeError(f"{module}:{attribute} is a {type(found).__name__}, no {kind.__name__}")
            if (called := getattr(found, "name", name)) != name:
                raise ValueError(f"{module}:{attribute} is called {called!r}")
            return found

        made: T = self._loaded(name, loaded)
        return made

    def loadable(self, kind: type[T], at: str = "") -> Iterator[T]:
        """Yield the object of every name, but for those of plug-ins that cannot be loaded; see `load_object`."""
        for name in self:
            with suppress(PluginError):
                yield self.load_object(name, kind, at)

    def problems(self, kind: type[Any], at: str = "") -> Iterator[str]:
        """Yield a sentence for each name of a plug-in that is not used, because it is taken or cannot be loaded."""
        yield from self.conflicts
        for name in self.installed:
            try:
                self.load_object(name, kind, at)
            except PluginError as error:
                yield error.problem

    def _loaded(self, name: str, load: Callable[[str], Any]) -> Any:
        if name in self._own:
            return load(self._own[name])
        of = self.installed[name]
        try:
            return load(of.value)
        except Exception as error:
            raise PluginError(
                f"{self.group} {name!r} of {of.distribution}: expected a plug-in that can be loaded, found "
                f"{type(error).__name__}: {str(error)[:300]}. Everything else works.",
                fix=f"Install a release of {of.distribution.partition(' ')[0]} that goes with this one of Offsetwise, "
                "or uninstall it.",
            ) from error

    @cached_property
    def _found(self) -> Mapping[str, list[Installed]]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - it takes 60 ms, and not every command asks

        results: dict[str, list[Installed]] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            results.setdefault(point.name, []).append(Installed(point.value, _distribution(point)))
        return results


def _distribution(point: EntryPoint) -> str:
    return "an unknown distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"


STREAMS: Final = Registry(
    "offsetwise.streams",
    {
        "kafka": "offsetwise.streams.kafka",
        "kinesis": "offsetwise.streams.kinesis",
    },
)
"""The package of each stream, by its name in the migration file."""
TARGETS: Final = Registry(
    "offsetwise.targets",
    {
        "spark-checkpoint": "offsetwise.targets.copy",
        "spark-checkpoint-in-place": "offsetwise.targets.in_place",
        "starting-offsets": "offsetwise.targets.starting_offsets",
        "seeded-checkpoint": "offsetwise.targets.seeded",
        "flink-savepoint": "offsetwise.targets.savepoint",
        "flink-savepoint-without-sources": "offsetwise.targets.savepoint_without_sources",
        "flink-savepoint-from-positions": "offsetwise.targets.savepoint_from_positions",
        "flink-savepoint-converted": "offsetwise.targets.savepoint_converted",
        "starting-position": "offsetwise.targets.starting_position",
        "at-timestamp": "offsetwise.targets.at_timestamp",
        "consumer-group": "offsetwise.targets.group",
        "positions-file": "offsetwise.targets.positions",
        "connector": "offsetwise.targets.connect",
        "kcl-leases": "offsetwise.targets.kcl_leases",
        "sink-transactions": "offsetwise.targets.sink_transactions",
        "hanging-transactions": "offsetwise.targets.hanging_transactions",
    },
)
"""The package of each target, by its name in files of format version 1 and after `--target`."""
ENGINES: Final = Registry("offsetwise.engines", {})
"""The engines of plug-ins; the product's own are in `engines.registry`."""


def position_parsers() -> tuple[Callable[[str], Any], ...]:
    """Return what reads the texts of positions that are no integers, of each stream that has such."""
    specs = (STREAMS.load(name, "spec").SPEC for name in STREAMS)
    return tuple(spec.parse for spec in specs if not spec.has_integers)
