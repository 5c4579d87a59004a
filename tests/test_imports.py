"""Which room imports what, read from the sources and held to the table in `docs/architecture.md`."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from zipfile import ZipFile

from offsetwise import exports
from offsetwise.builtin import PLUGINS
from offsetwise.pipeline.shipping import keep_archive, shipped_files
from tests.with_cases import with_cases
from tools.measure import room_of

ROOT = Path(__file__).parent.parent
LIB = ROOT / "lib"

TABLE = re.compile(r"^\| `([\w/]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
"""A row of the table of rooms in `docs/architecture.md`."""

WORKER_LIBRARIES = {"fsspec"}

HOMES = {
    "confluent_kafka": (
        "pipeline.windows.",
        "streams.ranges.",
        "plugins.kafka.stream.",
        "lab.",
        "plugins.kafka.targets.group.",
    ),
    "kafka": (
        "plugins.kafka.stream.wire.",
        "plugins.kafka.stream.facts.",
        "plugins.kafka.stream.group_types.",
        "plugins.kafka.targets.transactions.kafka.",
        "plugins.kafka.targets.reviewed_cluster.",
        "plugins.kafka.targets.group.requests.",
    ),
    "pyspark": ("pipeline.", "lab.", "plugins.spark.state."),
    "streamlit": ("console.", "app", "pages.", "plugins.flink.screens.", "plugins.spark.screens."),
    "plotly": ("console.", "app", "pages."),
    "boto3": (
        "storage.dynamodb",
        "plugins.kinesis.stream.client.",
        "plugins.kinesis.stream.records.",
        "plugins.kinesis.stream.tables",
    ),
    "botocore": (
        "storage.dynamodb",
        "plugins.kinesis.stream.client.",
        "plugins.kinesis.stream.records.",
        "plugins.kinesis.stream.tables",
    ),
    "sqlalchemy": ("store.",),
    "alembic": ("store.",),
    "prometheus_client": ("watch.",),
}
"""Where a driver or a framework may be imported."""

WRITING = re.compile(r"offsetwise\.(api|apply|targets|plugins\.\w+\.targets?)\b")
"""What writes to the world. The console must not reach it."""


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {_name(path, LIB): path for path in sorted((LIB / "offsetwise").rglob("*.py"))}
PAGES = {_name(path, ROOT): path for path in (*ROOT.glob("app.py"), *sorted(ROOT.glob("pages/**/*.py")))}


@cache
def _imported(path: Path, *, top_level_only: bool = False) -> tuple[str, ...]:
    """Return the full names a file imports; `from a import b` gives `a.b`, a module or not."""
    return tuple(_imports(path, top_level_only=top_level_only))


def _imports(path: Path, *, top_level_only: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _own(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Return the modules of Offsetwise a file imports."""
    found = set()
    for name in _imported(path, top_level_only=top_level_only):
        if name.split(".")[0] == "offsetwise":
            found.add(name if name in SOURCES else name.rpartition(".")[0])
    return found


def _rooms() -> dict[str, frozenset[str]]:
    """Return what each room may import, in the order of the table."""
    made: dict[str, frozenset[str]] = {}
    for room, cell in TABLE.findall((ROOT / "docs" / "architecture.md").read_text("utf-8")):
        named = frozenset(re.findall(r"`([\w/]+)`", cell))
        assert named <= made.keys(), f"{room} may import {sorted(named - made.keys())}, which is not above it"
        made[room] = frozenset(made) - named if cell.startswith("all above") else named
    return made


def _closure(start: set[str], *, top_level_only: bool = False) -> set[str]:
    seen: set[str] = set()
    left = set(start)
    while left:
        module = left.pop()
        seen.add(module)
        packages = {module.rsplit(".", n)[0] for n in range(1, module.count(".") + 1)}
        # What the package exports is imported when it is asked for, and only the command line asks.
        own = set() if module == "offsetwise" else _own(SOURCES[module], top_level_only=top_level_only)
        left |= (own | packages) & SOURCES.keys() - seen
    return seen


MODULES = [module for module in SOURCES if module != "offsetwise"]


def test_every_room_has_a_row() -> None:
    assert _rooms().keys() == {room_of(module) for module in SOURCES}


@with_cases("room", _rooms())
def test_a_room_imports_what_its_row_says(room: str) -> None:
    sources = [path for module, path in SOURCES.items() if room_of(module) == room]
    imported = {room_of(other) for path in sources for other in _own(path)} - {room}

    assert imported == _rooms()[room]


