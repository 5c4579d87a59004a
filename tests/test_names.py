"""Nothing decides by the name of what is registered, but its own folder and the registration."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import TypeGuard

from offsetwise.apply.writers import writer_module
from offsetwise.apply.writing import Writer
from offsetwise.builtin import PLUGINS
from offsetwise.config import Migration
from offsetwise.engines.registry import engines, registered
from offsetwise.plan.strategies import ways_of
from offsetwise.plan.target import TargetRole, TargetType, target_type, target_types
from offsetwise.ports.stream import spec_of as spec_of_stream
from offsetwise.registry import ENGINES, STREAMS, TARGETS, Registry
from tests.names import Register, decisions, parsed
from tests.test_imports import PAGES, SOURCES
from tests.with_cases import with_cases


def _package(spec: TargetType) -> str:
    """Return the package of a target."""
    return type(spec).__module__.rpartition(".")[0]


def _folders(registry: Registry) -> dict[str, str]:
    """Return the folder of the system that brings each name: that of the module which registers it."""
    return {name: registry[name].__module__.removesuffix(".registration") for name in registry}


_PACKAGES = _folders(ENGINES) | {
    "kcl": "offsetwise.plugins.kinesis.kcl",
    "group": "offsetwise.plugins.kafka.engine",
}
"""The folder of each engine's system, or the one in it that is the engine's alone."""


def _drawers() -> dict[str, list[str]]:
    """Return what is an engine's and stands elsewhere: its part of the screens, and targets that it alone writes."""
    made: dict[str, list[str]] = {}
    for engine in engines():
        specs_ = [spec for spec in target_types() if spec.ways and all(way.engine == engine.name for way in spec.ways)]
        made[engine.name] = [_package(spec).removeprefix("offsetwise.") for spec in specs_]
    made["kcl"].append("plugins.kinesis.targets.kcl")
    made["group"] = ["plugins.kafka.targets.group"]
    return made


_TARGETS_OF_SHARDS = (
    "plugins.kinesis.targets.at_timestamp",
    "plugins.flink.targets.kinesis",
    "plugins.spark.targets.kinesis",
    "plugins.flink.targets.savepoint_converted",
    "plugins.flink.targets.savepoint_from_positions",
    "plugins.spark.targets.starting_position",
    "plugins.kinesis.targets.kcl",
    "plugins.kinesis.targets.kcl_leases",
    "plugins.kinesis.targets",
)
_STREAMS = _folders(STREAMS)
_REGISTRATIONS = (
    "offsetwise.builtin",
    *(f"offsetwise.plugins.{name}.registration" for name in PLUGINS),
)
REGISTERS = {
    "streams": Register(
        registrations=_REGISTRATIONS,
        packages={kind: _STREAMS[name] for name in STREAMS for kind in spec_of_stream(name).kinds},
        drawers=dict.fromkeys(
            ("kinesis", "dynamodb-streams"),
            (
                "plugins.flink.engine.kinesis",
                "plugins.kinesis.kcl",
                "plugins.spark.engine.kinesis",
                *_TARGETS_OF_SHARDS,
            ),
        ),
        allowed={
            ("config.sections", "kafka"): "what files of format version 1 hold, which name no stream",
            ("plugins.spark.engine.offset_log", "kafka"): "the lines of Spark's own Kafka source",
            ("plugins.positions.engine.json_shapes", "kafka"): "the type that Druid's metadata of a data source names",
            ("streams.client_process", "kafka"): "the Python package of a client, not the stream",
            (
                "plugins.spark.targets.migration_rules",
                "kinesis",
            ): "how much the shards hold that a connector begins at now",
            ("plugins.spark.targets.migration_rules", "dynamodb-streams"): "as above: the same folder",
        },
    ),
    "targets": Register(
        registrations=_REGISTRATIONS,
        packages={spec.name: _package(spec) for spec in target_types()},
        allowed={
            ("plan.moving", "starting-offsets"): "what a plan's file for a new job is called, behind the plan's name",
            ("review.exports", "starting-offsets"): "the name of a form that a plan is exported in, and its file's",
            ("plugins.connect.engine.reading", "connector"): "a key of what workers of Kafka Connect answer",
            (
                "plugins.kinesis.targets.kcl.migration_rules",
                "kcl-leases",
            ): "an application of the KCL is moved by its own leases",
            ("cli.plans", "starting-offsets"): "a value of `export --as`, which names a form and no target",
        },
    ),
    "engines": Register(
        registrations=_REGISTRATIONS,
        packages=_PACKAGES,
        drawers=_drawers(),
        allowed={
            ("lab.sample", "spark"): "the key of the migration file for Spark as compute",
            ("lab.migration", "spark"): "as above",
            ("lab.plan_of_jobs", "group"): "how a wave of the migration file names a consumer group",
            ("model.subjects", "group"): "the key of files, addresses and the store for a consumer group",
            ("model.planned_positions", "group"): "a start of format version 1: the offsets that a group has committed",
            ("console.plan.draft", "group"): "the key of a widget of the page",
            ("client_properties.sign_on", "connect"): "a section of the migration file",
            ("survey.update", "connect"): "a section of the migration file",
            ("api.init", "connect"): "as above",
            ("streams.access", "connect"): "a step of what a cluster is asked",
            ("streams.access", "group"): "Kafka's own word for a kind of resource in its ACLs",
            ("differences.changes", "positions"): "a section of what differs between two files",
            ("differences.content", "positions"): "a key of files of format version 1",
            ("differences.content", "group"): "as above",
            ("differences.reading", "group"): "as above",
            ("files", "positions"): "a key of files of format version 1",
            ("model.lag", "positions"): "as above",
            ("plan.target", "positions"): "what a target is to the job, whichever engine's it is",
            ("review.difference", "positions"): "a field of plans",
            ("workflow.fleet_parquet", "positions"): "a column of the file",
            ("watch.metrics", "positions"): "a label of a metric",
        },
    ),
}


