"""Which streams, targets and engines there are, by name: the product's own, and those of installed plug-ins.

The product's own are registered by `builtin`, which the package imports when one is asked for. A plug-in is a
distribution with entry points in the groups `offsetwise.streams` and `offsetwise.targets`, whose values are packages
laid out as this product's own are, and `offsetwise.engines`, whose values are objects: `package.module:ENGINE`. They
are looked up when a name is none of the product's, and when all are listed: reading entry points takes time that a
command which names no plug-in need not spend. Of Offsetwise this module imports `errors` and `lazy` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from offsetwise.errors import PluginError
from offsetwise.lazy import import_builtin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType


T = TypeVar("T")
Load = Callable[[], Any]
"""Imports what a name stands for, and returns it."""


@dataclass(frozen=True, slots=True)
class Installed:
    value: str
    """As its entry point says: a package, or an object in a module."""
    distribution: str
    """Its name and version."""


class Registry(MutableMapping[str, Load]):
    """What loads something, by name: the product's own first, in their order, then those of plug-ins, by name.

    Args:
        kind: What is registered, as the group of entry points is called behind the product's name.
        part: Where it is in the package that an entry point names, as `.module` or `.module:ATTRIBUTE`; "" where the
            entry point says it all.
    """

    def __init__(self, kind: str, part: str = "") -> None:
        self.group = f"offsetwise.{kind}"
        self.part = part
        self._registered: dict[str, Load] = {}

    def register(self, own: Mapping[str, Load]) -> None:
        self._registered.update(own)

    @property
    def _own(self) -> dict[str, Load]:
        import_builtin()
        return self._registered

    def __getitem__(self, name: str) -> Load:
        return self._own[name] if name in self._own else partial(load_named, self.installed[name].value + self.part)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self.installed

    def __setitem__(self, name: str, load: Load) -> None:
        self._own[name] = load

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self.installed if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def installed(self) -> Mapping[str, Installed]:
        """What installed distributions bring, by name; none that two of them, or the product itself, bring."""
        return {name: of[0] for name, of in self._installed.items() if len(of) == 1 and name not in self._own}

    @property
    def conflicts(self) -> tuple[str, ...]:
        return tuple(
            f"{self.group} {name!r} of {' and '.join(installed.distribution for installed in of)} is not used: "
            + ("Offsetwise has one of that name itself." if name in self._own else "two plug-ins have the name.")
            for name, of in self._installed.items()
            if len(of) > 1 or name in self._own
        )

    def load(self, name: str) -> Any:
        """Load what a registered name stands for.

        Raises:
            PluginError: It is a plug-in's and cannot be imported.
        """
        return self._loaded(name, lambda load: load())

    def load_object(self, name: str, kind: type[T]) -> T:
        """Load the object that a registered name stands for, which has the same name.

        Args:
            name: A registered one.
            kind: What it must be.

        Raises:
            PluginError: It is a plug-in's, and cannot be loaded or is something else.
        """

        def loaded(load: Load) -> T:
            value = load()
            if not isinstance(value, kind):
                raise TypeError(f"{self._place(name)} is a {type(value).__name__}, no {kind.__name__}")
            if (actual_name := getattr(value, "name", name)) != name:
                raise ValueError(f"{self._place(name)} is called {actual_name!r}")
            return value

        result: T = self._loaded(name, loaded)
        return result

    def load_class(self, name: str, base: type[T], check: Callable[[type[T]], None] | None = None) -> type[T]:
        """Load the class that a registered name stands for.

        Args:
            name: A registered one.
            base: What it must be a subclass of.
            check: Raises a `ValueError` where the class cannot be used for all that.

        Raises:
            PluginError: It is a plug-in's, and cannot be loaded or used.
        """

        def loaded(load: Load) -> type[T]:
            value = load()
            if not (isinstance(value, type) and issubclass(value, base)):
                raise TypeError(f"{self._place(name)} is not a subclass of {base.__name__}")
            if check is not None:
                check(value)
            return value

        result: type[T] = self._loaded(name, loaded)
        return result

    def loadable(self, kind: type[T], names: Iterable[str]) -> Iterator[T]:
        for name in names:
            with suppress(PluginError):
                yield self.load_object(name, kind)

    def problems(self, kind: type[Any]) -> Iterator[str]:
        return self.problems_with(lambda name: self.load_object(name, kind))

    def problems_with(self, load: Callable[[str], object]) -> Iterator[str]:
        yield from self.conflicts
        for name in self.installed:
            try:
                load(name)
            except PluginError as error:
                yield error.problem

    def in_order(self, names: Collection[str]) -> list[str]:
        """Return some registered names in their order, without a look at what else is installed."""
        return [
            *(name for name in self._own if name in names),
            *sorted(name for name in names if name not in self._own),
        ]

    def _place(self, name: str) -> str:
        return name if name in self._own else self.installed[name].value + self.part

    def _loaded(self, name: str, use: Callable[[Load], Any]) -> Any:
        if name in self._own:
            return use(self._own[name])
        of = self.installed[name]
        try:
            return use(self[name])
        except Exception as error:
            raise PluginError(
                f"{self.group} {name!r} of {of.distribution}: expected a plug-in that can be loaded, found "
                f"{type(error).__name__}: {str(error)[:300]}. Everything else works.",
                fix=f"Install a release of {of.distribution.partition(' ')[0]} that goes with this one of Offsetwise, "
                "or uninstall it.",
            ) from error

    @cached_property
    def _installed(self) -> Mapping[str, list[Installed]]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - it takes 60 ms, and not every command asks

        results: dict[str, list[Installed]] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            results.setdefault(point.name, []).append(Installed(point.value, _distribution(point)))
        return results


def _distribution(point: EntryPoint) -> str:
    return "an unknown distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def load_named(value: str) -> Any:
    """Load what a plug-in names: a module, or an object in one as `package.module:OBJECT`, as in an entry point."""
    from importlib.metadata import EntryPoint  # noqa: PLC0415 - as above

    return EntryPoint(name="", value=value, group="").load()


STREAMS: Final = Registry("streams", ".spec:SPEC")
"""Loads the `ports.stream.Spec` of each stream, by its name in the migration file."""
READERS: Final = Registry("streams", ".reader")
"""Loads what reads the clusters of each stream: a `streams.reader.ClusterReader`."""
MATCHING: Final = Registry("streams", ".matching")
"""Loads what `comparison.matching.Matching` and `CopiesOf` describe, of each stream that has it."""
TARGETS: Final = Registry("targets", ".spec:TYPE")
"""Loads the `plan.target.TargetType` of each target, by its name in files of format version 1 and after `--target`."""
WRITERS: Final = Registry("targets", ".writer")
"""Loads the `apply.writers.WriterModule` of each target. The console, which must not write, has no way to it."""
ENGINES: Final = Registry("engines")
"""Loads the `engines.engine.Engine` of each engine, by the name that files call it."""
MIGRATES: Final = Registry("migrates")
"""Loads the `plan.moving.Moving` of each engine of the product's own, by its name; a plug-in's engine names its own."""
SCREENS: Final = Registry("screens")
"""Loads what draws the part of the screens that is an engine's own: a `console.engine_screens.EngineScreen`."""
STATES: Final = Registry("states")
"""Loads what counts the rows that stateful jobs keep, by their engine's name: a `pipeline.state_rows.CountsRows`."""
SURVEYS: Final = Registry("surveys")
"""Loads what finds jobs at addresses for `init`, by its engine's name: a `survey.connectors.SurveysWorkers`."""
JOB_KEYS: Final = Registry("job_keys")
"""Loads the `config.JobKeys` that has a key of `job` in the migration file, by the key."""
SECTIONS: Final = Registry("sections")
"""Loads the `config.SectionEntry` of a list at the top level of the migration file, by the key of the list."""


