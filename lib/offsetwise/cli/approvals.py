"""The commands that create keys and sign plans."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import offsetwise
from offsetwise.cli import plan_sets
from offsetwise.cli.options import AsJson, PlanFile
from offsetwise.cli.output import say, stderr
from offsetwise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offsetwise import Plan, PrivateKey, TopicPartition

SignerKey = Annotated[Path, typer.Option(help="The signer's private file.")]
Signer = Annotated[
    str, typer.Option("--as", help="Who signs. Recorded only: `apply` relies on the keys that it trusts.")
]
ApprovalFile = Annotated[Path, typer.Option(help="The approval's file to write. It must not exist.")]
Lifetime = Annotated[int, typer.Option(min=1, max=8_784, help="How long the approval is good for.")]
Confirmation = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORDS",
        help="For a plan that ends transactions: what the refusal without it asks for. Of a set may be repeated.",
    ),
]
Unproven = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC:PARTITION",
        help="Let this position be applied though the records that prove it are gone; may be repeated.",
    ),
]
Reasons = Annotated[list[str] | None, typer.Option(help="Why, for each --accept-unproven; or one for all.")]
Rejects = Annotated[bool, typer.Option("--reject", help="Reject instead of approving: a rejected plan is not applied.")]


def keygen(
    out: Annotated[
        Path, typer.Option(help="The private file to write; PATH.pub is written beside. Neither may exist.")
    ],
    subject: Annotated[str, typer.Option("--as", help="Whose key it is, as the applier will trust it.")],
    issuer: Annotated[
        str | None, typer.Option(help="Who vouches for that name; by default nobody but the key.")
    ] = None,
    *,
    console: Annotated[
        bool, typer.Option("--console", help="A console's key, which signs for the people who sign in there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a reviewer's or a console's key: a private file (mode 0600), and a .pub file to hand to those who apply."""
    from offsetwise import approval

    key = approval.keygen(subject=subject, issuer=issuer, console=console)
    public = approval.write_keys(out, key)
    if as_json:
        typer.echo(key.public.dump(), nl=False)
    say(
        f"Key {key.public.id} of {key.public.subject} ({key.public.issuer}). {out} is private: keep it. "
        f"{public} is for those who apply: tell them the key's id over another channel than the file."
    )


def sign(
    plan: PlanFile,
    *,
    key: SignerKey,
    subject: Signer,
    out: ApprovalFile,
    expires_in_hours: Lifetime = 168,
    confirm: Confirmation = None,
    accept_unproven: Unproven = None,
    reason: Reasons = None,
    reject: Rejects = False,
    as_json: AsJson = False,
) -> None:
    """Approve or reject exactly this file of a plan, or all plans of a set. Author and editors can do neither."""
    from offsetwise import approval
    from offsetwise.approval import unproven
    from offsetwise.plan.sets.file import is_plan_set

    signer = approval.read_private_key(key)
    if subject != signer.public.subject:
        raise UsageError(
            f"sign: expected --as to name the key's holder {signer.public.subject!r}, found {subject!r}: nobody signs "
            "for somebody else. Nothing was signed.",
            fix="Use your own key, or make one with `offsetwise keygen`.",
        )
    accepted = unproven.named(accept_unproven or [], reason or [])
    verdict = approval.Verdict.REJECTED if reject else approval.Verdict.APPROVED
    said: dict[str, Any] = {"expires_in": timedelta(hours=expires_in_hours), "verdict": verdict}
    if is_plan_set(plan):
        plan_sets.require_of_several("sign", {"--accept-unproven": accepted})
        data = plan_sets.sign(plan, signer, confirm=confirm or (), **said)
    else:
        # All confirmations are joined for the single plan, so that superfluous words are refused.
        data = _sign(plan, signer, confirm=" ".join(confirm) if confirm else None, accept_unproven=accepted, **said)
    approval.write_approval(out, data)
    if as_json:
        typer.echo(data.decode("ascii"), nl=False)
    say(f"{plan} {verdict} by {subject}, good for {expires_in_hours} hours: {out}.")


def _sign(path: Path, signer: PrivateKey, *, accept_unproven: Mapping[TopicPartition, str], **said: Any) -> bytes:
    from offsetwise.cli import render

    plan = offsetwise.Plan.load(path)
    render.transactions(stderr(), plan.document)
    data = plan.sign(signer, accept_unproven=accept_unproven, **said)
    _warn(plan)
    for at, why in sorted(accept_unproven.items()):
        say(f"{at} is accepted as unproven: {why}")
    return data


def _warn(plan: Plan) -> None:
    from offsetwise.plan import names, refusals

    if marked := names.marked_names(plan.document):
        say(names.warning_of(marked))
    if plan.document.from_files:
        say(refusals.FROM_FILES)
