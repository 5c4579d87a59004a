from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.errors import JarError
from offsetwise.jars import cache_folder
from offsetwise.lab.jars import kafka_jars

NO_NETWORK = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=1"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "offsetwise" / "jars"


def test_the_cache_folder_follows_xdg(empty_cache: Path) -> None:
    assert cache_folder() == empty_cache


def test_without_network_the_error_says_what_failed_and_leaves_no_half_made_folder(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", NO_NETWORK)
    with pytest.raises(
        JarError, match=r"The jars of kafka-4\.1\.1-\w+ could not be fetched.*Ivy's last words"
    ) as caught:
        kafka_jars()
    assert "reaches Maven Central" in caught.value.fix
    assert list(empty_cache.iterdir()) == []


def test_jars_that_are_there_are_not_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kafka_jars()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert kafka_jars() == folder
    assert any(folder.glob("connect-mirror-*.jar"))