FINDINGS: Final[list[Callable[[], object]]] = []
"""What imports the modules that declare findings."""


ON_WORKERS: Final[list[Callable[[], tuple[ModuleType, ...]]]] = []
"""What imports the modules of plug-ins that Spark's workers run; each is defined beside what registers them."""


ABSENT: Final[list[str]] = []
"""The plug-ins of the product itself whose folder is gone, or of which one that it needs is."""


def absent_plugins() -> str:
    """Name the plug-ins of the product itself that this installation is without, in a sentence; "" where it has all."""
    import_builtin()
    if not ABSENT:
        return ""
    which = f"plug-in {ABSENT[0]}" if len(ABSENT) == 1 else f"plug-ins {', '.join(ABSENT[:-1])} and {ABSENT[-1]}"
    return f"This installation is without the {which} of Offsetwise: install the whole package for what needs them."


def with_absent(fix: str) -> str:
    """Add to a next step what `absent_plugins` says."""
    return f"{fix} {absent_plugins()}".rstrip()


def modules_on_workers() -> dict[str, tuple[str, ...]]:
    import_builtin()
    return {load.__module__: tuple(module.__name__ for module in load()) for load in ON_WORKERS}


def declare_findings() -> None:
    import_builtin()
    for declare in FINDINGS:
        declare()


def position_parsers() -> tuple[Callable[[str], Any], ...]:
    specs = (STREAMS.load(name) for name in STREAMS)
    return tuple(spec.parse for spec in specs if not spec.has_integers)