@with_cases("kind", REGISTERS)
def test_nothing_else_decides_by_a_registered_name(kind: str) -> None:
    register = REGISTERS[kind]
    found = [told for module, path in (SOURCES | PAGES).items() for told in register.violations(module, parsed(path))]

    assert found == []


def test_every_engine_and_stream_has_a_folder_of_a_system() -> None:
    assert _PACKAGES.keys() == set(ENGINES)
    for package in (*_PACKAGES.values(), *_STREAMS.values()):
        assert package.startswith("offsetwise.plugins.")
        assert find_spec(package) is not None, package


@with_cases("kind", REGISTERS)
def test_what_is_allowed_is_still_there(kind: str) -> None:
    register = REGISTERS[kind]
    bare = replace(register, allowed={})
    modules = {f"offsetwise.{module}" for module, _ in register.allowed}
    found = [told for module in modules for told in bare.violations(module, parsed(SOURCES[module]))]

    for module, name in register.allowed:
        assert any(told.startswith(f"offsetwise.{module}:") and told.endswith(repr(name)) for told in found), module


@with_cases(
    "source",
    [
        "x == 'toy'",
        "'toy' != x",
        "x in ('other', 'toy')",
        "x not in {'toy'}",
        "x in frozenset({'toy'})",
        "x in ('other',) + ('toy',)",
        "x.startswith('toy')",
        "x.startswith(('other', 'toy'))",
        "x.startswith('toy-of')",
        "table = {'toy': 1}",
        "table['toy']",
        "table.get('toy')",
        "match x:\n    case 'toy':\n        pass",
        "match x:\n    case 'other' | 'toy':\n        pass",
        "class Kind(StrEnum):\n    TOY = 'toy'",
        "TOY = 'toy'",
        "TOYS: Final = ('toy',)",
        "TOYS: Final = frozenset({'toy'})",
        "isinstance(x, ToyWriter)",
        "isinstance(x, str | module.ToyWriter)",
        "match x:\n    case ToyWriter():\n        pass",
    ],
)
def test_every_form_of_deciding_by_a_name_is_seen(source: str) -> None:
    assert [*decisions(ast.parse(source), {"toy", "toy-of-toys"}, {"ToyWriter"})]


@with_cases("source", ["x == 'toys'", "Target(kind='toy')", "f'{x} is no toy'", "isinstance(x, Writer)"])
def test_what_does_not_decide_by_a_name_is_left_alone(source: str) -> None:
    assert [*decisions(ast.parse(source), {"toy"}, {"ToyWriter"})] == []


