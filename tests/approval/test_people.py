from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.approval.people import distinct_people, same_person

NAMES = st.sampled_from(["alice", "Alice@a.org", "alice@b.org", "Alice Ames", "bob", "BOB@b.org", "ames", "eve"])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("alice", "ALICE ", True),
        ("Straße", "STRASSE", True),
        ("alice", "alice@example.org", True),
        ("Alice Ames", "alice", True),
        ("Alice Ames <alice@example.org>", "A. Ames <Alice@Example.org>", True),
        ("al\u00adice", "alice", True),
        ("al\u2060ice", "alice", True),
        ("Alice  Ames", "alice\tames", True),
        ("alice@a.org", "alice@b.org", False),
        ("Alice Ames", "Bob Ames", False),
        ("alice", "malice", False),
        ("", "alice", False),
        ("", "", False),
    ],
)
def test_two_names_may_be_one_person(one: str, other: str, same: bool) -> None:
    assert same_person(one, other) is same
    assert same_person(other, one) is same


@given(st.text(min_size=1, max_size=30))
def test_everybody_who_has_a_name_is_themselves(name: str) -> None:
    assert same_person(name, name) is bool(set(distinct_people([name, name])) == {0})


@given(st.lists(NAMES, max_size=8), st.randoms(use_true_random=False))
def test_how_many_people_there_are_does_not_depend_on_the_order(names: list[str], shuffled: object) -> None:
    mixed = [*names]
    shuffled.shuffle(mixed)  # type: ignore[attr-defined]

    assert len(set(distinct_people(names))) == len(set(distinct_people(mixed)))


@given(st.lists(NAMES, min_size=1, max_size=8))
def test_two_names_of_one_person_have_one_number(names: list[str]) -> None:
    people = distinct_people(names)

    for one, first in zip(names, people, strict=True):
        for other, second in zip(names, people, strict=True):
            assert not same_person(one, other) or first == second
