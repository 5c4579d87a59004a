"""The documents keep what they promise: codes, links, names, examples."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from typer.main import get_command

from offsetwise import cli
from offsetwise.client_properties import ALLOWED
from offsetwise.config import (
    ApprovalSettings,
    CheckpointConfig,
    ContentSettings,
    JobTraits,
    Migration,
    SparkSettings,
    TopicSettings,
    load_migration,
)
from offsetwise.engines.flat import flat_type
from offsetwise.engines.registry import engines
from offsetwise.errors import EXIT_CODES
from offsetwise.findings import Case, MigrationCase, Stage, TopicCase, findings
from offsetwise.findings.register import decided
from offsetwise.model import ComparedJob, Exactness, FleetComparison, PartitionComparison, PlanSet, RawVerdict
from offsetwise.registry import ENGINES
from offsetwise.storage.location import SCHEMES
from tests.commands import call, run
from tests.docs_pages import blocks, section, walk
from tests.with_cases import with_cases
from tools import finding_pages

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "findings"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@cache
def _modules() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "lib").rglob("*.py"))
    }


def _decorated() -> list[tuple[str, str]]:
    """Return every declared finding, by module and code."""
    return [
        (module, keyword.value.value)
        for module, tree in _modules().items()
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for call in function.decorator_list
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "finding"
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
    ]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _text(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_the_register_finds_every_finding_that_is_declared_by_itself() -> None:
    alone = "from offsetwise.findings import findings; print(*findings())"
    told = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, check=True).stdout

    assert sorted(told.split()) == sorted(code for _, code in _decorated())


def test_a_code_is_spelled_where_it_is_declared_and_nowhere_else() -> None:
    """The members of other closed sets, such as `RawVerdict.REPLAY`, have names of their own."""
    members = {
        id(member.value)
        for tree in _modules().values()
        for class_ in ast.walk(tree)
        if isinstance(class_, ast.ClassDef)
        for member in class_.body
        if isinstance(member, ast.Assign)
    }
    spelled = [
        (module, node.value)
        for module, tree in _modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in findings() and id(node) not in members
    ]

    assert sorted(spelled) == sorted(_decorated())


def test_no_two_findings_of_a_severity_share_a_rank() -> None:
    ranks = [(check.severity, check.rank) for check in findings().values()]

    assert len(set(ranks)) == len(ranks)
    assert all(rank > 0 for _, rank in ranks)


def test_a_finding_is_handed_what_its_stage_says() -> None:
    handed = {Stage.PARTITION: Case, Stage.TOPIC: TopicCase, Stage.MIGRATION: MigrationCase, Stage.GROUP: MigrationCase}
    for stage, type_ in handed.items():
        for check in decided(stage):
            given = {name: hint for name, hint in get_type_hints(check.decide).items() if name != "return"}
            assert list(given.values()) == [type_], check.code


def test_the_pages_of_findings_say_what_the_register_says() -> None:
    stale = [path.name for path, text in finding_pages.pages().items() if not path.exists() or _text(path) != text]

    assert not stale, "run .venv/bin/python tools/finding_pages.py"
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == findings().keys()


@with_cases("code", findings())
def test_a_page_explains_its_code(code: str) -> None:
    parts = re.split(r"^## (.+)$", _text(PAGES / f"{code}.md"), flags=re.MULTILINE)[1:]

    assert parts[::2] == list(finding_pages.SECTIONS)
    assert all(len(text.split()) > 3 for text in parts[1::2])


def test_codes_that_drafting_decides_are_said_so() -> None:
    for check in (*decided(Stage.GATE), *decided(Stage.PLAN)):
        assert "`offsetwise draft`" in _text(ROOT / check.page), check.code


@with_cases("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _text(path)):
        target, _, anchor = link.partition("#")
        if re.match(r"https?:", target):
            continue
        file = (path.parent / target) if target else path
        assert file.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in _anchors(file), f"{link} names no heading"


@with_cases("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_names_in_the_text_exist(path: Path) -> None:
    for name in re.findall(r"\[([A-Z]+(?:_[A-Z]+)+)\]", _text(path)):
        assert name in findings()


def test_the_allowed_properties_are_listed() -> None:
    listed = _text(ROOT / "docs/clusters.md").split("Only these are accepted:")[1].split("Everything else")[0]

    assert set(re.findall(r"`([^`]+)`", listed)) == set(ALLOWED)


def test_the_migration_in_the_documents_can_be_loaded(tmp_path: Path) -> None:
    (example,) = [block for block in blocks(_text(ROOT / "docs/formats.md"), "yaml") if "source:" in block]
    (tmp_path / "migration.yaml").write_text(example, encoding="utf-8")

    assert load_migration(tmp_path / "migration.yaml").name == "orders-to-new"


def test_every_yaml_example_is_yaml() -> None:
    for path in DOCUMENTS:
        for block in blocks(_text(path), "yaml"):
            assert isinstance(yaml.safe_load(block), dict)


def test_the_format_tables_name_every_key() -> None:
    text = _text(ROOT / "docs/formats.md")
    row = {field.name for field in dataclasses.fields(PartitionComparison)}
    checkpoint = {field.name for field in dataclasses.fields(flat_type())}

    assert _keys(text, "key of a partition") == row - {"source", "topic", "partition", "new_topic"}
    shown = {key.split("[")[0] for key in _keys(text, "key")}
    assert shown == checkpoint - _keys_of_plug_ins() - {"uri", "engine"}
    whole, job = ({field.name for field in dataclasses.fields(kind)} for kind in (FleetComparison, ComparedJob))
    of_set = {field.name for field in dataclasses.fields(PlanSet)}
    assert {key.removesuffix("[]") for key in _keys(text, "key of a set")} == of_set
    assert _keys(text, "key of a summary") == (whole - {"jobs"}) | {f"jobs[].{key}" for key in job}


def _keys_of_plug_ins() -> set[str]:
    """Return what only engines of installed plug-ins say of a checkpoint: their own pages explain it."""
    said = {engine.name: {field.name for field in dataclasses.fields(engine.details)} for engine in engines()}
    own = [keys for name, keys in said.items() if name not in ENGINES.installed]
    return set().union(*said.values()).difference(*own)


def test_the_page_on_files_names_every_key_of_a_migration() -> None:
    text = section("docs/formats.md", "Migration (YAML, written by you)")

    of_plugins = (Migration.with_every_key(), JobTraits.with_every_key())
    parts = (*of_plugins, TopicSettings, CheckpointConfig, SparkSettings, ContentSettings, ApprovalSettings)
    for part in parts:
        for key in part.model_fields:
            assert re.search(rf"`{key}\b|\b{key}:", text), f"{part.__name__}: {key}"


def test_the_page_on_files_names_the_schemes_that_a_test_reads_and_no_other() -> None:
    text = section("docs/formats.md", "Migration (YAML, written by you)")

    assert {scheme for scheme in SCHEMES if f"`{scheme}://`" in text} == {"s3", "s3a", "gs", "abfss"}


def _keys(text: str, heading: str) -> set[str]:
    """Return the keys in the first column of the last table with this heading."""
    table = text.rsplit(f"| {heading} | meaning |", 1)[1].split("\n\n", maxsplit=1)[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, flags=re.MULTILINE)
    return {key for cell in cells for key in cell.split("`")[1::2]}


def test_every_class_and_verdict_is_explained() -> None:
    text = _text(ROOT / "docs/how-it-proves.md")

    for name in (*Exactness, *RawVerdict):
        assert f"| {name.value} |" in text


def test_no_document_names_a_machine() -> None:
    for path in DOCUMENTS:
        assert re.findall(r"(?:/home/|/root/|/work/|/tmp/)\S*", _text(path)) == [], path


def test_the_session_in_the_readme_runs_as_shown(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line shown appears, in order, in what the command prints; … stands for lines left out."""
    (tmp_path / "lab").symlink_to(sample.parent)
    monkeypatch.setenv("COLUMNS", "120")

    walk(_text(ROOT / "README.md"), lambda step: run(*step.arguments[1:], cwd=tmp_path))


