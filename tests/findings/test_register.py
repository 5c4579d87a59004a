"""The register of findings: assembled from the modules that declare, then closed; a drawer brings its own."""

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
def drawer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Name a drawer's module in a register that nobody has read yet; afterwards it is as before."""
    monkeypatch.setattr(registry, "FINDINGS", [*registry.FINDINGS, lambda: import_module("tests.findings.drawer")])
    monkeypatch.setattr(register, "_declared", dict(findings()))
    _unread()
    yield
    sys.modules.pop("tests.findings.drawer", None)
    monkeypatch.undo()
    _unread()


def _unread() -> None:
    register.findings.cache_clear()
    register.decided.cache_clear()


@pytest.mark.usefixtures("drawer")
def test_a_finding_of_another_package_is_decided_ranked_and_linked_like_any() -> None:
    found = judge(case(row(old_offset=1050)))

    assert [(each.code, each.message) for each in found] == [("LEASE_LOST", "orders-0 is leased to another worker.")]
    assert found[0].remedy == "Stop the other worker."
    assert next(iter(findings())) == "LEASE_LOST"
    assert describe("LEASE_LOST").page == "docs/findings/LEASE_LOST.md"
    assert "help?code=LEASE_LOST" in linked("LEASE_LOST")


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
