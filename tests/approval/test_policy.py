"""The policy: from the migration file, from the command line, and from both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from offsetwise.approval import ApprovalPolicy, PrivateKey, combined, policy_for, write_keys
from offsetwise.config import ApprovalSettings, load_migration, schema
from offsetwise.errors import ConfigError, NotApprovedError
from tests.approval.signed import MALLORY, RALPH, RITA, judged, said, trusting
from tests.with_cases import with_cases

Load = Callable[[object], ApprovalSettings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load the `approval` section of a migration file beside the keys of Rita and Ralph."""
    for name, key in (("rita", RITA), ("ralph", RALPH)):
        write_keys(tmp_path / name, key)

    def loaded(section: object) -> ApprovalSettings:
        body = {
            "name": "orders-to-new",
            "source": {"properties": {"bootstrap.servers": "127.0.0.1:19092"}},
            "target": {"properties": {"bootstrap.servers": "127.0.0.1:29092"}},
            "approval": section,
        }
        path = tmp_path / "migration.yaml"
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        made = load_migration(path).approval
        jsonschema.validate(body, schema())
        return made

    return loaded


def entry(file: str, key: PrivateKey) -> dict[str, str]:
    return {"file": file, "issuer": key.public.issuer, "subject": key.public.subject}


BOTH = [entry("rita.pub", RITA), entry("ralph.pub", RALPH)]


class TestTheMigrationFile:
    def test_names_keys_beside_itself(self, load: Load) -> None:
        policy = policy_for(load({"required": 2, "trusted_keys": BOTH, "max_lifetime_hours": 2, "clock_skew_s": 0}))

        assert policy == trusting(RITA, RALPH, required=2, max_lifetime_s=7_200, clock_skew_s=0)

    def test_trusts_nobody_where_it_says_nothing(self, load: Load) -> None:
        assert policy_for(load({})) == ApprovalPolicy()

    @with_cases(
        ("section", "told"),
        [
            ({"required": 0}, "approval.required"),
            ({"required": True}, "approval.required"),
            ({"required": 2, "trusted_keys": BOTH[:1]}, "no plan could be approved"),
            ({"required": 2, "trusted_keys": [BOTH[0], {**BOTH[0]}]}, "no plan could be approved"),
            ({"trusted_keys": []}, "approval.trusted_keys"),
            ({"trusted_keys": [{"file": "rita.pub"}]}, "approval.trusted_keys.0.issuer is missing"),
            ({"trusted_keys": [BOTH[0] | {"roles": []}]}, "unknown key 'roles'"),
            ({"max_lifetime_hours": 0}, "approval.max_lifetime_hours"),
            ({"clock_skew_s": 3_601}, "approval.clock_skew_s"),
            ({"require": 2}, "unknown key 'require'"),
        ],
        ids=["nobody", "yes", "too few", "one twice", "none listed", "no issuer", "roles", "no time", "skew", "typo"],
    )
    def test_that_means_nothing_is_refused(self, load: Load, section: object, told: str) -> None:
        with pytest.raises(ConfigError, match=told):
            load(section)

    @with_cases("change", [{"issuer": "https://evil.example.org"}, {"subject": "Rita@example.org"}], ids=str)
    def test_and_a_key_file_that_name_two_holders_are_refused(self, load: Load, change: dict[str, str]) -> None:
        with pytest.raises(NotApprovedError, match=r"not known whose it is\. Nothing was written"):
            policy_for(load({"trusted_keys": [BOTH[0] | change]}))

    def test_notices_a_key_file_that_was_swapped_for_another_of_the_same_name(self, load: Load, tmp_path: Path) -> None:
        section = load({"trusted_keys": [BOTH[1]]})
        swapped = replace(MALLORY.public, subject="ralph")
        (tmp_path / "ralph.pub").write_text(swapped.dump(), encoding="utf-8")

        with pytest.raises(NotApprovedError, match="not known whose it is"):
            policy_for(section)

    def test_whose_key_file_is_missing_is_refused(self, load: Load, tmp_path: Path) -> None:
        section = load({"trusted_keys": BOTH})
        (tmp_path / "rita.pub").unlink()

        with pytest.raises(NotApprovedError, match=r"rita\.pub.*No such file"):
            policy_for(section)


class TestTheCommandLine:
    def test_names_keys_alone(self, load: Load, tmp_path: Path) -> None:
        assert policy_for(load({}), [tmp_path / "rita.pub"]) == trusting(RITA)

    def test_never_lowers_the_number(self, load: Load, tmp_path: Path) -> None:
        policy = policy_for(load({"required": 2}), [tmp_path / "rita.pub", tmp_path / "ralph.pub"])

        assert policy.required == 2
        with pytest.raises(NotApprovedError, match="2 people"):
            judged(said(), policy=policy)

    def test_and_the_file_trust_the_keys_that_are_in_both(self, load: Load, tmp_path: Path) -> None:
        policy = policy_for(load({"trusted_keys": BOTH}), [tmp_path / "rita.pub"])

        assert policy.trusted == (RITA.public,)
        with pytest.raises(NotApprovedError, match="expected one of the keys that the applier trusts"):
            judged(said(RALPH), policy=policy)

    def test_and_the_file_without_a_key_in_both_trust_nobody(self, load: Load, tmp_path: Path) -> None:
        policy = policy_for(load({"trusted_keys": BOTH[:1]}), [tmp_path / "ralph.pub"])

        for key in (RITA, RALPH):
            with pytest.raises(NotApprovedError, match="expected a key that the applier trusts") as caught:
                judged(said(key), policy=policy)
            assert "in both" in caught.value.fix


class TestTwoPolicies:
    def test_joined_forbid_what_either_forbids_in_any_order(self) -> None:
        one = trusting(RITA, RALPH, required=1, max_lifetime_s=60, clock_skew_s=None)
        other = trusting(RALPH, MALLORY, required=2, max_lifetime_s=None, clock_skew_s=5)

        assert combined(one, other) == trusting(RALPH, required=2, max_lifetime_s=60, clock_skew_s=5)
        assert combined(other, one) == combined(one, other)
        assert combined(one, ApprovalPolicy()) == combined(ApprovalPolicy(), one) == one

    def test_that_know_a_key_by_two_names_do_not_trust_it(self) -> None:
        renamed = replace(RITA.public, subject="ralph")

        assert combined(trusting(RITA), trusting(renamed)).trusted == ()


def test_one_key_has_one_holder() -> None:
    with pytest.raises(NotApprovedError, match="whoever holds it could be either"):
        trusting(RITA, replace(RITA.public, subject="ralph"))


def test_nobody_is_never_enough() -> None:
    with pytest.raises(NotApprovedError, match="at least one approver, found 0"):
        trusting(RITA, required=0)
