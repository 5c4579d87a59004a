"""Reads Streamlit's identity cookie of a request outside of a session, where `st.user` knows nobody."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection
from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME


def claims(connection: HTTPConnection) -> Mapping[str, Any]:
    """Give what the identity provider said about whoever sends this request; nothing where the cookie is not ours."""

    def signed(name: str) -> bytes | None:
        value = connection.cookies.get(name, "")
        return decode_signed_value(get_cookie_secret(), name, value)

    origin = get_origin_from_redirect_uri()
    found = None if origin is None else get_cookie_with_chunks(signed, USER_COOKIE_NAME)
    told: Mapping[str, Any] = {} if found is None else json.loads(found)
    return told if told.get("origin") == origin else {}
