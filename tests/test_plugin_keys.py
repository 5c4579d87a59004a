"""Keys of the migration file that plug-ins bring: under `job`, and sections of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from offsetwise.config import JobTraits, Migration, load_migration, schema
from offsetwise.errors import ConfigError, OffsetwiseError, PluginError
from offsetwise.plugins.flink.job_keys import FlinkJob
from offsetwise.plugins.kinesis.job_keys import KinesisJob
from offsetwise.registry import ABSENT, JOB_KEYS, SECTIONS
from tests.commands import call
from tests.test_registry import install
from tests.toys.migration_keys import Shelf, ToyJob
from tests.with_cases import with_cases

CLUSTERS = """
name: orders-to-new
source: {properties: {bootstrap.servers: "127.0.0.1:19092"}}
target: {properties: {bootstrap.servers: "127.0.0.1:29092"}}
"""
Load = Callable[[str], Migration]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def from_text(text: str) -> Migration:
        path = tmp_path / "migration.yaml"
        path.write_text(CLUSTERS + text)
        return load_migration(path)

    return from_text


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(JOB_KEYS, "colour", lambda: ToyJob)
    monkeypatch.setitem(SECTIONS, "shelves", lambda: Shelf)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are installed in; entry points are looked up anew."""
    for registry in (JOB_KEYS, SECTIONS):
        for known in ("_installed", "installed"):
            monkeypatch.delitem(registry.__dict__, known, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def job(keys: str) -> str:
    return f"checkpoints: [{{name: a, uri: b, job: {{{keys}}}}}, {{name: c, uri: d}}]\n"


@pytest.mark.usefixtures("toys")
def test_a_key_is_known_to_its_plug_in_and_answers_what_the_core_asks(load: Load) -> None:
    stated, silent = (checkpoint.job for checkpoint in load(job("colour: red, stateful: true")).checkpoints)

    assert (stated.part(ToyJob).colour, stated.stateful, stated.old_cluster_id) == ("red", True, "red")
    assert (silent.part(ToyJob).colour, silent.old_cluster_id) == (None, None)
    assert stated == JobTraits.model_validate({"colour": "red", "stateful": True})
    assert stated != JobTraits.model_validate({"colour": "blue", "stateful": True})
    assert stated.model_copy(update={"sink": "delta"}).part(ToyJob).colour == "red"
    assert '"colour":"red"' in load(job("colour: red")).model_dump_json()


@pytest.mark.usefixtures("toys")
def test_keys_of_several_plug_ins_stand_side_by_side(load: Load) -> None:
    stated = load(job("colour: blue, stream: clicks, sql: true")).checkpoints[0].job

    assert (stated.part(ToyJob).colour, stated.part(KinesisJob).stream, stated.part(FlinkJob).sql) == (
        *("blue", "clicks"),
        True,
    )


def test_what_is_decided_for_a_draft_states_only_what_the_file_does_not() -> None:
    silent, stated = JobTraits(sink="delta"), JobTraits.model_validate({"stream": "clicks", "sql": True})

    assert silent.stating({"stream": "orders"}).stream_name == "orders"
    assert silent.stating({"stream": "orders"}).sink == "delta"
    assert stated.stating({"stream": "orders"}) == stated


@pytest.mark.usefixtures("toys")
def test_a_section_adds_jobs_what_may_be_read_and_how_to_sign_on(load: Load, tmp_path: Path) -> None:
    migration = load("shelves: [{name: left, at: ./left}, {name: right, at: ./right, empty: true}]\n")

    assert [(job.name, job.uri) for job in migration.checkpoints] == [("left", f"{tmp_path}/left/toy")]
    assert migration.checkpoint_roots == (f"{tmp_path}/left",)
    assert [entry.at for entry in migration.entries_of(Shelf)] == [f"{tmp_path}/left", f"{tmp_path}/right"]
    assert migration.job_sign_on("http://right:1").user == "ada"
    assert migration.job_sign_on("http://elsewhere:1").user is None


@pytest.mark.usefixtures("toys")
@with_cases(
    ("text", "said"),
    [
        pytest.param(job("colour: green"), "checkpoints.0.job.colour cannot be used: String should match", id="value"),
        pytest.param(job("colour: 1, stateful: 1"), "job.stateful cannot be used: .* (1 more problems.)", id="both"),
        pytest.param(job("color: red"), "checkpoints.0.job has the unknown key 'color'.*'colour'", id="misspelt"),
        pytest.param(job("colour: red, zzz: 1"), "unknown key 'zzz'.*Use only: .*sink.*sql.*colour", id="unknown"),
        pytest.param(job("dynamic_cluster: a"), "checkpoints.0.job cannot be used: .* stated together", id="half"),
        pytest.param(
            job("uids: 1"), "checkpoints.0.job.uids cannot be used: expected true or false, found a number", id="flink"
        ),
        pytest.param(job("stream: ''"), "checkpoints.0.job.stream cannot be used: String should have", id="kinesis"),
        pytest.param("connect: [{name: a, url: 'ftp://h'}]\n", "connect.0.url cannot be used", id="connect"),
        pytest.param("positions: [{name: a}]\n", "positions.0.file is missing", id="positions"),
        pytest.param("positions: 1\n", "positions cannot be used: expected a list, found a number", id="no-list"),
        pytest.param("shelves: [{name: a, at: b, empty: 2}]\n", "shelves.0.empty cannot be used", id="toy"),
        pytest.param("shelvs: []\n", "unknown key 'shelvs'.*Did you mean 'shelves'", id="misspelt-section"),
        pytest.param(
            job("stateful: true") + "shelves: [{name: a, at: b, empty: true}]\n", "'a' twice", id="name-twice"
        ),
        pytest.param("groups: [{name: g, job: {sql: true}}, g]\n", "several that differ for 'g'", id="groups-differ"),
    ],
)
def test_bad_input_is_named_with_its_file_and_its_key(text: str, said: str, load: Load) -> None:
    with pytest.raises(ConfigError) as refused:
        load(text)

    whole = f"{refused.value.problem} {refused.value.fix}"
    assert "migration.yaml: " in whole
    for part in said.split(".*"):
        assert part in whole, whole


def test_the_same_group_twice_is_one(load: Load) -> None:
    assert load("groups: [{name: g, job: {sql: true}}, {name: g, job: {sql: true}}]\n").group_names == ("g",)


@pytest.mark.usefixtures("toys")
def test_the_schema_has_them() -> None:
    text = CLUSTERS + job("colour: red") + "shelves: [{name: left, at: ./left}]\n"
    jsonschema.validate(yaml.safe_load(text), schema())

    assert schema()["$defs"]["CheckpointConfig"]["properties"]["job"]["default"]["colour"] is None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text.replace("red", "green")), schema())


