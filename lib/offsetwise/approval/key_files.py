"""Key files, approvals and trusted keys on disk. Only its owner can read a private file, which is never overwritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from offsetwise import regular_files
from offsetwise.approval import strict
from offsetwise.approval.envelope import ApprovalFile
from offsetwise.approval.keys import PrivateKey, PublicKey, read_private, read_public
from offsetwise.approval.policy import ApprovalPolicy, combined
from offsetwise.config import ApprovalSettings, TrustedKey
from offsetwise.errors import FileError, NotApprovedError

_PRIVATE: Final = 0o600
_PUBLIC: Final = 0o644
_NEW_NAME: Final = "Name a file that does not exist yet, in a folder that does."


def write_keys(path: str | Path, key: PrivateKey) -> Path:
    """Write a private file, readable by its owner only, and the `.pub` file next to it; return the latter's path.

    Raises:
        FileError: One of the two exists, or cannot be written. No new file is left then.
    """
    path = Path(path)
    public = path.with_name(f"{path.name}.pub")
    with _new(path, _PRIVATE) as secret, _new(public, _PUBLIC) as written:
        _write(secret, key.secret_file().encode())
        _write(written, key.public.dump().encode())
    return public


def write_approval(path: str | Path, content: bytes) -> None:
    """Write an approval into a new file.

    Raises:
        FileError: It exists, or cannot be written.
    """
    with _new(Path(path), _PUBLIC) as written:
        _write(written, content)


def read_private_key(path: str | Path) -> PrivateKey:
    """Read a private file.

    Raises:
        FileError: It cannot be read, others may read it too, or it is no private key. Its content is never shown.
    """
    try:
        content, mode = _read(Path(path))
    except OSError as error:
        raise FileError(
            f"{path}: expected a private key, but {error.strerror or error}. Nothing was signed.",
            fix="Give the private file that `offsetwise keygen` wrote.",
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise FileError(
            f"{path}: expected a private key that its owner alone may read (mode 0600), found mode "
            f"{stat.S_IMODE(mode):04o}. Nothing was signed.",
            fix=f"Run `chmod 600 {path}`; if others may have read it, make a new key and have it trusted instead.",
        )
    return read_private(content, name=str(path))


def read_public_key(path: Path) -> PublicKey:
    """Read a `.pub` file.

    Raises:
        NotApprovedError: It cannot be read, or is no key of ours.
    """
    return read_public(_content(path, "Public key"), name=str(path))


def read_approval(path: Path) -> ApprovalFile:
    """Read an approval's file without verifying it.

    Raises:
        NotApprovedError: It cannot be read.
    """
    return ApprovalFile(name=str(path), content=_content(path, "Approval"))


def policy_for(settings: ApprovalSettings, trust: Sequence[Path] = ()) -> ApprovalPolicy:
    """Return the applier's policy: the migration file's, combined with the keys named on the command line.

    Raises:
        NotApprovedError: A key cannot be read, or has another holder than the migration file says.
    """
    listed = None
    if settings.trusted_keys is not None:
        listed = tuple(listed_key(key) for key in settings.trusted_keys)
    return combined(
        ApprovalPolicy(
            required=settings.required,
            trusted=listed,
            vouching=tuple(
                (key.id, trusted_key.vouches_for)
                for key, trusted_key in zip(listed or (), settings.trusted_keys or (), strict=True)
                if trusted_key.vouches_for is not None
            ),
            max_lifetime_s=None if settings.max_lifetime_hours is None else settings.max_lifetime_hours * 3_600,
            clock_skew_s=settings.clock_skew_s,
        ),
        ApprovalPolicy(trusted=tuple(read_public_key(path) for path in trust) if trust else None),
    )


def listed_key(trusted: TrustedKey) -> PublicKey:
    """Read a key that a configuration lists.

    Raises:
        NotApprovedError: It cannot be read, or has another holder than the configuration says.
    """
    key = read_public_key(Path(trusted.file))
    if (key.issuer, key.subject) != (trusted.issuer, trusted.subject):
        raise NotApprovedError(
            f"{trusted.file}: it is trusted as the key of {trusted.subject} ({trusted.issuer}), but it says "
            f"{key.subject} ({key.issuer}), so it is not known whose it is. Nothing was written.",
            fix="Check the key's id with its holder, and write the issuer and subject of the .pub file under "
            "`approval.trusted_keys`.",
        )
    if key.vouches != (trusted.vouches_for is not None):
        result = "a console's key without" if key.vouches else "a person's key with"
        raise NotApprovedError(
            f"{trusted.file}: expected `vouches_for` with a console's key and with no other, found {result} it, so "
            "it is not known for whom it may sign. Nothing was written.",
            fix="Write under `vouches_for` the issuers of the people who sign in at that console; for a person's key, "
            "leave it out.",
        )
    return key


def _content(path: Path, what: str) -> bytes:
    try:
        return _read(path)[0]
    except OSError as error:
        raise NotApprovedError(
            f"{what} {path}: expected a file that can be read, but {error.strerror or error}. Nothing was written.",
            fix="Correct the path, or make the file readable for the user who runs Offsetwise.",
        ) from error


def _read(path: Path) -> tuple[bytes, int]:
    fd = regular_files.open_named(path)
    mode = os.fstat(fd).st_mode
    return regular_files.read(fd, strict.MAX_BYTES), mode


@contextmanager
def _new(path: Path, mode: int) -> Iterator[int]:
    """Yield a new, empty file, which is removed again if the block fails."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:
        why = "something of that name exists" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise _not_new(path, why) from error
    try:
        yield fd
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _not_new(path, error.strerror or str(error)) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def _write(fd: int, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(fd, remaining) :]
    os.fsync(fd)


def _not_new(path: Path, why: str) -> FileError:
    return FileError(f"{path}: expected to write a new file, but {why}. Nothing was written.", fix=_NEW_NAME)
