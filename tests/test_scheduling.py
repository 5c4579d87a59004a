from __future__ import annotations

import pytest

from tests.scheduling import uses_lab


def test_every_file_that_uses_the_lab_goes_to_the_process_that_has_it(request: pytest.FixtureRequest) -> None:
    users = {item.path for item in request.session.items if "lab" in getattr(item, "fixturenames", ())}

    assert [path for path in sorted(users) if not uses_lab(path)] == []
