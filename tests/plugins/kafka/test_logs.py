"""Questions about many logs: how they are cut, and what is said when nobody answers."""

from types import SimpleNamespace

from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # re-exported without saying so

from offsetwise.config import ClusterConfig
from offsetwise.plugins.kafka.stream.client import Client
from offsetwise.plugins.kafka.stream.logs import CALLS, EARLIEST, LATEST, LogAnswer, list_offsets, shares, take_logs
from offsetwise.plugins.kafka.stream.snapshot import _partition_state
from tests.with_cases import with_cases

NOWHERE = ClusterConfig(name="old", properties={"bootstrap.servers": "127.0.0.1:1"})


@with_cases("partitions", [0, 1, 60, 500, 501, 3_000, 8_000, 8_001, 10_000, 99_999])
def test_a_question_has_a_bounded_number_of_calls_however_many_partitions(partitions: int) -> None:
    keys = [(f"topic-{number % 20}", number) for number in range(partitions)]
    cut = shares(keys)
    assert [key for share in cut for key in share] == keys
    assert all(cut)
    assert len(cut) <= CALLS
    assert partitions > 500 or len(cut) <= 1


def test_the_ends_of_a_log_have_the_numbers_of_the_library() -> None:
    of_the_library = (OffsetSpec.earliest()._value, OffsetSpec.latest()._value)  # type: ignore[no-untyped-call]
    assert of_the_library == (EARLIEST, LATEST)


def test_every_partition_has_an_answer_even_where_nobody_gives_one() -> None:
    wanted = {("orders", number): LATEST for number in range(1_200)}
    client = Client(NOWHERE, timeout_s=0.3)
    answers = take_logs(client, {"end": list_offsets(client, wanted)})["end"]
    assert answers.keys() == wanted.keys()
    assert {(answer.offset, bool(answer.error)) for answer in answers.values()} == {(None, True)}


@with_cases("start", [1, 950, 2**62])
@with_cases("shorter", [1, 17, 950])
def test_a_log_that_ends_before_it_begins_counts_as_not_read(start: int, shorter: int) -> None:
    key, end = ("orders", 0), max(0, start - shorter)
    answers = {
        kind: {key: LogAnswer(offset)} for kind, offset in (("earliest", start), ("latest", end), ("stable", end))
    }

    told = _partition_state(key, SimpleNamespace(leader=1), answers)
    whole = _partition_state(key, SimpleNamespace(leader=1), answers | {"latest": {key: LogAnswer(start)}})

    assert (told.log_start, told.hw, told.lso) == (None, None, None)
    assert told.error == f"its broker gave a log that begins at {start:,} and ends at {end:,}, which none does"
    assert (whole.log_start, whole.hw, whole.error) == (start, start, None)
