"""A broker lies to what ends transactions: the process lives, and none is ended otherwise."""

from __future__ import annotations

from random import Random

import pytest

from offsetwise.plugins.kafka.targets.transactions import kafka as sink_of
from tests.gates import of_all
from tests.integration.lying_proxy import (
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    METADATA,
    Lie,
    any_lie,
    lying,
)
from tests.integration.test_lying_to_writers import after
from tests.integration.test_settling_live import HELD, LATER, Case, case, cluster, ports
from tests.integration.test_transactions_live import OF_ONE_RELEASE

__all__ = ["case", "cluster", "ports"]

pytestmark = [pytest.mark.proof, OF_ONE_RELEASE]

KINDS = (METADATA, FIND_COORDINATOR, DESCRIBE_TRANSACTIONS, DESCRIBE_PRODUCERS, END_TXN, FETCH)
ENDED = dict.fromkeys(HELD, "CompleteCommit") | {LATER: "CompleteAbort"}


@pytest.mark.parametrize("seed", of_all(range(24), range(4)))
def test_no_lie_ends_the_process_that_ends_transactions_or_has_one_ended_otherwise(
    seed: int, case: Case, ports: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_of, "TIMEOUT_S", 3.0)
    case.signed()
    chosen = Random(seed)
    kind = KINDS[seed % len(KINDS)]
    lies: dict[int, Lie] = {kind: after(chosen.randrange(3), any_lie(chosen))}
    with lying(ports, lies) as address:
        case.ask(**{"bootstrap.servers": address})
        ran = case.apply()
        assert ran.code in (0, 1, 3), ran.err
        assert not any(word in ran.err for word in ("Traceback", "defect")), ran.err
        for name, state in case.states().items():
            assert state in ("Ongoing", ENDED[name]), (kind, ran.err)
        lies.clear()
        again = case.apply()
        assert again.code == 0, again.err
    case.ask(**{"bootstrap.servers": case.bootstrap})
    assert case.states() == ENDED
    assert case.verify() == (0, dict.fromkeys((*HELD, LATER), "CONFIRMED"))
