"""Which process and which command a test belongs to."""

from __future__ import annotations

import pytest

from tests.scheduling import FilesWithOneLab, fixtures, without_group


def test_every_file_that_uses_the_lab_goes_to_the_process_that_has_it(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    users = {item.path for item in items if "lab" in fixtures(item)}

    together = {item.path for item in items if item.get_closest_marker("xdist_group") is not None}

    assert users <= together


def test_what_needs_real_clusters_or_a_browser_is_proof_and_nothing_else_is(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        real = "lab" in fixtures(item) or "browser" in fixtures(item)
        assert (item.get_closest_marker("proof") is not None) == real, item.nodeid


def test_files_stay_whole_and_the_lab_is_one_group() -> None:
    split = object.__new__(FilesWithOneLab)._split_scope

    assert split("tests/a.py::test_b[x@y]") == "tests/a.py"
    assert split("tests/a.py::test_b@lab") == split("tests/c.py::test_d[1]@lab") == "lab"
    assert without_group("tests/a.py::test_b[1]@lab") == "tests/a.py::test_b[1]"
