from __future__ import annotations

from hashlib import sha256

from offsetwise.apply.object_store import COPY_MARKER
from offsetwise.apply.readers import Readers
from offsetwise.model import ReceiptStep


def unfinished(uri: str, readers: Readers) -> str | None:
    """Return why a copy counts as absent; None if it is complete. An object store needs the marker, written last."""
    if "://" not in uri or readers.files(uri, (COPY_MARKER,)):
        return None
    return f"{uri} lacks {COPY_MARKER}: it is not a complete copy, and counts as absent."


def changed_file(step: ReceiptStep, readers: Readers, *, gone_is_fine: bool) -> str | None:
    """Describe a written file that has changed; None if none has. A running job removes old ones."""
    written = {
        file.path: file.sha256 for file in step.files if file.sha256 is not None and not file.path.endswith(".crc")
    }
    results = readers.files(step.place, tuple(written))
    for path, digest in written.items():
        if path not in results:
            if not gone_is_fine:
                return f"{step.place}/{path} was written, and cannot be read now."
        elif sha256(results[path]).hexdigest() != digest:
            return f"{step.place}/{path} is not the file that was written."
    return None
