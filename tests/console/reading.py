"""A console that begins a reading without an end as soon as it listens: `python -m tests.console.reading PORT`."""

from __future__ import annotations

import sys
import threading
import time
import urllib.request

from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.reader import Reader
from offsetwise.console.server.launch import launch
from tests.console import builders
from tests.console.readers import ValueReader


def main() -> None:
    """Serve until told to end."""
    port = int(sys.argv[1])
    endless = ValueReader(live=builders.comparison(), count_gate=threading.Event())

    def begin() -> None:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        reading = answers.current().read(Question.of(Reader.reconciliation, "orders-to-new", "orders"))
        while not reading.steps:
            time.sleep(0.05)
        print("reading", flush=True)

    threading.Thread(target=begin, daemon=True).start()
    launch(port=port, reader=endless)


if __name__ == "__main__":
    main()
