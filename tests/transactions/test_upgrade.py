"""The five steps to two-phase commit, judged for a job, and what to do until then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from offsetwise.model import Checkpoint, Outcome, RetainedCheckpoint
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.transactions.observed import NO_TIMEOUT_MS, Answer, Missing
from offsetwise.transactions.timing import Timeout, seen_timeout_ms
from offsetwise.transactions.upgrade import (
    MAX_TIMEOUT,
    TWO_PHASE,
    UNSTABLE,
    AclGrant,
    Broker,
    TransactionFacts,
    Upgrade,
    judge,
    timeout_refused,
)
from tests.checkpoints import changed
from tests.transactions.recorded import DATA
from tests.transactions.test_deciding import said
from tests.with_cases import with_cases

READ = read_checkpoint(str(DATA / "c50-incrementing" / "savepoint-3-pending"))
PREFIX = "tx-c50-incr"
ALLOWED = {TWO_PHASE: "true", UNSTABLE: "false", MAX_TIMEOUT: "900000"}
WRITE, TWO_PHASE_COMMIT, ALL = 4, 15, 2


def broker(number: int = 1, version: int | None = 6, config: Mapping[str, str] | None = None, api: int = 17) -> Broker:
    return Broker(
        id=number,
        apis=frozenset({(1, 4, api), (22, 0, version or 0)}),
        init_producer_id=version,
        config=ALLOWED if config is None else config,
    )


def facts(*brokers: Broker, **more: object) -> TransactionFacts:
    return replace(TransactionFacts(name="old", brokers=brokers or (broker(),), authorizer=False), **more)  # type: ignore[arg-type]


def judged(
    of: TransactionFacts,
    *,
    read: Checkpoint = READ,
    after: TransactionFacts | None = None,
    timeout_ms: int | None = None,
    live: bool = False,
    damage: str | None = None,
) -> Upgrade:
    return judge(read, of, after or of, timeout=Timeout(stated_ms=timeout_ms), live=live, damage=damage)


@with_cases(
    ("of", "outcome", "told"),
    [
        (facts(broker(version=5)), "failed", "broker 1 takes InitProducerId up to version 5"),
        (facts(broker(), broker(2, version=5)), "failed", "broker 2 takes InitProducerId up to version 5"),
        (facts(broker(version=None)), "failed", "up to version 0"),
        (facts(broker(version=5), broker(2, version=4)), "failed", "all 2 brokers take InitProducerId up to version 5"),
        (facts(broker(config=ALLOWED | {UNSTABLE: "true"})), "failed", "refuses to resume a prepared transaction"),
        (facts(broker(config=ALLOWED | {TWO_PHASE: "false"})), "failed", f"{TWO_PHASE} is false at broker 1"),
        (facts(broker(config={})), "unknown", "DESCRIBE_CONFIGS"),
        (facts(silent=(2,)), "unknown", "broker 2 gave no answer"),
        (TransactionFacts(name="old", brokers=()), "unknown", "its brokers gave no answer"),
        (facts(broker(), broker(2)), "passed", "every broker takes it"),
    ],
)
def test_32_brokers_are_judged_by_what_every_one_of_them_takes_and_allows(
    of: TransactionFacts, outcome: str, told: str
) -> None:
    step = judged(of).steps[0]

    assert (step.outcome, told in step.told) == (outcome, True), step.told


def grant(operation: int, name: str = f"{PREFIX}-", pattern: int = 4, user: str = "User:etl", **more: bool) -> AclGrant:
    return AclGrant(
        principal=user, name=name, pattern=pattern, operation=operation, allowed=not more.get("denied", False)
    )


@with_cases(
    ("authorizer", "grants", "outcome"),
    [
        (False, (), "passed"),
        (None, (), "unknown"),
        (True, (), "failed"),
        (True, (grant(WRITE), grant(TWO_PHASE_COMMIT)), "passed"),
        (True, (grant(WRITE), grant(TWO_PHASE_COMMIT, name="tx", pattern=4)), "passed"),
        (True, (grant(ALL, name="*", pattern=3),), "passed"),
        (True, (grant(WRITE), grant(TWO_PHASE_COMMIT, user="User:other")), "failed"),
        (True, (grant(WRITE),), "failed"),
        (True, (grant(TWO_PHASE_COMMIT),), "failed"),
        (True, (grant(ALL, pattern=3),), "failed"),
        (True, (grant(ALL, name="other-"),), "failed"),
        (True, (grant(ALL), grant(TWO_PHASE_COMMIT, denied=True)), "failed"),
    ],
)
def test_one_user_needs_both_rights_on_the_ids_of_every_prefix(
    authorizer: bool | None, grants: tuple[AclGrant, ...], outcome: str
) -> None:
    step = judged(facts(authorizer=authorizer, grants=grants)).steps[1]

    assert step.outcome == outcome, step.told
    if outcome == "failed":
        assert f"--operation TwoPhaseCommit --resource-pattern-type prefixed --transactional-id {PREFIX}-" in step.told


def test_the_savepoint_has_to_be_one_whole_aligned_and_of_a_stopped_job() -> None:
    saved = flink_details(READ).saved

    def third(**more: object) -> tuple[str, str]:
        step = judged(facts(), **more).steps[2]  # type: ignore[arg-type]
        return step.outcome, step.told

    assert third()[0] == "passed"
    assert third(live=True) == ("failed", "Savepoint 3: the job still runs. Stop it with a savepoint.")
    assert third(damage="Of a writer.") == ("failed", "Savepoint 3 cannot be read whole: Of a writer.")
    assert third(read=changed(READ, saved=replace(saved, aligned=False)))[0] == "failed"
    assert third(read=changed(READ, saved=replace(saved, kind="checkpoint")))[0] == "unknown"


def test_32_the_schema_of_flip_319_is_told_and_nothing_released_resumes_it() -> None:
    prepared = tuple(replace(each, schema="FLIP-319") for each in READ.details.transactions)

    assert judged(facts()).steps[3].outcome is Outcome.FAILED
    assert "every release up to 5.0.0" in judged(facts()).steps[3].told
    step = judged(facts(), read=changed(READ, transactions=prepared)).steps[3]
    assert (step.outcome, "no release can resume them" in step.told) == (Outcome.PASSED, True)


def test_brokers_of_several_releases_are_being_upgraded() -> None:
    assert judged(facts(broker(), broker(2, api=16))).steps[4].outcome is Outcome.FAILED
    assert judged(facts(broker(), broker(2))).steps[4].outcome is Outcome.PASSED
    assert judged(facts(silent=(3,))).steps[4].outcome is Outcome.UNKNOWN


def test_the_worst_of_both_clusters_counts_and_the_first_failed_step_blocks() -> None:
    made = judged(facts(), after=replace(facts(broker(version=5)), name="new"))

    assert made.steps[0].outcome is Outcome.FAILED
    assert "Cluster 'old': every broker takes it" in made.steps[0].told
    assert "Cluster 'new': broker 1 takes" in made.steps[0].told
    assert made.blocked_by == "1. brokers with KIP-939"
    assert judged(facts()).blocked_by == "4. connector with FLIP-319"


def timed(*written_s: int) -> Checkpoint:
    saved = flink_details(READ).saved
    retained = tuple(
        RetainedCheckpoint(uri=f"chk-{number}", id=number, written_ms=at * 1_000) for number, at in enumerate(written_s)
    )
    return changed(READ, saved=replace(saved, id=len(written_s), written_ms=None, retained=retained))


def test_time_outs_are_held_against_checkpoints_and_both_clusters() -> None:
    new = replace(facts(broker(config=ALLOWED | {MAX_TIMEOUT: "7200000"})), name="new")
    told = judged(facts(), read=timed(0, 60, 240), after=new, timeout_ms=900_000).until_then

    assert "Retained checkpoints are up to 3 min apart, so that an outage may last 12 min" in told[0]
    assert told[1] == "Cluster 'old' allows up to 15 min (transaction.max.timeout.ms)."
    assert told[2] == "Cluster 'new' allows up to 2 h (transaction.max.timeout.ms)."
    assert "it runs out between two" in judged(facts(), read=timed(0, 60), timeout_ms=60_000).until_then[0]
    assert "do not tell that time" in judged(facts()).until_then[0]
    assert "did not tell its transaction.max.timeout.ms" in judged(facts(broker(config={}))).until_then[1]


@with_cases(
    ("timeout_ms", "most", "refused"),
    [
        (None, "900000", "1 h (KafkaSink's default, none is stated), and transaction.max.timeout.ms of cluster 'old'"),
        (900_001, "900000", "(stated)"),
        (900_000, "900000", None),
        (None, "3600000", None),
        (None, "no number", None),
    ],
)
def test_31_a_time_out_longer_than_any_broker_allows_is_refused(
    timeout_ms: int | None, most: str, refused: str | None
) -> None:
    of = facts(broker(config=ALLOWED | {MAX_TIMEOUT: "99999999"}), broker(2, config=ALLOWED | {MAX_TIMEOUT: most}))
    found = timeout_refused(of, Timeout(stated_ms=timeout_ms))

    assert (found is None) == (refused is None)
    if found is not None and refused is not None:
        assert refused in found[0]
        assert "INVALID_TRANSACTION_TIMEOUT" in found[0]
        assert f"{MAX_TIMEOUT}={timeout_ms or 3_600_000}" in found[1]


@with_cases(
    ("stated_ms", "seen_ms", "told"),
    [
        (None, None, "1 h (KafkaSink's default, none is stated)"),
        (None, 600_000, "10 min (as its transactions have it)"),
        (900_000, None, "15 min (stated)"),
        (900_000, 900_000, "15 min (stated)"),
        (900_000, 600_000, "15 min (stated; its transactions have 10 min)"),
    ],
)
def test_the_time_out_of_the_jobs_own_transactions_counts_where_none_is_stated(
    stated_ms: int | None, seen_ms: int | None, told: str
) -> None:
    timeout = Timeout(stated_ms=stated_ms, seen_ms=seen_ms)
    of = facts(broker(config=ALLOWED | {MAX_TIMEOUT: "1"}))
    refused = timeout_refused(of, timeout)
    until = judge(READ, of, of, timeout=timeout, live=False, damage=None).until_then

    assert refused is not None
    assert f"transaction.timeout.ms of the sink is {told}" in refused[0]
    assert f"{MAX_TIMEOUT}={timeout.ms}" in refused[1]
    assert f"transaction.timeout.ms is {told}" in until[0]


def test_the_longest_time_out_that_was_seen_counts_and_two_phase_commit_has_none() -> None:
    answers: list[Answer] = [said("Ongoing", timeout_ms=each) for each in (60_000, 600_000, NO_TIMEOUT_MS)]

    assert seen_timeout_ms([*answers, Missing.ABSENT]) == 600_000
    assert seen_timeout_ms([answers[2], Missing.DENIED]) is None
