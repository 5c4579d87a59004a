"""Runs `offsetwise` and keeps in a file what its server holds: `python -m tests.attacks.counted FILE console …`."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from offsetwise.cli import main

_made: list[None] = []
_runs: list[None] = []


@st.cache_resource
def _cached() -> None:
    _made.append(None)


def _count_runs() -> None:
    run: Any = ScriptRunner._run_script

    def counted(*about: object) -> object:
        _runs.append(None)
        return run(*about)

    setattr(ScriptRunner, run.__name__, counted)


def _count(kept: Path) -> None:
    while True:
        if runtime.exists():
            _cached()
            uploaded: Any = runtime.get_instance().uploaded_file_mgr
            files = uploaded.file_storage
            told = {
                "files": sum(len(each) for each in list(files.values())),
                "cleared": len(_made) - 1,
                "runs": len(_runs),
            }
            part = kept.with_suffix(".part")
            part.write_text(json.dumps(told), encoding="utf-8")
            part.replace(kept)
        time.sleep(0.1)


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    _count_runs()
    threading.Thread(target=_count, args=(file,), daemon=True).start()
    main()
