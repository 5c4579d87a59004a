"""One promise with many cases is one test: it goes over all of them and names every one that fails.

`with_cases` is written as `pytest.mark.parametrize` is. Every case has fixtures of its own, as a test has, also
`tmp_path` and `monkeypatch`. `--apart` makes a test of every case again, to choose one by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import pytest
from _pytest.runner import runtestprotocol

Decorated = TypeVar("Decorated", bound=Callable[..., object])
APART: Final = "--apart"
_MARK: Final = "over_cases"


def with_cases(
    names: str | Sequence[str],
    values: Iterable[Any],
    *,
    ids: Iterable[str | float | bool | None] | Callable[[Any], object | None] | None = None,
) -> Callable[[Decorated], Decorated]:
    """Make a test go over cases; where it stands more than once above a test, over every combination."""

    def decorate(test: Decorated) -> Decorated:
        decorated: Decorated = pytest.mark.parametrize(names, values, ids=ids)(test)
        setattr(decorated, _MARK, True)
        return decorated

    return decorate


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let every case be a test by itself, to choose it by its id."""
    parser.addoption(APART, action="store_true", help="make a test of every case of a test")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> pytest.Item | None:
    """Collect a test that goes over cases as one; None where pytest is to collect it by itself."""
    if not getattr(obj, _MARK, False) or collector.config.getoption(APART):
        return None
    together: pytest.Item = OverCases.from_parent(collector, name=name)
    return together


class OverCases(pytest.Function):
    """A test that runs its cases, all with fixtures of their own, and fails once for all that fail."""

    def setup(self) -> None:
        """Leave it to the cases to ask for fixtures."""

    def runtest(self) -> None:
        """Run the cases.

        Raises:
            pytest.fail.Exception: A case failed; it names all that did, and has what pytest reports of each.
        """
        cases = self._cases()
        failed: dict[str, list[str]] = {}
        skipped: list[str] = []
        for case, following in zip(cases, [*cases[1:], self], strict=True):
            reports = runtestprotocol(case, log=False, nextitem=following)
            self.user_properties += case.user_properties
            if failures := [_told(case, report) for report in reports if report.failed]:
                failed[case.name] = failures
            skipped += [report.longreprtext for report in reports if report.skipped]
            if failed and self.config.getoption("maxfail") == 1:
                break
        if failed:
            told = [text for failures in failed.values() for text in failures]
            names = "\n".join(failed)
            pytest.fail("\n\n".join([f"{len(failed)} of {len(cases)} cases failed:\n{names}", *told]), pytrace=False)
        if skipped and len(skipped) == len(cases):
            pytest.skip(skipped[0])

    def _cases(self) -> list[pytest.Function]:
        """Collect the cases as pytest does, and put them below this test, which stays set up until the last has run."""
        assert isinstance(self.parent, pytest.Module | pytest.Class)
        made = getattr(self.parent, "_genfunctions")(self.name, self.obj.__func__ if self.instance else self.obj)  # noqa: B009
        cases: list[pytest.Function] = list(made)
        for case in cases:
            assert case.obj  # bound to an instance of its own while its class is its parent
            case.parent = self
        return cases


def _told(case: pytest.Item, report: pytest.TestReport) -> str:
    """Write what pytest tells of a failure under the name of the case."""
    printed = [f"{title}\n{text}" for title, text in report.sections]
    return "\n".join([f"_____ {case.name}: {report.when} _____", report.longreprtext, *printed])
