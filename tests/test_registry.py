"""What plug-ins register, and what becomes of one that cannot be used."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from offsetwise import targets
from offsetwise.engines.engine import Engine
from offsetwise.errors import PluginError
from offsetwise.plan.target import TargetType, target_type
from offsetwise.plugins.kafka.targets.group.spec import TYPE
from offsetwise.registry import ENGINES, TARGETS, Registry
from tests.commands import call
from tests.with_cases import with_cases


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Look up entry points as a new process does, and again for the next test."""
    for registry in (TARGETS, ENGINES):
        for known in ("_installed", "installed"):
            registry.__dict__.pop(known, None)


def install(folder: Path, name: str, points: str, **modules: str) -> None:
    """Install a distribution in a folder, with its entry points and the text of its modules."""
    data = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    data.mkdir(parents=True)
    (data / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (data / "entry_points.txt").write_text(points)
    for path, text in modules.items():
        (folder / f"{path}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are installed in."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def entry_points_of(*lines: str) -> str:
    return "[offsetwise.targets]\n" + "\n".join(lines) + "\n"


def test_a_name_of_the_product_stays_its_own(site: Path) -> None:
    install(site, "taker", entry_points_of("consumer-group = taker_target"))

    assert target_type("consumer-group") is TYPE
    (told,) = TARGETS.problems(TargetType)
    assert told == (
        "offsetwise.targets 'consumer-group' of taker 1.0 is not used: Offsetwise has one of that name itself."
    )


def test_a_name_that_two_bring_is_nobodys(site: Path) -> None:
    install(site / "one", "first", entry_points_of("shelf = first_target"))
    install(site / "two", "second", entry_points_of("shelf = second_target"))
    with pytest.MonkeyPatch.context() as patch:
        for folder in ("one", "two"):
            patch.syspath_prepend(str(site / folder))

        assert "shelf" not in TARGETS
        (told,) = TARGETS.problems(TargetType)
    assert told.startswith("offsetwise.targets 'shelf' of ")
    assert "first 1.0" in told
    assert "second 1.0" in told
    assert told.endswith(" is not used: two plug-ins have the name.")


@with_cases(
    ("value", "found"),
    [
        ("broken:ENGINE", "ModuleNotFoundError"),
        ("failing:ENGINE", "ZeroDivisionError"),
        ("plain:ANOTHER", "AttributeError"),
        ("plain:ENGINE", "TypeError: plain:ENGINE is a int, no Engine"),
        ("plain", "TypeError: plain is a module, no Engine"),
        ("renamed:ENGINE", "ValueError: renamed:ENGINE is called 'spark'"),
    ],
)
def test_what_cannot_be_loaded_is_named_and_the_rest_works(value: str, found: str, site: Path) -> None:
    renamed = "from offsetwise.plugins.spark.engine.engine import SPARK as ENGINE\n"
    points = f"[offsetwise.engines]\ntally = {value}\n"
    install(site, "tally-jobs", points, failing="1 / 0\n", plain="ENGINE = 1\n", renamed=renamed)

    with pytest.raises(PluginError, match="Everything else works") as refused:
        ENGINES.load_object("tally", Engine)
    ran = call("targets")

    assert found in refused.value.problem
    assert "'tally' of tally-jobs 1.0" in refused.value.problem
    assert "uninstall it" in refused.value.fix
    assert ran.code == 0
    assert refused.value.problem in ran.err
    assert "consumer-group:NAME" in ran.out


def test_entry_points_are_read_only_where_a_name_is_not_the_products_own(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def entry_points(*, group: str) -> list[object]:
        read.append(group)
        return []

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    registry = Registry("things")
    registry.register({"mine": lambda: 1})

    assert registry.load("mine") == 1
    assert "mine" in registry
    assert read == []
    assert "yours" not in registry
    assert [*registry] == ["mine"]
    assert read == ["offsetwise.things"]


def test_every_target_has_its_name_in_python() -> None:
    """One with an address takes it."""
    made = []
    for function in vars(targets).values():
        if getattr(function, "__module__", "") == targets.__name__:
            made.append(function(*("etl" for _ in signature(function).parameters)))

    assert {target.kind for target in made} == set(TARGETS) - set(TARGETS.installed)
    assert {target.kind for target in made if target.group} == {
        kind for kind in TARGETS if target_type(kind).address is not None
    }