def test_a_plug_in_declares_the_plug_ins_that_it_imports() -> None:
    for name, (_, needs) in PLUGINS.items():
        sources = [path for module, path in SOURCES.items() if room_of(module) == f"plugins/{name}"]
        imported = {room_of(other) for path in sources for other in _own(path)} - {f"plugins/{name}"}
        assert {room for room in imported if room.startswith("plugins/")} == {f"plugins/{need}" for need in needs}
    assert {f"plugins/{name}" for name in PLUGINS} == {room for room in _rooms() if room.startswith("plugins/")}


def test_no_rooms_import_each_other_in_a_circle() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "measure.py", "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    figures = json.loads(ran.stdout[: ran.stdout.rindex("}") + 1])

    assert (figures["rooms_in_circles"], figures["mutual_pairs"]) == (0, 0)


def test_no_module_imports_itself_through_others() -> None:
    graph = {module: _own(path, top_level_only=True) - {module} for module, path in SOURCES.items()}

    assert tuple(TopologicalSorter(graph).static_order())


def test_to_import_the_package_costs_nothing() -> None:
    code = "import sys; import offsetwise; print(*(name for name in sys.modules if name.startswith('offsetwise')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert sorted(ran.stdout.split()) == ["offsetwise", "offsetwise.lazy"]


@with_cases("package", ["offsetwise", "offsetwise.workflow"])
def test_a_name_that_is_imported_late_is_the_one_that_is_typed(package: str) -> None:
    made = importlib.import_module(package)
    typed = {name for name in _imported(SOURCES[package]) if name.startswith("offsetwise.")}
    table = exports.HOMES if package == "offsetwise" else made._HOMES
    modules = {name: home().__name__ for name, home in table.items()}
    homes = {module if module == f"{package}.{name}" else f"{module}.{name}" for name, module in modules.items()}

    assert list(table) == made.__all__
    assert typed >= homes
    assert typed - homes - set(modules.values()) <= {
        "offsetwise.builtin",
        "offsetwise.exports",
        "offsetwise.lazy.exported",
        "offsetwise.lazy.import_builtin_by",
    }


@with_cases("module", [*MODULES, *PAGES])
def test_only_the_command_line_is_written_on_the_public_surface(module: str) -> None:
    names = {name for name in _imported((SOURCES | PAGES)[module]) if name.startswith("offsetwise.")}
    public = {name for name in names if name.count(".") == 1 and name not in SOURCES}

    assert public == set() or room_of(module) == "cli", f"{module} uses names of the public surface"


def _shipped() -> set[str]:
    with ZipFile(keep_archive(shipped_files())) as archive:
        return {_name(Path(name), Path()) for name in archive.namelist()}


def test_what_is_shipped_to_workers_is_complete() -> None:
    shipped = _shipped()

    assert _closure(shipped, top_level_only=True) - shipped == set()


def test_what_is_shipped_to_workers_needs_only_the_standard_library_and_fsspec() -> None:
    for module in _shipped():
        for name in _imported(SOURCES[module], top_level_only=True):
            library = name.split(".")[0]
            known = library in sys.stdlib_module_names or library in WORKER_LIBRARIES or library == "offsetwise"
            assert known, f"{module}, which workers import, needs {name}"


def test_nothing_under_the_console_reaches_what_writes() -> None:
    start = {module for module in SOURCES if module.startswith("offsetwise.console") or ".screens." in module}
    for path in PAGES.values():
        start |= _own(path)

    reached = _closure(start & SOURCES.keys())

    assert {module for module in reached if WRITING.match(module)} == set()


@with_cases("library", HOMES)
def test_a_library_is_imported_only_at_home(library: str) -> None:
    places = {name.removeprefix("offsetwise."): path for name, path in SOURCES.items()} | PAGES
    users = {name for name, path in places.items() if library in {n.split(".")[0] for n in _imported(path)}}

    assert {name for name in users if not f"{name}.".startswith(HOMES[library])} == set()


@with_cases("module", [name for name, path in SOURCES.items() if "__all__" in path.read_text("utf-8")])
def test_the_public_names_are_sorted_and_exist(module: str) -> None:
    public = importlib.import_module(module).__all__

    # As ruff sorts them: constants, classes, functions.
    assert list(public) == sorted(set(public), key=lambda name: (not name.isupper(), name.islower(), name))
    assert [name for name in public if not hasattr(sys.modules[module], name)] == []
