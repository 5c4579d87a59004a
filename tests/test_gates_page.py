"""The page of the gates names tests that there are, and each wrong answer has one with generated neighbours."""

from __future__ import annotations

import ast

from tests.gates_page import PAGE, TESTS, cells, named

VARIED = ast.For | ast.comprehension
"""A loop over cases; so are the decorators `parametrize`, `with_cases` and `given`."""


def test_every_test_that_the_page_names_is_one() -> None:
    tests = [*named(PAGE.read_text(encoding="utf-8"))]

    assert len(tests) > 300
    assert [name for name, found in tests if not found] == []


def test_each_wrong_answer_has_a_test_with_generated_neighbours() -> None:
    rows = cells("wrong answers")

    assert [row[0] for row in rows] == [f"W{number}" for number in range(1, len(rows) + 1)]
    assert len({row[1] for row in rows}) == len(rows) >= 70
    for number, _, _, tests, real in rows:
        found = [test for _, matching in named(tests) for test in matching]
        assert found, number
        assert any(is_varied(test) for test in found), number
        assert all(len(matching) == 1 and "::" in name for name, matching in named(real)), number
        assert real == "–" or [*named(real)], number


def is_varied(test: str) -> bool:
    """Return whether a test, or one of a class of tests, tries more than one case."""
    path, _, name = test.partition("::")
    node: ast.AST = ast.parse((TESTS.parent / path.lstrip("/")).read_text(encoding="utf-8"))
    for part in name.split("::"):
        body: list[ast.AST] = getattr(node, "body", [])
        node = next(each for each in body if getattr(each, "name", None) == part)
    decorated = (ast.unparse(one) for each in ast.walk(node) for one in getattr(each, "decorator_list", []))
    return any("parametrize" in one or one.startswith(("with_cases", "given")) for one in decorated) or any(
        isinstance(each, VARIED) for each in ast.walk(node)
    )


def test_each_line_of_the_threat_model_names_a_test_that_there_is() -> None:
    """Of the table that says who can still do what."""
    page = PAGE.with_name("threat-model.md").read_text(encoding="utf-8")
    _, _, behind = page.partition("## Who can still do what\n")
    lines = [line for line in behind.partition("\n## ")[0].splitlines() if line.startswith("| ")][1:]

    assert len(lines) >= 7
    for line in lines:
        tests = [*named(line.rstrip(" |").rpartition("|")[2])]
        assert tests, line[:80]
        assert [name for name, found in tests if not found] == [], line[:80]
