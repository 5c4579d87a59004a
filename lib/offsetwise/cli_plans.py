"""The commands that make, sign and use plans. `cli.py` registers them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from offsetwise import show
from offsetwise.errors import FileError, UsageError

talk: Final = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, nothing else.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file.")]


def keygen(
    out: Annotated[
        Path, typer.Option(help="The private file to write; PATH.pub is written beside. Neither may exist.")
    ],
    subject: Annotated[str, typer.Option("--as", help="Whose key it is, as the applier will trust it.")],
    issuer: Annotated[
        str | None, typer.Option(help="Who vouches for that name; by default nobody but the key.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a reviewer's key: a private file (mode 0600), and a .pub file to hand to those who apply."""
    from offsetwise import approval  # noqa: PLC0415 - the cryptography takes a moment

    key = approval.keygen(subject=subject, issuer=issuer)
    public = approval.write_keys(out, key)
    if as_json:
        typer.echo(key.public.dump(), nl=False)
    _said(
        f"Key {key.public.id} of {key.public.subject} ({key.public.issuer}). {out} is private: keep it. "
        f"{public} is for those who apply: tell them the key's id by another way than the file's."
    )


def sign(
    plan: PlanFile,
    *,
    key: Annotated[Path, typer.Option(help="The signer's private file.")],
    subject: Annotated[str, typer.Option("--as", help="Who signs. Recorded; believed is what the applier trusts.")],
    out: Annotated[Path, typer.Option(help="The approval's file to write. It must not exist.")],
    expires_in_hours: Annotated[int, typer.Option(min=1, max=8_784, help="How long the approval is good for.")] = 168,
    reject: Annotated[
        bool, typer.Option("--reject", help="Say no instead: where it is given, nothing is applied.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Approve exactly this file of a plan. Its author and editors cannot."""
    from offsetwise import approval  # noqa: PLC0415 - as above

    content = _content(plan)
    signer = approval.read_private_key(key)
    if subject != signer.public.subject:
        raise UsageError(
            f"sign: expected --as to name the key's holder {signer.public.subject!r}, found {subject!r}: nobody signs "
            "for somebody else. Nothing was signed.",
            fix="Use your own key, or make one with `offsetwise keygen`.",
        )
    verdict = approval.Verdict.REJECTED if reject else approval.Verdict.APPROVED
    made = approval.sign(
        content,
        signer,
        subject=subject,
        issuer=signer.public.issuer,
        now=datetime.now(UTC),
        expires_in=timedelta(hours=expires_in_hours),
        verdict=verdict,
        name=str(plan),
    )
    approval.write_approval(out, made)
    if as_json:
        typer.echo(made.decode("ascii"), nl=False)
    _said(f"{plan} {verdict} by {subject}, good for {expires_in_hours} hours: {out}.")


COMMANDS: Final[tuple[Callable[..., None], ...]] = (keygen, sign)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path}: expected a plan, but {error.strerror or error}. Nothing was used from it.",
            fix="Give the file that `offsetwise draft` wrote.",
        ) from error


def _said(text: str) -> None:
    talk.print(show.safe(text), soft_wrap=True)
