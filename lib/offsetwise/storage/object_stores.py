"""The account and endpoint of an object store's address, whatever the environment says.

An `abfs` address names its account, so only that account may be read: its library would prefer the connection string of
the environment, and knows the accounts of one cloud only. An `s3` or `gs` address names a bucket and no endpoint: the
environment may set another one (`AWS_ENDPOINT_URL`, a profile, `STORAGE_EMULATOR_HOST`), which is shown with the
address.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from offsetwise.errors import StorageError
from offsetwise.storage.location import Location

CONNECTION_STRING: Final = "AZURE_STORAGE_CONNECTION_STRING"
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_CLOUDS: Final = (
    *(".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".core.cloudapi.de"),
    *(".storage.azure.net", ".fabric.microsoft.com"),
)
_OWN_ENDPOINTS: Final = (".amazonaws.com", ".amazonaws.com.cn", "storage.googleapis.com")


def open_store(location: Location) -> tuple[Any, str]:
    """Return the file system of an object store, and the folder as it spells it. Nothing is contacted yet.

    Raises:
        StorageError: The environment has another account than the address, or the address a host that is not Azure's.
        ImportError: The library of this store is not installed.
    """
    import fsspec  # noqa: PLC0415 - it takes 0.1 s, and local folders do not need it

    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if location.scheme != "abfs":
        filesystem, base = fsspec.url_to_fs(location.path, **options)
        return filesystem, str(base)
    container, _, host = location.parts[0].partition("@")
    account, _, rest = host.lower().partition(".")
    blobs = f"{account}.blob.{rest.partition('.')[2]}"
    _refuse_other_account(location.path, account, blobs)
    filesystem = fsspec.filesystem("abfs", account_name=account, account_host=blobs, **options)
    return filesystem, "/".join((container, *location.parts[1:]))


def endpoint_of(location: Location, fs: Any) -> str | None:
    """Return the endpoint from the environment; None if it is the store's own, or the address names it."""
    message: str | None = None
    if location.scheme == "s3":
        message = fs.s3.meta.endpoint_url
    elif location.scheme == "gs":
        message = fs._location
    elif location.scheme == "abfs" and fs.connection_string:
        results = _endpoint(_fields(fs.connection_string))
        message = results.geturl() if results is not None and results.hostname in _THIS_MACHINE else None
    host = urlsplit(message).hostname or "" if message else ""
    return None if not host or f".{host}".endswith(_OWN_ENDPOINTS) else message


def _refuse_other_account(shown: str, account: str, blobs: str) -> None:
    message = os.environ.get(CONNECTION_STRING)
    if not message:
        _refuse_foreign_cloud(shown, blobs)
        return
    fields = _fields(message)
    endpoint = _endpoint(fields)
    host = (endpoint.hostname or "") if endpoint is not None else ""
    emulated = endpoint is not None and host in _THIS_MACHINE
    led = (endpoint.path.strip("/") if emulated and endpoint is not None else host.partition(".")[0]).lower()
    named = fields.get("accountname", led).lower()
    if named == led == account and (emulated or host.lower() == blobs):
        return
    result = f"the account {named!r} at {host or 'no endpoint'}"
    raise StorageError(
        f"{shown}: expected to read the account {account!r} ({blobs}), found {CONNECTION_STRING} set for {result}, "
        "which would be read instead. Nothing was read.",
        fix=f"Unset {CONNECTION_STRING}, or set it for {account!r}; without it AZURE_STORAGE_ACCOUNT_KEY, "
        "AZURE_STORAGE_SAS_TOKEN or Azure's own sign-in are used.",
    )


def _refuse_foreign_cloud(shown: str, blobs: str) -> None:
    """Raise for a host that is not Azure's: access tokens are sent to whatever host an address names."""
    if blobs.endswith(_CLOUDS):
        return
    raise StorageError(
        f"{shown}: expected an account of Azure (HOST ends with one of {', '.join(cloud[1:] for cloud in _CLOUDS)}), "
        f"found {blobs}, to which a token of this user would be sent. Nothing was read.",
        fix=f"Correct the address; if the host is meant, set {CONNECTION_STRING} for the account, with its "
        "BlobEndpoint.",
    )


def _fields(connection_string: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in connection_string.split(";"))
    return {name.strip().lower(): value.strip() for name, _, value in pairs if name.strip()}


def _endpoint(fields: Mapping[str, str]) -> SplitResult | None:
    if fields.get("usedevelopmentstorage", "").lower() == "true":
        return urlsplit("http://127.0.0.1:10000/devstoreaccount1")
    if "blobendpoint" in fields:
        return urlsplit(fields["blobendpoint"])
    if "accountname" not in fields:
        return None
    return urlsplit(f"https://{fields['accountname']}.blob.{fields.get('endpointsuffix', 'core.windows.net')}")
