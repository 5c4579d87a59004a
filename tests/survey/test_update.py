"""A file that people wrote is added to, and every line of it stays as it was."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.config import NamingPolicy, load_migration
from offsetwise.model import Link
from offsetwise.survey.results import Survey, SurveyedCheckpoint, SurveyedGroup, SurveyedLink
from offsetwise.survey.text import migration_text
from offsetwise.survey.update import additions, differences, updated
from tests.survey.recorded import LIB, survey_of
from tests.with_cases import with_cases

HEAD = """\
name: mine
source: {properties: {bootstrap.servers: "old:9092"}}
target: {properties: {bootstrap.servers: "new:9092"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LIB / "sample", tmp_path / "sample"))


@pytest.fixture
def survey(folder: Path) -> Survey:
    return survey_of("sample", folder / "checkpoints")


def update(text: str, survey: Survey, folder: Path) -> str:
    (folder / "mine.yaml").write_bytes(text.encode())
    made = updated(text, additions(text, load_migration(folder / "mine.yaml"), survey, folder))
    (folder / "mine.yaml").write_bytes(made.encode())
    return made


def is_kept(before: str, after: str) -> bool:
    left = iter(after.splitlines())
    return all(line in left for line in before.splitlines())


LISTS = {
    "none": "",
    "empty": "topics: {}\ncheckpoint_roots: []\ncheckpoints: []\ngroups: []\n",
    "empty and more": "topics:\n  map: {}\ncheckpoints: []   # soon\ngroups: [] # none\nwriters: mirror-only # all\n",
    "block": "topics:\n  map:\n    x: y\ngroups:\n  - mine\ncheckpoints:\n  - name: one\n    uri: ./one\n",
    "block, not indented": "checkpoints:\n- name: one\n  uri: ./one\ngroups:\n- mine\n# the end\n",
    "block, indented by four": "topics:\n    policy: identity\n    map:\n        x: y\ngroups:\n    -   mine\n",
    "flow": 'topics: {policy: identity}\ngroups: [mine, "other"]\ncheckpoints: [{name: one, uri: ./one}]\n',
    "flow in flow": "topics: {map: {}}\ngroups: [mine]\n",
    "flow on lines": "groups: [\n  mine,\n  other\n]\ntopics: {\n  map: {x: y}\n}\n",
    "without a newline at the end": "groups:\n  - mine",
    "with comments": "groups:\n  # first\n  - mine # why\n  # after it\n\n# of writers\nwriters: unknown\n",
    "blocks of text": "groups:\n  - >-\n    mine\n\nwriters: unknown\n",
    "windows": "groups:\r\n  - mine\r\nwriters: unknown\r\n",
}


@with_cases("lists", LISTS.values(), ids=LISTS)
def test_what_is_missing_is_added_and_every_line_stays(lists: str, survey: Survey, folder: Path) -> None:
    before = (HEAD.replace("\n", "\r\n") if "\r\n" in lists else HEAD) + lists
    after = update(before, survey, folder)
    made = load_migration(folder / "mine.yaml")

    assert {"orders", "payments"} <= {each.name for each in made.checkpoints}
    assert "orders-etl" in made.group_names
    assert made.topics.map["clicks"] == "old.clicks"
    assert made.checkpoint("orders").job.stateful is True
    assert ("mine" in made.group_names) == ("mine" in lists)
    if not any(bracket in lists for bracket in "[{"):
        assert is_kept(before, after)
    assert after.count("\r\n") in (0, after.count("\n"))
    assert update(after, survey, folder) == after, "what was added is there now"


def test_comments_stay_with_what_they_belong_to(survey: Survey, folder: Path) -> None:
    after = update(HEAD + LISTS["with comments"], survey, folder)

    assert "  - mine # why\n  # after it\n" in after or "  - mine # why\n  - orders-etl" in after
    assert "\n# of writers\nwriters: unknown\n" in after


def test_a_file_that_init_wrote_lacks_nothing(survey: Survey, folder: Path) -> None:
    text, _ = migration_text(survey, folder, "mine")

    assert update(text, survey, folder) == text


