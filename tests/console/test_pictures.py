"""Pictures of the console are taken of one that answers."""

from __future__ import annotations

import pytest

from tools import screenshots


def test_of_a_console_that_did_not_start_no_picture_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(screenshots.SCENARIOS, "sample", "tests.console.no_such_module")
    with pytest.raises(SystemExit, match="ended with exit code 1") as stopped, screenshots.console("sample"):
        pytest.fail("it went on")
    assert "No module named tests.console.no_such_module" in str(stopped.value)