@with_cases(
    ("key", "text"),
    [("flink", job("sql: true")), ("kinesis", job("stream: clicks")), ("connect", "connect: []\n")],
)
def test_a_key_of_an_absent_plug_in_says_so_and_other_files_work(
    key: str, text: str, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offsetwise.registry.ABSENT", [*ABSENT, key])
    for registry in (JOB_KEYS, SECTIONS):
        for name in [name for name, of in registry.items() if f".{key}." in getattr(of, "__module__", "")]:
            monkeypatch.delitem(registry, name)

    with pytest.raises(ConfigError, match="unknown key") as refused:
        load(text)

    assert f"This installation is without the plug-in {key} of Offsetwise" in refused.value.fix
    assert load(job("stateful: true")).checkpoints[0].job.stateful is True
    assert key not in str(schema()["properties"].get("connect", ""))


def test_a_key_that_two_bring_is_nobodys_and_both_are_named(load: Load, site: Path) -> None:
    toy = "from tests.toys.migration_keys import ToyJob\n"
    for name in ("first", "second"):
        install(site / name, name, f"[offsetwise.job_keys]\ncolour = {name}_toy:ToyJob\n", **{f"{name}_toy": toy})
    with pytest.MonkeyPatch.context() as patch:
        for name in ("first", "second"):
            patch.syspath_prepend(str(site / name))
        with pytest.raises(ConfigError, match="unknown key 'colour'") as refused:
            load(job("colour: red"))
        assert load(job("sql: true")).checkpoints[0].job.part(FlinkJob).sql is True
        listed = call("targets")

    for said in (refused.value.fix, listed.err):
        assert "offsetwise.job_keys 'colour' of " in said
        assert "first 1.0" in said
        assert "second 1.0" in said
        assert "is not used: two plug-ins have the name." in said


def test_a_key_and_a_section_of_another_distribution_are_found_by_entry_points(load: Load, site: Path) -> None:
    toy = "from tests.toys.migration_keys import Shelf, ToyJob\n"
    points = "[offsetwise.job_keys]\ncolour = my_toy:ToyJob\n[offsetwise.sections]\nshelves = my_toy:Shelf\n"
    install(site, "my-toy", points, my_toy=toy)

    migration = load(job("colour: red") + "shelves: [{name: left, at: ./left}]\n")

    assert migration.checkpoints[0].job.part(ToyJob).colour == "red"
    assert [entry.name for entry in migration.entries_of(Shelf)] == ["left"]


@with_cases(
    ("text", "found"),
    [
        ("1 / 0\n", "ZeroDivisionError"),
        ("ToyJob = 1\n", "TypeError: my_toy:ToyJob is not a subclass of JobKeys"),
        ("from offsetwise.config import JobKeys as ToyJob\n", "ValueError: JobKeys has no key 'colour'"),
        (
            "from offsetwise.config import JobKeys\n"
            "class ToyJob(JobKeys):\n    colour: str = ''\n    sql: bool | None = None\n",
            "ValueError: ToyJob has the key 'sql', which is not registered for it",
        ),
        (
            "from offsetwise.config import JobKeys\n"
            "class ToyJob(JobKeys):\n    colour: str = ''\n    sink: str | None = None\n",
            "ValueError: ToyJob has the key 'sink', which is not registered for it",
        ),
    ],
)
def test_one_that_cannot_be_used_is_named_and_other_files_work(text: str, found: str, load: Load, site: Path) -> None:
    install(site, "my-toy", "[offsetwise.job_keys]\ncolour = my_toy:ToyJob\n", my_toy=text)
    sys.modules.pop("my_toy", None)

    with pytest.raises(PluginError, match=r"'colour' of my-toy 1\.0") as refused:
        load(job("colour: red"))

    assert found in refused.value.problem
    assert isinstance(refused.value, OffsetwiseError)
    assert load(job("sql: true")).checkpoints[0].job.part(FlinkJob).sql is True
    assert "colour" not in str(schema())
    assert found in call("targets").err


def test_every_key_of_the_products_plug_ins_is_registered_for_the_model_that_has_it() -> None:
    models = {key: JobTraits.model(key) for key in JOB_KEYS}

    assert models.keys() == {name for model in models.values() for name in model.model_fields}
    assert [*SECTIONS] == ["positions", "connect"]
    assert not models.keys() & JobTraits.model_fields.keys()


def imported(text: str, folder: Path) -> set[str]:
    """Return which modules of plug-ins a new process imports to read a migration file."""
    (folder / "m.yaml").write_text(CLUSTERS + text)
    code = (
        "import sys; from pathlib import Path; from offsetwise.config import load_migration; "
        "load_migration(Path(sys.argv[1])); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, folder / "m.yaml"], capture_output=True, text=True, check=True)
    names = (name.removeprefix("offsetwise.plugins.") for name in ran.stdout.split() if ".plugins." in name)
    return {name for name in names if "." in name and name.rpartition(".")[2] != "registration"}


def test_a_file_imports_only_the_models_of_keys_that_it_has(tmp_path: Path) -> None:
    plain = imported(job("stateful: true"), tmp_path)

    assert not {name for name in plain if name.endswith((".job_keys", ".section"))}
    assert imported(job("sql: true"), tmp_path) - plain == {"flink.job_keys"}
    assert imported("positions: []\n", tmp_path) - plain == {"positions.section"}
    assert imported("connect: []\n", tmp_path) - plain == {"connect.section"}
