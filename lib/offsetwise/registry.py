"""The registry of streams, targets and engines by name: built-in ones, and those of installed plug-ins.

Built-in ones are registered by `builtin`, which the package imports at the first look-up. A plug-in is a distribution
with entry points in the groups `offsetwise.streams` and `offsetwise.targets`, whose values are packages with the layout
of the built-in ones, and `offsetwise.engines`, whose values are objects: `package.module:ENGINE`. They are read if a
name is not built-in, and when all are listed: reading entry points takes time that a command without plug-ins need not
spend. Of Offsetwise this module imports only `errors` and `lazy`.
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
"""Imports and returns what a name stands for."""


@dataclass(frozen=True, slots=True)
class Installed:
    value: str
    """The value of the entry point: a package, or an object in a module."""
    distribution: str
    """Its name and version."""


class Registry(MutableMapping[str, Load]):
    """Loaders by name: the built-in ones first, in their order, then those of plug-ins, sorted by name.

    Args:
        kind: The suffix of the group of entry points, after the product's name.
        part: The path inside the package that an entry point names, as `.module` or `.module:ATTRIBUTE`; "" if the
            entry point is complete.
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
        """Load the names that installed distributions provide, except those provided twice or built in."""
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
            kind: The required type.

        Raises:
            PluginError: It is a plug-in's, and cannot be loaded or has another type.
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
            base: The required base class.
            check: Raises a `ValueError` if the class still cannot be used.

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
        """Return registered names in their order, without reading entry points."""
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
        from importlib.metadata import entry_points  # noqa: PLC0415 - it takes 60 ms, and few commands need it

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
"""Loads the reader of each stream's clusters: a `streams.reader.ClusterReader`."""
MATCHING: Final = Registry("streams", ".matching")
"""Loads the `comparison.matching.Matching` and `CopiesOf` of each stream that has them."""
TARGETS: Final = Registry("targets", ".spec:TYPE")
"""Loads the `plan.target.TargetType` of each target, by its name in files of format version 1 and after `--target`."""
WRITERS: Final = Registry("targets", ".writer")
"""Loads the `apply.writers.WriterModule` of each target. The console, which must not write, cannot reach it."""
ENGINES: Final = Registry("engines")
"""Loads the `engines.engine.Engine` of each engine, by its name in files."""
MIGRATES: Final = Registry("migrates")
"""Loads the `plan.moving.Moving` of each built-in engine, by its name; a plug-in's engine names its own."""
SCREENS: Final = Registry("screens")
"""Loads an engine's own part of the screens: a `console.engine_screens.EngineScreen`."""
STATES: Final = Registry("states")
"""Loads what counts the state rows of jobs, by their engine's name: a `pipeline.state_rows.CountsRows`."""
SURVEYS: Final = Registry("surveys")
"""Loads what finds jobs at addresses for `init`, by its engine's name: a `survey.connectors.SurveysWorkers`."""
JOB_KEYS: Final = Registry("job_keys")
"""Loads the `config.JobKeys` with a key of `job` in the migration file, by the key."""
SECTIONS: Final = Registry("sections")
"""Loads the `config.SectionEntry` of a top-level list of the migration file, by the key of the list."""


FINDINGS: Final[list[Callable[[], object]]] = []
"""Importers of the modules that declare findings."""


ON_WORKERS: Final[list[Callable[[], tuple[ModuleType, ...]]]] = []
"""Importers of the plug-ins' modules that Spark's workers run; each is defined where they are registered."""


ABSENT: Final[list[str]] = []
"""The built-in plug-ins whose folder, or that of a plug-in that they need, is missing."""


def absent_plugins() -> str:
    """Return a sentence that names the missing built-in plug-ins; "" if none is missing."""
    import_builtin()
    if not ABSENT:
        return ""
    which = f"plug-in {ABSENT[0]}" if len(ABSENT) == 1 else f"plug-ins {', '.join(ABSENT[:-1])} and {ABSENT[-1]}"
    return f"This installation is without the {which} of Offsetwise: install the whole package for what needs them."


def with_absent(fix: str) -> str:
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
