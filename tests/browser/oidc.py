"""A small OpenID Connect provider on loopback: code flow with PKCE and nonce, discovery, JWKS, RS256, sign-out."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "offsetwise"
CLIENT_SECRET = secrets.token_urlsafe(24)
KEY_PARAMETERS: Any = {"kid": "of-today", "use": "sig", "alg": "RS256"}


@dataclass(slots=True)
class Provider:
    """What the provider knows, and what it was asked."""

    people: dict[str, dict[str, Any]]
    """Claims by subject."""
    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, KEY_PARAMETERS))
    forge: str = ""
    """What is wrong with the next tokens: `key`, `nonce`, `audience`, or nothing."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def discovery(self) -> dict[str, Any]:
        """Return the metadata document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "end_session_endpoint": f"{self.issuer}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def tokens(self, asked: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Exchange a code, once; None if anything does not fit what was authorized."""
        granted = self.codes.pop(asked.get("code", ""), None)
        digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        client = "Basic " + base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        if (
            granted is None
            or authorization != client
            or granted["code_challenge"] != challenge
            or granted["redirect_uri"] != asked.get("redirect_uri")
        ):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": granted["subject"],
            "aud": "somebody-else" if self.forge == "audience" else CLIENT,
            "iat": now,
            "exp": now + 3_600,
            "nonce": "of-another" if self.forge == "nonce" else granted["nonce"],
            **self.people[granted["subject"]],
        }
        key = RSAKey.generate_key(2048, KEY_PARAMETERS) if self.forge == "key" else self.key
        token = jwt.encode({"alg": "RS256", "kid": "of-today"}, claims, key)
        opaque = secrets.token_urlsafe(16)
        return {"access_token": opaque, "token_type": "Bearer", "expires_in": 3_600, "id_token": token}


@contextmanager
def provider(people: dict[str, dict[str, Any]]) -> Iterator[Provider]:
    """Run a provider for these people."""
    made = Provider(people)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = dict(parse_qsl(url.query))
            made.asked.append(url.path)
            match url.path:
                case "/.well-known/openid-configuration":
                    self._json(made.discovery())
                case "/jwks":
                    self._json({"keys": [made.key.as_dict(private=False)]})
                case "/authorize" if asked.get("client_id") == CLIENT and asked.get("code_challenge_method") == "S256":
                    if "as" in asked:
                        code = secrets.token_urlsafe(16)
                        made.codes[code] = {**asked, "subject": asked["as"]}
                        self._redirect(asked["redirect_uri"], {"code": code, "state": asked["state"]})
                    else:
                        self._people(url.query)
                case "/logout":
                    self._redirect(asked["post_logout_redirect_uri"], {})
                case _:
                    self._json({"error": "invalid_request"}, 400)

        def do_POST(self) -> None:
            made.asked.append(self.path)
            asked = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            tokens = made.tokens(asked, self.headers.get("Authorization", ""))
            self._json(tokens or {"error": "invalid_grant"}, 200 if tokens else 400)

        def log_message(self, format: str, *args: object) -> None:
            """Do nothing."""

        def _people(self, query: str) -> None:
            links = "".join(
                f'<p><a href="/authorize?{html.escape(query)}&amp;{urlencode({"as": one})}">{html.escape(one)}</a></p>'
                for one in made.people
            )
            self._answer(200, {"Content-Type": "text/html; charset=utf-8"}, f"<h1>Who are you?</h1>{links}".encode())

        def _json(self, value: dict[str, Any], status: int = 200) -> None:
            self._answer(status, {"Content-Type": "application/json"}, json.dumps(value).encode())

        def _redirect(self, to: str, parameters: dict[str, str]) -> None:
            self._answer(302, {"Location": f"{to}?{urlencode(parameters)}" if parameters else to}, b"")

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
