from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.approval.people import distinct_people, same_person
from tests.with_cases import with_cases

NAMES = st.sampled_from(["alice", "Alice@a.org", "alice@b.org", "Alice Ames", "bob", "BOB@b.org", "ames", "eve"])


@with_cases(
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
        ("Alice Ames", "alice@b.org", True),
        ("https://login.example.org ada", "ada@example.org", True),
        ("https://login.example.org ada", "ada", True),
        ("https://login.example.org/realms/ops 42 <ada@a.org>", "ops", False),
        ("https://login.example.org 42", "https://login.example.org 43", False),
        ("https://login.example.org 42 <ada@a.org>", "https://other.example.net 43 <ada@a.org>", True),
        ("https://login.example.org 42 <ada@a.org>", "ada@b.org", False),
        ("https://login.example.org auth0|5f2", "auth0|5f2", True),
        ("auth0|5f2", "auth0|5f3", False),
        ("google-oauth2|ada", "ada", True),
        ("https://login.example.org CN=Ada,OU=Data", "cn=ada,ou=data", True),
        ("CN=Ada,OU=Data", "CN=Bob,OU=Data", False),
        ("https://login.example.org ada smith", "Ada Smith", True),
        ("ada smith", "ada jones", False),
        ("https://login.example.org urn:people#ada", "urn:people#ada", True),
        ("https://login.example.org spiffe://corp/ns/ada <x@y.z>", "spiffe://corp/ns/ada", True),
        ("spiffe://corp/ns/ada", "spiffe://corp/ns/bob", False),
        ("CORP\\ada", "ada", True),
        ("https://login.example.org ada\u034f", "ada", True),
        ("ada\u2800smith", "https://login.example.org ada smith", True),
        ("аda", "ada", True),
        ("adı", "adi", True),
        ("BOB", "ВОВ", True),
        ("adaI", "adal", True),
        ("0tto", "otto", True),
        ("https://login.example.org раураӏ|1", "paypal|1", True),
        ("ada", "ida", False),
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
