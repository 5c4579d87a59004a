"""Waves of the migration file: which jobs they name, and in which order they begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from offsetwise import Migration
from offsetwise.config import load_migration
from offsetwise.config.waves import WaveConfig, check_waves, in_order
from offsetwise.errors import ConfigError
from offsetwise.model import Subject, SubjectKind
from tests.with_cases import with_cases

FILE = {
    "name": "m",
    "source": {"properties": {"bootstrap.servers": "127.0.0.1:1"}},
    "target": {"properties": {"bootstrap.servers": "127.0.0.1:2"}},
    "checkpoints": [{"name": "orders", "uri": "/c/orders"}, {"name": "pay[1]", "uri": "/c/pay"}],
    "groups": ["etl-eu", "etl-us", "web"],
}


def loaded(folder: Path, **changes: Any) -> Migration:
    """Load the file with changes."""
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(FILE | changes))
    return Migration.load(path)


@with_cases(
    ("jobs", "named"),
    [
        (["*"], ["checkpoint orders", "checkpoint pay[1]", "group etl-eu", "group etl-us", "group web"]),
        (["group:*"], ["group etl-eu", "group etl-us", "group web"]),
        (["group:web", "checkpoint:orders"], ["group web", "checkpoint orders"]),
        (["group:web", "group:*"], ["group web", "group etl-eu", "group etl-us"]),
        (["group:etl-??"], ["group etl-eu", "group etl-us"]),
        (["checkpoint:pay[1]"], ["checkpoint pay[1]"]),
    ],
    ids=",".join,
)
def test_a_wave_names_jobs_by_their_names_and_by_patterns(jobs: list[str], named: list[str], tmp_path: Path) -> None:
    migration = loaded(tmp_path, waves=[{"name": "pilot", "jobs": jobs}])
    assert [str(job) for job in migration.wave("pilot")] == named


def test_times_of_a_wave_are_read_with_their_zone(tmp_path: Path) -> None:
    wave = {"name": "w", "jobs": ["*"], "not_before": "2026-12-01T02:00+01:00", "window": "2h"}
    config = loaded(tmp_path, waves=[wave]).settings.wave("w")
    assert (config.not_before_ms, config.window_ms) == (1_796_086_800_000, 7_200_000)
    silent = loaded(tmp_path, waves=[{"name": "w", "jobs": ["*"]}]).settings.wave("w")
    assert (silent.not_before_ms, silent.window_ms) == (None, None)


@with_cases(
    ("waves", "said"),
    [
        ([{"name": "a", "jobs": []}], "waves.0.jobs cannot be used"),
        ([{"name": "a", "jobs": ["group:web", "group:web"]}], "expected each job once, found group:web twice"),
        ([{"name": "a", "jobs": ["*"]}, {"name": "a", "jobs": ["*"]}], "found 'a' twice"),
        ([{"name": "a", "jobs": ["group:wbe"]}], "'a' names 'group:wbe', which no job of this file matches"),
        ([{"name": "a", "jobs": ["group:x*"]}], "which no job of this file matches"),
        ([{"name": "a", "jobs": ["web"]}], "waves.0.jobs.0 cannot be used"),
        ([{"name": "a", "jobs": ["*"], "after": ["b"]}], "comes after 'b', which is not a wave of this file"),
        ([{"name": "a", "jobs": ["*"], "after": ["a"]}], "found 'a' after 'a'"),
        (
            [{"name": "a", "jobs": ["*"], "after": ["b"]}, {"name": "b", "jobs": ["*"], "after": ["a"]}],
            "so none of them could begin",
        ),
        ([{"name": "a", "jobs": ["*"], "not_before": "2026-12-01T02:00"}], "waves.0.not_before cannot be used"),
        ([{"name": "a", "jobs": ["*"], "not_before": 5}], "expected a time such as 2026-12-01T02:00Z, found 5"),
        ([{"name": "a", "jobs": ["*"], "window": "2 h"}], "waves.0.window cannot be used"),
        ([{"name": "a", "jobs": ["*"], "jbos": 1}], "has the unknown key 'jbos'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wave_that_cannot_be_meant_is_refused(waves: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, waves=waves)
    assert said in refused.value.problem
    assert refused.value.fix


def test_a_wave_that_the_file_does_not_have_is_named_with_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a wave named 'x', the file has: a"):
        loaded(tmp_path, waves=[{"name": "a", "jobs": ["*"]}]).wave("x")


def test_a_file_without_waves_has_none(tmp_path: Path) -> None:
    loaded(tmp_path)
    assert load_migration(tmp_path / "migration.yaml").waves == ()


JOBS = [Subject(kind=SubjectKind.GROUP, name=f"g{number}") for number in range(3)]
NAMES = [f"w{number}" for number in range(6)]


@st.composite
def orders(draw: st.DrawFn) -> list[WaveConfig]:
    """Waves that come after any others, also in circles, in any order of the file."""
    after = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
    waves = [WaveConfig(name=name, jobs=("*",), after=tuple(draw(after))) for name in NAMES]
    return draw(st.permutations(waves))


def reaches(waves: dict[str, WaveConfig], start: str, goal: str) -> bool:
    """Return whether a wave comes after another, through any number of others."""
    seen, left = set[str](), [*waves[start].after]
    while left:
        name = left.pop()
        if name == goal:
            return True
        left += () if name in seen else waves[name].after
        seen.add(name)
    return False


@given(orders())
def test_waves_begin_behind_those_that_they_come_after_or_are_refused(waves: list[WaveConfig]) -> None:
    by_name = {wave.name: wave for wave in waves}
    if any(reaches(by_name, name, name) for name in NAMES):
        with pytest.raises(ConfigError, match="expected an order, found"):
            check_waves(waves, JOBS)
        return
    check_waves(waves, JOBS)
    ordered = in_order(waves)
    assert {*ordered} == {*waves}
    for index, wave in enumerate(ordered):
        assert not {*wave.after} & {other.name for other in ordered[index:]}
    free = [wave for wave in waves if not wave.after and not any(wave.name in other.after for other in waves)]
    assert [wave for wave in ordered if wave in free] == free