def test_what_appeared_since_stands_behind_what_was_there(survey: Survey, folder: Path) -> None:
    text, _ = migration_text(survey, folder, "mine")
    shutil.copytree(folder / "checkpoints" / "payments", folder / "checkpoints" / "refunds")

    after = update(text, survey_of("sample", folder / "checkpoints"), folder)

    assert is_kept(text, after)
    assert [each.name for each in load_migration(folder / "mine.yaml").checkpoints] == ["orders", "payments", "refunds"]
    added = after[after.index("- name: payments") : after.index("- name: refunds")]
    assert "      # tolerates_replay: false\n  # Spark" in added, "comments inside an element stay in it"


def test_what_a_person_made_a_comment_stays_one(survey: Survey, folder: Path) -> None:
    text, _ = migration_text(survey, folder, "mine")
    start, end = text.index("  - name: payments"), text.index("\n# Consumer groups")
    without = text[:start] + "".join(f"# {line}\n" for line in text[start:end].splitlines()) + text[end:]
    without = without.replace("groups:\n  - orders-etl", "groups: []\n  # - orders-etl")
    without = without.replace("  map:\n    clicks", "  map: {}\n    # clicks")

    assert update(without, survey, folder) == without


def test_another_checkpoint_of_the_same_name_gets_another_name(survey: Survey, folder: Path) -> None:
    update(HEAD + "checkpoints:\n  - {name: orders, uri: s3://elsewhere/orders}\n", survey, folder)

    assert [each.name for each in load_migration(folder / "mine.yaml").checkpoints] == [
        "orders",
        "orders-2",
        "payments",
    ]


def test_roots_are_added_where_the_file_lists_roots(survey: Survey, folder: Path) -> None:
    for roots, made in (("", 2), ("checkpoint_roots: [s3://b/c]\n", 2), ("checkpoint_roots: [./checkpoints]\n", 1)):
        update(HEAD + roots, survey, folder)
        assert len(load_migration(folder / "mine.yaml").checkpoint_roots) == made


def test_where_the_file_says_something_else_it_is_told_and_stays(survey: Survey, folder: Path) -> None:
    text = HEAD + (
        "link: other\ntopics: {policy: default, separator: _, map: {clicks: moved}}\n"
        "checkpoints: [{name: gone, uri: ./gone}]\n"
    )
    after = update(text, survey, folder)
    told = list(differences(load_migration(folder / "mine.yaml"), survey, folder))

    assert "map: {clicks: moved}" in after
    assert [each.partition(" in the file")[0] for each in told] == [
        "source is old:9092",
        "target is new:9092",
        "link is other",
        "topics.policy is default",
        "topics.separator is _",
        "topics.map calls clicks moved on the new cluster; found old.clicks.",
        "checkpoint gone was not found below the roots that were looked into.",
    ]


def test_nothing_is_added_to_the_map_of_another_policy(survey: Survey, folder: Path) -> None:
    found = replace(survey, topics=replace(survey.topics, policy=NamingPolicy.DEFAULT), checkpoints=(), groups=())
    text = HEAD + "topics: {policy: identity}\n"

    assert update(text, found, folder) == text


def test_names_with_marks_of_yaml_are_added_between_brackets(survey: Survey, folder: Path) -> None:
    hostile = 'a, "b": {c} #d'
    group = SurveyedGroup(name=hostile, topics=("orders",), partitions=1, state=None)
    job = SurveyedCheckpoint(name=hostile, uri=f"s3://b/{hostile}", engine="spark", partitions=1, stateful=False)

    update(
        HEAD + "groups: [x]\ncheckpoints: [{name: x, uri: ./x}]\n",
        replace(survey, groups=(group,), checkpoints=(job,), link=SurveyedLink(link=Link.OTHER, evidence="")),
        folder,
    )
    made = load_migration(folder / "mine.yaml")

    assert made.group_names == ("x", hostile)
    assert made.checkpoint(hostile).uri == f"s3://b/{hostile}"
