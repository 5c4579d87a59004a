"""Ed25519 keys: the public one names its holder, the private one never prints.

A key's id is that of in-toto and TUF: the SHA-256 of the canonical JSON of its type, scheme and public part. The issuer
of a personal key is `key:<id>` unless another is given: only the key itself vouches for its holder.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field
from securesystemslib.exceptions import KeyMismatchError, UnverifiedSignatureError

from offsetwise.approval import strict
from offsetwise.errors import FileError, NotApprovedError, UsageError

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey

SCHEME: Final = "ed25519"
OWN_ISSUER: Final = "key:"
RESERVED: Final = "offsetwise:"
"""The prefix of Offsetwise's own issuers."""
CONSOLE: Final = f"{RESERVED}console"
"""The issuer of a console's key: it signs for people whom the console saw signed in, never for itself."""
_ASK_AGAIN: Final = "Ask the holder for the .pub file that `offsetwise keygen` wrote, and check its key id with them."
_PEM: Final = re.compile(r"-----BEGIN PRIVATE KEY-----\n([A-Za-z0-9+/=]{64})\n-----END PRIVATE KEY-----\n")
_PUBLIC: Final = re.compile(r"[0-9a-f]{64}")
_PKCS8: Final = bytes.fromhex("302e020100300506032b657004220420")
"""The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410)."""
MAX_TOLD: Final = 40
_NOBODY: Final = "It counts for nothing, so nobody is trusted by it. Nothing was written."
_NEW_PAIR: Final = "Give the private file that `offsetwise keygen` wrote, or make a new pair of keys."


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A key for verification, with its holder."""

    id: str
    public: str
    """32 bytes, hex."""
    issuer: str
    subject: str

    def __post_init__(self) -> None:
        whole = _PUBLIC.fullmatch(self.public) is not None
        result = _library_key(self.public).keyid if whole else "none: it is cut off"
        if result != self.id:
            raise NotApprovedError(
                f"Public key of {self.subject[:MAX_TOLD]!r}: expected the key with the id {self.id[:12]}…, but the "
                f"id of what it holds is {result[:20]}…: it was changed. {_NOBODY}",
                fix=_ASK_AGAIN,
            )
        if self.issuer.startswith(OWN_ISSUER) and self.issuer != OWN_ISSUER + self.id:
            raise NotApprovedError(
                f"Public key of {self.subject[:MAX_TOLD]!r}: expected its issuer to be itself or somebody who vouches "
                f"for people, found another key than itself: {self.issuer[:16]}…. {_NOBODY}",
                fix=_ASK_AGAIN,
            )

    @property
    def vouches(self) -> bool:
        """Whether it is a console's key, which signs for the people who sign in there."""
        return self.issuer == CONSOLE

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Return whether `signature` over `signed` is by this key's holder."""
        from securesystemslib.signer import Signature  # noqa: PLC0415 - as in `_library_key`

        key = _library_key(self.public)
        try:
            key.verify_signature(Signature(key.keyid, signature.hex()), signed)
        except UnverifiedSignatureError:  # raised for every other reason too
            return False
        return True

    def dump(self) -> str:
        return _dump("public-key", self)


class PrivateKey:
    """A key for signing. It cannot be printed, compared or pickled; only `secret_file` returns its secret."""

    __slots__ = ("_signer", "public")

    def __init__(self, signer: CryptoSigner, public: PublicKey) -> None:
        self._signer = signer
        self.public = public

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.id[:12]}…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is not pickled")

    def sign(self, signed: bytes) -> bytes:
        return bytes.fromhex(self._signer.sign(signed).signature)

    def secret_file(self) -> str:
        """Return the text of the private file. It must be written nowhere else."""
        return _dump("private-key", self.public, private=self._signer.private_bytes.decode("ascii"))


def keygen(*, subject: str, issuer: str | None = None, console: bool = False) -> PrivateKey:
    """Create a new key.

    Args:
        subject: Its holder; for a console's key, the name of the console.
        issuer: Who vouches for the subject; the key itself if None.
        console: Whether a console signs with it, for the people who sign in there.

    Raises:
        UsageError: A name that cannot be displayed, or a reserved issuer.
    """
    for name in (subject, *([] if issuer is None else [issuer])):
        if not strict.is_name(name):
            raise UsageError(
                f"keygen: expected {strict.A_NAME}, found {name[:MAX_TOLD]!a}. No key was made.",
                fix="Give the name under which the applier will trust the key.",
            )
    if console and issuer is not None:
        raise UsageError(
            f"keygen: expected no issuer for a console's key, found {issuer!r}: whoever applies says whom the console "
            "may vouch for. No key was made.",
            fix="Leave the issuer out; name it under `approval.trusted_keys` of the migration file as `vouches_for`.",
        )
    if issuer is not None and issuer.startswith((OWN_ISSUER, RESERVED)):
        raise UsageError(
            f"keygen: expected an issuer that vouches for people, found {issuer!r}; {OWN_ISSUER!r} and {RESERVED!r} "
            "are reserved. No key was made.",
            fix="Name your identity provider's address, or leave the issuer out.",
        )
    from securesystemslib.signer import CryptoSigner  # noqa: PLC0415 - as in `_library_key`

    signer = CryptoSigner.generate_ed25519()
    return PrivateKey(signer, _public(signer, issuer=CONSOLE if console else issuer, subject=subject))


