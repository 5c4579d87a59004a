"""Which process and which command a test belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import pytest
from xdist.scheduler import LoadGroupScheduling

from tests.scheduling import REAL, fixtures, without_group
from tests.stores import EMULATED


def test_a_test_runs_with_those_of_its_file_or_with_all_that_use_the_lab(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
        if "lab" in fixtures(item):
            assert groups in (["lab"], ["second-lab"]), item.nodeid
        elif not {"kinesis_mock", "kinesalite", "dynamodb_local"}.isdisjoint(fixtures(item)):
            assert groups == ["kinesis"], item.nodeid
        elif "browser" not in fixtures(item) or groups:
            assert groups == [without_group(item.nodeid).partition("::")[0]], item.nodeid
        if groups and request.config.getoption("loadgroup", default=False):
            assert item.nodeid.endswith(f"@{groups[0]}"), "xdist groups nothing: does it know this pytest?"


def test_of_the_browser_what_shares_something_in_its_file_stays_together(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        if "browser" in fixtures(item) and not list(item.iter_markers("xdist_group")):
            scopes = {made[-1].scope for made in item._fixtureinfo.name2fixturedefs.values()}  # type: ignore[attr-defined]
            assert scopes <= {"function", "session"}, item.nodeid


def test_what_needs_real_clusters_a_browser_or_emulators_is_proof_and_nothing_else_is(
    request: pytest.FixtureRequest,
) -> None:
    for item in request.session.items:
        parameters: Mapping[str, object] = getattr(getattr(item, "callspec", None), "params", {})
        walked = getattr(parameters.get("row"), "proof", False)  # it asks for its servers by name
        real = not REAL.isdisjoint(fixtures(item)) or parameters.get("store") in EMULATED or walked
        assert (item.get_closest_marker("proof") is not None) == real, item.nodeid


def test_xdist_keeps_groups_together_and_reports_name_tests_without_them() -> None:
    split = object.__new__(LoadGroupScheduling)._split_scope

    assert split("tests/a.py::test_b[x@y]@tests/a.py") == split("tests/a.py::test_c@tests/a.py") == "tests/a.py"
    assert split("tests/a.py::test_b@lab") == split("tests/c.py::test_d[1]@lab") == "lab"
    assert without_group("tests/a.py::test_b[x@y]@tests/a.py") == "tests/a.py::test_b[x@y]"
    assert without_group("tests/a.py::test_b[x@y]") == "tests/a.py::test_b[x@y]"
    assert without_group("tests/a.py::test_b[1]@lab") == "tests/a.py::test_b[1]"
    assert without_group("tests/a.py::test_b[1]@second-lab") == "tests/a.py::test_b[1]"


def test_each_file_with_a_lab_has_one_lab_and_neither_half_is_empty(request: pytest.FixtureRequest) -> None:
    labs: dict[str, set[str]] = defaultdict(set)
    for item in request.session.items:
        if "lab" in fixtures(item):
            labs[item.path.name] |= {mark.args[0] for mark in item.iter_markers("xdist_group")}
    assert all(len(groups) == 1 for groups in labs.values())
    if len(labs) > 20:  # of all tests, not of some that were asked for
        assert {next(iter(groups)) for groups in labs.values()} == {"lab", "second-lab"}
