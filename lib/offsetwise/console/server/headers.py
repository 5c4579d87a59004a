"""Response headers that make a browser refuse other hosts, frames, and guessed content types."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from streamlit.file_util import get_static_dir


@cache
def headers(hosts: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers of every answer.

    Args:
        hosts: Host and port under which the page may connect to this console: not every browser counts websockets as
            the same origin.
    """
    return (
        ("Content-Security-Policy", _policy(hosts)),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    )


def _policy(hosts: Iterable[str]) -> str:
    sockets = " ".join(f"{scheme}://{host}" for host in sorted(hosts) for scheme in ("ws", "wss"))
    return "; ".join(
        (
            "default-src 'none'",
            # Streamlit loads a component's script as a blob, which only a running script can create.
            f"script-src 'self' blob: {_inline_scripts()}",
            # Streamlit and Plotly write inline styles into the page.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self' {sockets}",
            "worker-src 'self' blob:",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


@cache
def _inline_scripts() -> str:
    page = (Path(get_static_dir()) / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