def test_the_table_of_exit_codes_is_that_of_the_command_line() -> None:
    table = re.findall(r"^\| (\d) \| ([^|]+) \|", section("docs/automation.md", "Exit codes"), flags=re.MULTILINE)

    assert {int(code): meaning for code, meaning in table} == dict(EXIT_CODES)


def test_the_page_on_automation_names_every_schema() -> None:
    told = re.findall(r"\| ([^|]+) \|$", section("docs/automation.md", "What each command prints"), flags=re.MULTILINE)
    named = {name for cell in told for name in re.findall(r"`([a-z-]+)`", cell)}
    (known,) = re.findall(r"expected one of (.*);", call("schema", "none", "--json").refused()["problem"])

    assert named | {"migration"} == set(known.split(", "))
    for name in named:
        assert json.loads(call("schema", name).out)


@with_cases("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_text_exist_with_their_options(path: Path) -> None:
    known = {name: _options(command) for name, command in _commands()}
    fenced = re.findall(r"```\w*\n(.*?)```", _text(path), flags=re.DOTALL)
    inline = re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"```.*?```", "", _text(path), flags=re.DOTALL))
    shown = "\n".join([*fenced, *inline]).replace("\\\n", " ")
    for line in shown.splitlines():
        for name, rest in re.findall(r"(?:^|(?<!import)[\s/])offsetwise ((?:lab )?[a-z]+)\b([^|>;]*)", line):
            assert name in known, f"{line!r}: there is no such command"
            assert set(re.findall(r"(?<!\S)\[?(--[a-z-]+)", rest)) <= known[name], f"{line!r}: no such option"


def _commands() -> Iterator[tuple[str, Any]]:
    root: Any = get_command(cli.app)
    for name, command in root.commands.items():
        yield name, command
        for inner, under in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", under


def _options(command: Any) -> set[str]:
    return {"--help"} | {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}


def test_places_that_contributors_are_led_to_exist() -> None:
    told = "".join(_text(page) for page in (ROOT / "CONTRIBUTING.md", ARCHITECTURE, ROOT / "docs" / "how-to-add.md"))
    for name in re.findall(r"`((?:lib|tests|tools|pages|docs|locks)/[^`\s<>*]*)`", told):
        assert (ROOT / name).exists(), name


def test_the_page_on_architecture_is_read_in_five_minutes_before_its_table() -> None:
    before, _, rooms = _text(ARCHITECTURE).partition("## Rooms\n")

    assert rooms.count("\n| `") > 50, "the table of rooms is the last part"
    assert "\n## " not in rooms
    assert before.count("\n") <= 120
    assert len(before.split()) <= 1_200
    rooms_named = re.findall(r"^\| `([\w/]+)` \|", rooms, flags=re.MULTILINE)
    parts = section("docs/architecture.md", "The parts")
    assert {room for room in rooms_named if room.startswith("plugins/")} <= set(re.findall(r"`([\w/]+)`", parts))
