"""What runs in a process of its own: its answer, its errors, its end, and the next question."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from offsetwise.client_properties import lent
from offsetwise.config import ClusterConfig, client_properties
from offsetwise.errors import ClusterAuthError, ClusterError, LostReplyError, StoppedError
from offsetwise.plugins.kafka.stream import reader
from offsetwise.progress import Progress, no_progress
from offsetwise.streams import client_process
from offsetwise.streams.client_process import RETAINED, in_a_process
from tests.streams.loading import loaded_with
from tests.with_cases import with_cases

ROOT = Path(__file__).parents[2]
CONFIG = ClusterConfig(name="old", properties={"bootstrap.servers": "broker:9092"})


@pytest.fixture(autouse=True)
def _can_import_these_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    client_process._end_all()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    yield
    client_process._end_all()


def process_of(_config: ClusterConfig) -> int:
    return os.getpid()


def password_of(config: ClusterConfig) -> str:
    return client_properties(config)["sasl.password"]


def ends(_config: ClusterConfig, by: int) -> None:
    os.kill(os.getpid(), by)


def leaves(_config: ClusterConfig) -> None:
    os.write(2, b"one line\nno module named offsetwise\n")
    os._exit(1)


def waits(_config: ClusterConfig, for_s: float) -> None:
    time.sleep(for_s)


class HangsWhenFreed:
    """As a client of librdkafka with a request under way to a coordinator that is not there."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(60)


def leaves_what_hangs(_config: ClusterConfig) -> int:
    HangsWhenFreed()
    return os.getpid()


def looked_through(_config: ClusterConfig, modules: tuple[str, ...] = ()) -> int:
    """Import modules; return how many objects a collection of garbage looks through, of them before they came."""
    before = len(gc.get_objects())
    for module in modules:
        importlib.import_module(module)
    return before


def refuses(_config: ClusterConfig) -> None:
    raise ClusterAuthError("The broker said no.", fix="Ask.")


def makes_no_text(_config: ClusterConfig) -> str:
    return b"\xff".decode()


def breaks(_config: ClusterConfig) -> None:
    raise KeyError("of ours")


def reports(_config: ClusterConfig, *, progress: Progress = no_progress) -> str:
    for done in range(3):
        progress("step", done, 3)
    return "done"


def test_it_is_another_process_and_the_next_question_goes_to_the_same() -> None:
    asked = in_a_process(process_of)

    first, second = asked(CONFIG), asked(CONFIG)

    assert first == second != os.getpid()


@with_cases("by", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_process_that_a_signal_ends_is_an_error_that_names_cluster_and_signal(by: signal.Signals) -> None:
    with pytest.raises(ClusterError, match=f"'old' at broker:9092: .* ended with {by.name}") as error:
        in_a_process(ends)(CONFIG, by)

    assert "bootstrap.servers" in error.value.fix
    assert in_a_process(process_of)(CONFIG)


def test_one_that_ends_by_itself_says_why() -> None:
    with pytest.raises(ClusterError, match=r"exit code 1 \(no module named offsetwise\)"):
        in_a_process(leaves)(CONFIG)


def test_one_that_says_nothing_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_process, "SILENCE_S", 0.3)
    monkeypatch.setattr(client_process, "_LAST_S", 0.1)

    with pytest.raises(ClusterError, match="went silent"):
        in_a_process(waits)(CONFIG, 60.0)


@with_cases(
    ("function", "arguments"),
    [(ends, (signal.SIGSEGV,)), (leaves, ()), (waits, (60.0,)), (makes_no_text, ())],
    ids=["a signal", "it leaves", "silence", "an answer that the library cannot take"],
)
def test_a_change_without_an_answer_may_have_been_made(
    function: Callable[..., object], arguments: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_process, "SILENCE_S", 1.0 if function is waits else client_process.SILENCE_S)
    monkeypatch.setattr(client_process, "_LAST_S", 0.1)

    with pytest.raises(LostReplyError, match="whether the change was made is not known") as error:
        in_a_process(function, changes=True)(CONFIG, *arguments)

    assert "Nothing was" not in str(error.value)
    assert "run the same command again" in error.value.fix


def test_a_change_that_is_refused_is_refused() -> None:
    with pytest.raises(ClusterAuthError, match="The broker said no"):
        in_a_process(refuses, changes=True)(CONFIG)


