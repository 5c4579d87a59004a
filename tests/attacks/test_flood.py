"""People without a role who have their page run again without end, and what the console does for others meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from offsetwise.console.server.messages import APART_S
from tests.attacks.hand_made import Jar, ask, session, visitor
from tests.attacks.web_servers import Guarded, guarded
from tests.browser.conftest import ROOT
from tests.gates import FULL, of_all

__all__ = ["guarded"]

pytestmark = pytest.mark.proof

CONNECTIONS, A_SECOND, LASTS_S = 10, 100, 8
HEALTHY_S, ANSWERS = 1.0, 3


FLOOD = """
import sys, threading, time
from contextlib import ExitStack
from streamlit.proto.BackMsg_pb2 import BackMsg
from tests.attacks.hand_made import Jar, session

address, cookies, connections, a_second, lasts_s = eval(sys.argv[1])
message = BackMsg()
message.rerun_script.page_name = "compare"
content = message.SerializeToString()


def ask_again(page):
    begun, count = time.monotonic(), 0
    while time.monotonic() < begun + lasts_s:
        page.socket.send(content)
        count += 1
        time.sleep(max(0.0, begun + count / a_second - time.monotonic()))
    sent.append(count)


def take(page):
    while not over.is_set():
        try:
            page.socket.recv(timeout=0.5)
        except TimeoutError:
            continue


sent, over = [], threading.Event()
with ExitStack() as stack:
    pages = [stack.enter_context(session(address, Jar(cookies))) for _ in range(connections)]
    print("connected", flush=True)
    asking = [threading.Thread(target=ask_again, args=(page,)) for page in pages]
    taking = [threading.Thread(target=take, args=(page,)) for page in pages]
    for thread in [*asking, *taking]:
        thread.start()
    for thread in asking:
        thread.join()
    over.set()
    for thread in taking:
        thread.join()
    print(sum(sent), flush=True)
"""
"""In a process of its own, so that what is measured is not the time that the flood takes."""


@contextmanager
def flooding(guarded: Guarded, jar: Jar) -> Iterator[subprocess.Popen[str]]:
    """Ask for reruns over many connections for a while; what it prints in the end is how many."""
    about = repr((guarded.address, jar.cookies, CONNECTIONS, A_SECOND, LASTS_S))
    with subprocess.Popen([sys.executable, "-c", FLOOD, about], stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "connected\n"
        yield running


def answered_in_s(address: str) -> float:
    begun = time.monotonic()
    assert ask(address, "/_stcore/health").status == 200
    return time.monotonic() - begun


def runs(guarded: Guarded) -> int:
    """Count the script runs that were started."""
    time.sleep(0.3)  # it is counted every tenth of a second
    return int(json.loads((guarded.folder / "held").read_text())["runs"])


@pytest.mark.parametrize("who", of_all(["nobody", "stranger"], ["stranger"]))
def test_reruns_of_people_without_a_role_start_few_runs_and_keep_nobody_waiting(guarded: Guarded, who: str) -> None:
    jar = visitor(guarded.address) if who == "nobody" else guarded.sign_in("stranger")
    with session(guarded.address, jar) as page:
        page.run()  # the first run of a server imports the console
    quiet_s = max(answered_in_s(guarded.address) for _ in range(20))
    before, begun, waits = runs(guarded), time.monotonic(), []
    with flooding(guarded, jar) as flood:
        while flood.poll() is None:
            waits.append(answered_in_s(guarded.address))
            time.sleep(0.2)
        took_s, sent = time.monotonic() - begun, int(flood.communicate()[0])
    started = runs(guarded) - before
    most = CONNECTIONS * (took_s // APART_S + 2)  # the first at once, and one that waited
    assert sent > 5 * most, "too few were asked for to see anything"
    assert CONNECTIONS <= started <= most
    assert len(waits) >= ANSWERS
    # Beside other tests a time says how busy the machine is; where the machine is slow, it is slow without them too.
    assert not FULL or max(waits) < max(HEALTHY_S, 3 * quiet_s)


def test_whoever_has_a_role_is_not_slowed_down(guarded: Guarded) -> None:
    with session(guarded.address, guarded.sign_in("vera")) as page:
        before = runs(guarded)
        for _ in range(5):
            page.run("help")
        assert runs(guarded) - before >= 5


def test_what_was_asked_for_last_is_run_when_its_time_has_come(guarded: Guarded) -> None:
    with session(guarded.address, visitor(guarded.address)) as page:
        page.run("compare")
        for path in ("lag", "draft"):
            message = BackMsg()
            message.rerun_script.page_name = path
            page.send(message)
        page.run("fleet")

        titles = [each.heading.body for each in page.elements if each.HasField("heading")]
        assert titles == ["Fleet"]