def demo(seed: bytes) -> PrivateKey:
    from securesystemslib.signer import CryptoSigner  # noqa: PLC0415 - as in `_library_key`

    signer = CryptoSigner(Ed25519PrivateKey.from_private_bytes(seed))
    return PrivateKey(signer, _public(signer, issuer=f"{RESERVED}demo", subject="demo reviewer"))


def _public(signer: CryptoSigner, *, issuer: str | None, subject: str) -> PublicKey:
    key = signer.public_key
    return PublicKey(
        id=key.keyid, public=key.keyval["public"], issuer=issuer or OWN_ISSUER + key.keyid, subject=subject
    )


class PublicFile(strict.Shape):
    """A `.pub` file."""

    format: Literal["offsetwise/public-key"]
    format_version: Literal["1.0"]
    key: strict.Hex32
    scheme: Literal["ed25519"]
    public: strict.Hex32
    issuer: strict.Name
    subject: strict.Name


class _PrivateFile(strict.Shape):
    format: Literal["offsetwise/private-key"]
    format_version: Literal["1.0"]
    key: strict.Hex32
    scheme: Literal["ed25519"]
    public: strict.Hex32
    issuer: str
    subject: str
    private: str = Field(repr=False)


def read_public(content: bytes, *, name: str) -> PublicKey:
    """Parse a `.pub` file.

    Raises:
        NotApprovedError: It is no key of ours, is cut off or was changed; it must not be trusted.
    """
    read = strict.read(content, PublicFile, what=f"Public key {name}", fix=_ASK_AGAIN, effect=_NOBODY)
    try:
        return _checked(read)
    except NotApprovedError as error:
        raise NotApprovedError(f"{name}: {error.problem}", fix=error.fix) from None


def read_private(content: bytes, *, name: str) -> PrivateKey:
    """Parse a private file.

    Raises:
        FileError: It is no key of ours, is cut off or was changed. Its content is never shown, not even in part.
    """
    try:
        read = strict.read(content, _PrivateFile, what=name, fix=_NEW_PAIR)
        public = _checked(read)
        signer = _signer(read.private, public)
    except (ValueError, TypeError, KeyMismatchError, NotApprovedError):
        signer = None
    if signer is None:
        raise FileError(
            f"{name}: expected a private key as `offsetwise keygen` writes it, but it is something else, cut off or "
            "changed. Nothing was signed.",
            fix=_NEW_PAIR,
        )
    for name_part in (public.issuer, public.subject):
        if not strict.is_name(name_part):
            raise FileError(
                f"{name}: expected the key of somebody with {strict.A_NAME}, found {name_part[:MAX_TOLD]!a}. "
                "Nothing was signed.",
                fix="Make a new pair of keys under another name.",
            )
    return PrivateKey(signer, public)


def _signer(private: str, public: PublicKey) -> CryptoSigner | None:
    """Return the signer of a private part; None for anything that `keygen` does not write.

    The library's reader of PEM is not used: for damaged keys it raises errors other than those of input.
    """
    match = _PEM.fullmatch(private)
    der = b"" if match is None else base64.b64decode(match[1], validate=True)
    if len(der) != len(_PKCS8) + 32 or not der.startswith(_PKCS8):
        return None
    from securesystemslib.signer import CryptoSigner  # noqa: PLC0415 - as in `_library_key`

    key = Ed25519PrivateKey.from_private_bytes(der.removeprefix(_PKCS8))
    signer = CryptoSigner(key, _library_key(public.public))
    return signer if signer.private_bytes == private.encode("ascii") else None


def _checked(read: PublicFile | _PrivateFile) -> PublicKey:
    return PublicKey(id=read.key, public=read.public, issuer=read.issuer, subject=read.subject)


def _library_key(public: str) -> SSlibKey:
    """Return a key of the library, imported here because it imports the clients of three clouds."""
    from securesystemslib.signer import SSlibKey  # noqa: PLC0415 - see above

    return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)))


def _dump(kind: str, key: PublicKey, **more: str) -> str:
    body = {
        "format": f"offsetwise/{kind}",
        "format_version": "1.0",
        "key": key.id,
        "scheme": SCHEME,
        "public": key.public,
        "issuer": key.issuer,
        "subject": key.subject,
    }
    return json.dumps(body | more, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