def test_errors_come_over_as_they_are() -> None:
    with pytest.raises(ClusterAuthError) as error:
        in_a_process(refuses)(CONFIG)

    assert (error.value.problem, error.value.fix) == ("The broker said no.", "Ask.")


def test_what_the_library_cannot_read_is_an_answer_that_it_cannot_take() -> None:
    with pytest.raises(ClusterError, match="UnicodeDecodeError"):
        in_a_process(makes_no_text)(CONFIG)


def test_a_defect_of_ours_stays_one_and_shows_where_it_is() -> None:
    with pytest.raises(KeyError) as error:
        in_a_process(breaks)(CONFIG)

    assert "in breaks" in "".join(error.value.__notes__)


def test_it_imports_no_models_of_the_migration_file() -> None:
    asked = {value.__wrapped__.__module__ for value in vars(reader).values() if hasattr(value, "__wrapped__")}
    asked.remove(reader.__name__)  # what a sink's upgrade needs is asked of a second client

    loaded = in_a_process(loaded_with)(CONFIG, tuple(asked))

    assert len(asked) > 4
    assert "confluent_kafka" in loaded
    assert loaded.isdisjoint({"numpy", "pandas", "pyarrow", "pydantic", "pyspark", "regex", "yaml"})


def test_what_its_modules_hold_is_not_looked_through_at_every_question() -> None:
    few, asked = 3_000, in_a_process(looked_through)

    assert asked(CONFIG, ("kafka", "confluent_kafka.admin", "sqlalchemy")) < few
    assert asked(CONFIG) < few


def test_secrets_of_now_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sasl = {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    config = ClusterConfig(
        name="old", properties={"bootstrap.servers": "broker:9092", **sasl, "sasl.password": "${OLD_SASL_PASSWORD}"}
    )
    in_a_process(process_of)(CONFIG)  # started before either is set

    monkeypatch.setenv("OLD_SASL_PASSWORD", "of the environment")
    assert in_a_process(password_of)(config) == "of the environment"
    with lent({"OLD_SASL_PASSWORD": "lent"}):
        assert in_a_process(password_of)(config) == "lent"


def test_progress_comes_back_and_whoever_stops_it_ends_the_process() -> None:
    told: list[tuple[str, int, int]] = []
    assert in_a_process(reports)(CONFIG, progress=lambda *step: told.append(step)) == "done"
    assert told == [("step", 0, 3), ("step", 1, 3), ("step", 2, 3)]

    def stop(_step: str, _done: int, _total: int) -> None:
        raise StoppedError("Stopped.", fix="Start again.")

    before = in_a_process(process_of)(CONFIG)
    with pytest.raises(StoppedError):
        in_a_process(reports)(CONFIG, progress=stop)
    assert in_a_process(process_of)(CONFIG) != before


def test_one_that_ends_takes_no_other_question_with_it() -> None:
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(in_a_process(waits), CONFIG, 1.0) for _ in range(3)]
        ended = pool.submit(in_a_process(ends), CONFIG, signal.SIGSEGV)
        assert isinstance(ended.exception(), ClusterError)
        assert [each.exception() for each in asked] == [None, None, None]

    assert len(client_process._waiting) <= RETAINED


def test_one_that_ended_while_it_waited_is_not_asked() -> None:
    os.kill(in_a_process(process_of)(CONFIG), signal.SIGKILL)
    time.sleep(0.2)

    assert in_a_process(process_of)(CONFIG)


def test_one_that_hangs_over_what_the_last_question_left_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_process, "_FREED_S", 0.3)
    hanging = in_a_process(leaves_what_hangs)(CONFIG)

    assert in_a_process(process_of)(CONFIG) != hanging
    with pytest.raises(ProcessLookupError):
        os.kill(hanging, 0)


def test_a_fork_of_this_process_asks_processes_of_its_own() -> None:
    here = in_a_process(process_of)(CONFIG)
    child = os.fork()
    if child == 0:
        os._exit(0 if in_a_process(process_of)(CONFIG) != here else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert in_a_process(process_of)(CONFIG) == here


def test_one_that_hangs_ends_with_whoever_asked() -> None:
    asks = "from tests.streams.test_client_process import *; print(in_a_process(process_of)(CONFIG), flush=True); "
    asks += "in_a_process(waits)(CONFIG, 60.0)"
    with subprocess.Popen([sys.executable, "-P", "-c", asks], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        process = int(asking.stdout.readline())
        time.sleep(0.5)
        asking.kill()

    end = time.monotonic() + 20
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