@with_cases(
    "source",
    [
        "from offsetwise.plugins.spark.engine.details import SparkDetails",
        "from offsetwise.plugins import spark",
        "import offsetwise.plugins.flink.engine.folder",
        "def late():\n    from offsetwise.plugins.kafka.engine.engine import GROUP",
        "if checkpoint.engine == 'flink':\n    pass",
        "match checkpoint.engine:\n    case 'spark' | 'flink':\n        pass",
        "SCREENS = {'spark': 1, 'flink': 2}",
        "isinstance(checkpoint.details, details.FlinkDetails)",
        "checkpoint.engine.startswith('flin')",
        "ENGINES = frozenset({'spark', 'group'})",
    ],
    ids=["import", "package", "module", "late", "compare", "match", "key", "isinstance", "prefix", "set"],
)
def test_every_kind_of_breach_about_engines_is_found(source: str) -> None:
    tree = ast.parse(source)
    found = REGISTERS["engines"].violations

    assert [*found("offsetwise.review.board", tree)]
    assert [*found("offsetwise.builtin", tree)] == []


def test_an_engine_is_free_in_its_own_folder_and_in_no_other_ones() -> None:
    tree = ast.parse("from offsetwise.plugins.flink.engine.details import FlinkDetails\nisinstance(x, FlinkDetails)")
    found = REGISTERS["engines"].violations

    assert [*found("offsetwise.plugins.flink.engine.hygiene", tree)] == []
    assert [*found("offsetwise.plugins.flink.targets.savepoint.writer", tree)] == []
    assert [*found("offsetwise.plugins.spark.engine.state", tree)]
    assert [*found("offsetwise.plugins.kafka.targets.group.writer", tree)]


def test_a_class_of_another_kind_with_the_name_of_an_engines_class_is_left_alone() -> None:
    tree = ast.parse("from offsetwise.review.deciding import Saved\nisinstance(answer, Saved)")

    assert [*REGISTERS["engines"].violations("offsetwise.console.plan.intake", tree)] == []


PAIRS = {
    "model.subjects.either": "takes one of both names, as options, files and rows of the store have them",
    "model.lag.LagSample": "a file of format version 1",
    "model.comparison.Comparison": "as above",
    "model.jobs.ComparedJob": "as above",
    "api.migration.job": "where the options of commands become one",
    "cli.compare.compare": "options of a command",
    "cli.plans.draft": "as above",
    "cli.services.watch": "as above",
}
"""Who may say who is moved with two names, of which one is given, and why."""


def _pairs(module: str, tree: ast.AST) -> Iterator[str]:
    """Name the functions that take, and the classes that have, both a checkpoint and a group."""
    for node in ast.walk(tree):
        names: set[str] = set()
        if isinstance(node, ast.FunctionDef):
            names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.ClassDef):
            names = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and _is_name(each.target)}
        else:
            continue
        if {"checkpoint", "group"} <= names:
            yield f"{module.removeprefix('offsetwise.')}.{node.name}"


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def test_who_is_moved_is_one_value() -> None:
    found = {told for module, path in (SOURCES | PAGES).items() for told in _pairs(module, parsed(path))}

    assert found == set(PAIRS)
    assert [*_pairs("m", ast.parse("class A:\n    checkpoint: str | None\n    group: str | None"))] == ["m.A"]
    assert [*_pairs("m", ast.parse("def a(*, checkpoint=None, group=None): ..."))] == ["m.a"]


def test_no_writer_is_loaded_where_the_console_and_every_spec_are() -> None:
    modules = [module for module in SOURCES if module.startswith("offsetwise.console")]
    writers = [module for module in SOURCES if ".target" in module and module.endswith(".writer")]
    program = (
        f"import importlib, sys; [importlib.import_module(name) for name in {modules}]; "
        "from offsetwise.plan.target import target_types; assert len(target_types()) > 6; "
        f"print([name for name in {writers} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"


@with_cases("name", TARGETS)
def test_every_target_has_a_spec_and_a_writer_of_its_own(name: str) -> None:
    spec, module = target_type(name), writer_module(name)
    migration = Migration.model_validate(
        {side: {"properties": {"bootstrap.servers": f"{side}.invalid:9092"}} for side in ("source", "target")}
        | {"name": "m"}
    )

    assert spec.name == name
    assert {way.target for way in spec.ways} <= {name}
    moved = {way.target for engine in registered() for way in ways_of(engine.name)}
    assert (name in moved) != (spec.role is TargetRole.TRANSACTIONS)
    assert isinstance(module.writer(migration), Writer)
    assert callable(module.verify)
