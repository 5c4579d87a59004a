"""The register of findings: assembled from the modules that declare, then closed; another package may bring its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from offsetwise import registry
from offsetwise.console.widgets.evidence import linked
from offsetwise.findings import describe, finding, findings, judge, register
from offsetwise.model import Severity
from tests.findings.cases import case, row


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Name the module of a toy in a register that nobody has read yet; afterwards it is as before."""
    monkeypatch.setattr(registry, "FINDINGS", [*registry.FINDINGS, lambda: import_module("tests.toys.finding")])
    monkeypatch.setattr(register, "_declared", dict(findings()))
    _unread()
    yield
    sys.modules.pop("tests.toys.finding", None)
    monkeypatch.undo()
    _unread()


def _unread() -> None:
    register.findings.cache_clear()
    register.decided.cache_clear()


@pytest.mark.usefixtures("toy")
def test_a_finding_of_another_package_is_decided_ranked_and_linked_like_any() -> None:
    code = "TOY_FAR_BEHIND"
    message = "orders-0: 100,001 records are left to read on the old cluster."

    assert [(said.code, said.message) for said in judge(case(row(lag_old=100_001)))] == [(code, message)]
    assert judge(case(row(lag_old=100_000))) == judge(case(row(lag_old=None))) == ()
    severities = [kind.severity for kind in findings().values()]
    assert severities == sorted(severities, key=[*Severity].index)
    assert findings()[code].severity is Severity.WARNS
    assert describe(code).page == f"docs/findings/{code}.md"
    assert f"help?code={code}" in linked(code)


def test_a_code_is_declared_once_and_not_after_the_register_was_read() -> None:
    findings()
    for code, words in (("GAP", "declared twice"), ("LATE", "after the register was read")):
        declare = finding(code=code, severity=Severity.INFORMS, title="t", remedy="r", rank=1)
        with pytest.raises(RuntimeError, match=words):
            declare(lambda: iter(()))


def test_the_register_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        findings()["MINE"] = findings()["GAP"]  # type: ignore[index]


def test_a_code_of_a_later_release_blocks_and_leads_to_the_index() -> None:
    kind = describe("OF_LATER")

    assert (kind.severity, kind.page) == (Severity.BLOCKS, "docs/findings/README.md")
