"""`offsetwise targets` lists what a plan can write to, and every older option of `draft` is a key of one of these."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema

from offsetwise.plan.options import with_settings
from offsetwise.registry import ENGINES, TARGETS
from tests.commands import call
from tests.with_cases import with_cases


def listed(*names: str) -> dict[str, Any]:
    ran = call("targets", *names, "--json")
    assert ran.code == 0, ran.err
    body: dict[str, Any] = json.loads(ran.out)
    jsonschema.validate(body, json.loads(call("schema", "targets").out))
    return body


def aliases() -> dict[str, str]:
    """Return the older options of `draft` that the listing has, each with its key."""
    body = listed()
    return {option: key for entry in (*body["targets"], *body["engines"]) for option, key in entry["aliases"].items()}


def test_every_target_and_every_engine_is_listed_once() -> None:
    body = listed()

    assert [target["name"] for target in body["targets"]] == list(TARGETS)
    assert [engine["name"] for engine in body["engines"]] == list(ENGINES)


@with_cases("name", TARGETS)
def test_one_is_listed_by_its_name_with_the_schema_of_its_keys(name: str) -> None:
    (target,) = listed(name)["targets"]

    assert target in listed()["targets"]
    assert target["label"]
    assert set(target["engines"]) <= set(ENGINES)
    jsonschema.Draft202012Validator.check_schema(target["parameters"])
    keys = target["parameters"].get("properties", {})
    assert set(target["aliases"].values()) <= keys.keys()
    shown = call("targets", name).out
    assert shown.startswith(name)
    assert all(f"--set {key}=" in shown for key in keys)


def test_a_name_that_no_target_has_is_an_error_with_those_that_are() -> None:
    refused = call("targets", "spark", "--json").refused()

    assert "found 'spark'" in refused["problem"]
    assert all(name in refused["problem"] for name in TARGETS)


def test_an_older_option_is_a_key_now_and_the_help_does_not_list_it() -> None:
    shown = set(re.findall(r"--[a-z-]+", call("draft", "--help", width=300).out))

    assert {"--set", "--target"} <= shown
    assert {"--rewind-to", "--mark-settled", "--unset", "--repair", "--uid", "--stream-arn"} <= aliases().keys()
    assert shown & aliases().keys() == set()
    for option, key in aliases().items():
        assert with_settings([f"{option}=1", "--author", "ada"]) == ["--set", f"{key}=1", "--author", "ada"]


def test_no_option_of_draft_has_the_name_of_a_key_of_one_target_or_engine() -> None:
    shown = set(re.findall(r"--([a-z-]+)", call("draft", "--help", width=300).out))
    body = listed()

    keys = {key for entry in (*body["targets"], *body["engines"]) for key in entry["parameters"].get("properties", {})}
    assert {key.replace("_", "-") for key in keys} & shown == set()
