"""`--set key=value`: what a target takes is accepted and recorded, anything else is refused with what is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from offsetwise import files
from offsetwise.errors import PlanError, UsageError
from offsetwise.plan.reading import read_plan
from offsetwise.plan.settings import Settings, Takers, accepted, accepted_keys, parse, settings_of, texts
from offsetwise.plan.target import target_type
from offsetwise.registry import TARGETS
from tests.plan.scene import STARTING, drafted
from tests.plan.test_commands import draft
from tests.with_cases import with_cases


class Table(Settings):
    """What a table takes, in this test."""

    create_table: bool = Field(default=False, description="make the table where there is none")
    kcl: Literal["2", "3"] | None = Field(default=None, description="the version of the KCL that reads it")
    shards: int = Field(default=1, ge=1, description="how many shards it has")


class Named(Settings):
    """What needs a name, in this test."""

    topic: str = Field(description="the topic to put back")


TAKERS = {"table": Table}


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let starting-offsets take what a table does."""
    monkeypatch.setattr(type(target_type(STARTING.kind)), "parameters", Table)


@with_cases(
    ("values", "recorded"),
    [
        ({}, ()),
        ({"kcl": 2, "create_table": True}, (("create_table", "true"), ("kcl", "2"))),
        ({"create_table": "yes"}, (("create_table", "true"),)),
        ({"shards": "012"}, (("shards", "12"),)),
    ],
)
def test_values_are_recorded_in_one_form_however_they_are_written(
    values: dict[str, object], recorded: tuple[tuple[str, str], ...]
) -> None:
    assert accepted(TAKERS, texts(values)) == recorded
    assert accepted(TAKERS, recorded) == recorded


def test_a_plan_gives_its_writer_values_of_their_types_and_the_defaults() -> None:
    settings = settings_of(Table, (("create_table", "true"), ("topic", "of another taker")))

    assert (settings.create_table, settings.kcl, settings.shards) == (True, None, 1)


@with_cases(
    ("values", "found"),
    [
        ({"kcl": "4"}, "kcl=4"),
        ({"create_table": "maybe"}, "create_table=maybe"),
        ({"shards": "0"}, "shards=0"),
        ({"shards": "1.5"}, "shards=1.5"),
        ({"tables": "1"}, "'tables', which table and named do not take"),
        ({}, "no topic"),
    ],
)
def test_anything_else_is_refused_with_what_is_taken(values: dict[str, object], found: str) -> None:
    takers: Takers = {"table": Table, "named": Named}

    with pytest.raises(PlanError) as error:
        accepted(takers, texts({"topic": "orders"} | values) if values else ())

    assert found in error.value.problem
    assert accepted_keys(takers) in error.value.problem
    assert accepted_keys(takers) == (
        "create_table=true|false (make the table where there is none), kcl=2|3 (the version of the KCL that reads it), "
        "shards=NUMBER (how many shards it has), topic=TEXT (the topic to put back)"
    )


@with_cases("text", ["kcl", "=2", "kcl=", "", "="])
def test_what_is_no_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected key=value"):
        parse([text])


def test_a_key_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="'kcl' twice"):
        parse(["kcl=2", "kcl=3"])


def test_a_value_may_hold_an_equals_sign() -> None:
    assert parse(["topic=a=b"]) == {"topic": "a=b"}


@with_cases("target", list(TARGETS))
def test_every_key_of_every_target_says_what_it_means(target: str) -> None:
    model = target_type(target).parameters

    assert all(field.description for field in model.model_fields.values())


@pytest.mark.usefixtures("takes")
def test_the_command_records_it_in_the_plan(tmp_path: Path) -> None:
    given = ("--set", "kcl=2", "--set", "create_table=true", "--sink-rewound", "--json")
    ran = draft(tmp_path / "plan.json", *given, target=STARTING.kind)

    assert ran.answered()["settings"] == [["create_table", "true"], ["kcl", "2"]]
    assert "set: create_table=true, kcl=2" in ran.err


def test_the_command_refuses_a_key_of_no_target_and_writes_nothing(tmp_path: Path) -> None:
    ran = draft(tmp_path / "plan.json", "--set", "kcl=2", target=STARTING.kind)

    assert ran.code == 1
    assert "expected no key, for starting-offsets takes none; found 'kcl'" in " ".join(ran.err.split())
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.usefixtures("takes")
@with_cases("forged", [(("kcl", "9"),), (("other", "1"),), (("kcl", "2"), ("kcl", "3"))])
def test_a_plan_whose_settings_nobody_takes_is_no_plan(forged: tuple[tuple[str, str], ...]) -> None:
    plan = replace(drafted(None, STARTING), settings=forged)

    with pytest.raises(PlanError, match="its settings have"):
        read_plan(files.dump(plan).encode(), subject="plan.json")


def test_a_plan_without_settings_keeps_its_bytes() -> None:
    assert "settings" not in files.dump(drafted())
