"""The commands that make, sign and use plans. `cli.py` registers them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from offsetwise import files, show
from offsetwise.config import load_migration
from offsetwise.errors import FileError, UsageError
from offsetwise.model import StepState, Verification

talk: Final = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, nothing else.")]
MigrationFile = Annotated[Path, typer.Option("--migration", "-m", help="The migration file (YAML).")]
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
    console: Annotated[
        bool, typer.Option("--console", help="A console's key, which signs for the people who sign in there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a reviewer's or a console's key: a private file (mode 0600), and a .pub file to hand to those who apply."""
    from offsetwise import approval  # noqa: PLC0415 - the cryptography takes a moment

    key = approval.keygen(subject=subject, issuer=issuer, console=console)
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
    """Approve or reject exactly this file of a plan. Its author and editors can do neither."""
    from offsetwise import approval  # noqa: PLC0415 - as above
    from offsetwise.plan import names  # noqa: PLC0415 - as above
    from offsetwise.plan.reading import plan_bytes, read_plan  # noqa: PLC0415 - as above

    content = plan_bytes(plan)
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
    if marked := names.marked_names(read_plan(content, subject=str(plan))):
        _said(names.told(marked))
    _said(f"{plan} {verdict} by {subject}, good for {expires_in_hours} hours: {out}.")


def apply(
    plan: PlanFile,
    *,
    migration: MigrationFile,
    approval: Annotated[list[Path] | None, typer.Option(help="An approval of the plan; may be repeated.")] = None,
    trust: Annotated[list[Path] | None, typer.Option(help="The .pub file of a reviewer; may be repeated.")] = None,
    output: Annotated[str | None, typer.Option(help="Where a copy or file is written; in a write root.")] = None,
    receipt: Annotated[
        Path | None, typer.Option(help="The receipt to write; PLAN.receipt.json by default. Its journal is beside it.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Write. Without it, nothing is.")] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 2 if a dry run would change anything.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a plan would write, and with --execute write it. The same call again goes on where it ended."""
    from offsetwise import operate, printed, show_apply  # noqa: PLC0415 - the cryptography takes a moment

    wanted = operate.order(plan, load_migration(migration), output=output)
    receipt = receipt or plan.with_suffix(".receipt.json")
    if not execute:
        with show.progress(talk) as progress:
            made = operate.dry_run(wanted, receipt, progress=progress)
        if not as_json:
            show_apply.dry_run(Console(highlight=False), made)
        operate.require(wanted, made, receipt)
        if as_json:
            typer.echo(printed.dump(made), nl=False)
        if detailed_exitcode and made.changes:
            raise typer.Exit(2)
        return
    wanted = operate.with_approvals(wanted, approval or (), trust or (), receipt)
    with show.progress(talk) as progress:
        done = operate.apply(wanted, receipt, progress=progress)
    if as_json:
        typer.echo(files.dump(done.receipt), nl=False)
    else:
        show_apply.applied(Console(highlight=False), done)


def rollback(
    written: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt, or its journal.")],
    *,
    migration: MigrationFile,
    plan: Annotated[
        Path | None, typer.Option(help="The plan's file: for a journal, or where it is not as `draft` wrote it.")
    ] = None,
    approval: Annotated[
        list[Path] | None, typer.Option(help="An approval besides those in the receipt; may be repeated.")
    ] = None,
    trust: Annotated[list[Path] | None, typer.Option(help="The .pub file of a reviewer; may be repeated.")] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Take back. Without it, nothing is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what stands where a plan was applied, and with --execute put back what stood there before."""
    from offsetwise import operate, printed, show_apply  # noqa: PLC0415 - as above

    order = operate.back_order(
        written, load_migration(migration), plan=plan, approvals=approval or (), trust=trust or ()
    )
    with show.progress(talk) as progress:
        if not execute:
            found = operate.look_back(order, progress=progress)
            if as_json:
                typer.echo(printed.dump(found), nl=False)
            else:
                show_apply.standings(Console(highlight=False), found)
            return
        steps = operate.rollback(order, progress=progress)
    if as_json:
        typer.echo(printed.dump(printed.TakenBack(steps=steps)), nl=False)
    else:
        show_apply.taken_back(Console(highlight=False), steps)
    if any(step.state is not StepState.UNDONE for step in steps):
        raise typer.Exit(1)


def verify(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt that `apply` wrote.")],
    *,
    migration: MigrationFile,
    plan: Annotated[Path | None, typer.Option(help="The plan's file, where it is not as `draft` wrote it.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A checkpoint that the new job made, for a startingOffsets file or a savepoint.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again until the job has begun, or began wrong.")] = False,
    every: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds between two looks.")] = 10,
    detailed_exitcode: Annotated[  # noqa: ARG001 - the codes are the same without it; automation may give it anyway
        bool, typer.Option("--detailed-exitcode", help="Changes nothing: 5 and 1 are given without it too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look whether every target stands as planned, and whether the job began at exactly the planned positions."""
    from offsetwise import operate, show_apply  # noqa: PLC0415 - as above
    from offsetwise import verify as verifying  # noqa: PLC0415 - as above

    chosen = load_migration(migration)

    def look() -> Verification:
        return operate.verify(receipt, chosen, plan=plan, checkpoint=checkpoint)

    def told(made: Verification) -> None:
        if as_json:
            typer.echo(files.dump(made, indent=None if watch else 1), nl=False)
        else:
            show_apply.verification(Console(highlight=False), made)

    if watch:
        made = verifying.watch(look, wait=lambda: time.sleep(every), told=told)
    else:
        made = look()
        told(made)
    if code := verifying.exit_code_of(made):
        raise typer.Exit(code)


def draft(
    *,
    migration: MigrationFile,
    target: Annotated[
        list[str],
        typer.Option(
            help="spark-checkpoint, spark-checkpoint-in-place, starting-offsets, seeded-checkpoint, flink-savepoint, "
            "flink-savepoint-without-sources or consumer-group:NAME; may be repeated."
        ),
    ],
    author: Annotated[str, typer.Option(help="Who drafts it. Recorded, not believed; barred from approving.")],
    out: Annotated[Path, typer.Option(help="The plan's file to write. It must not exist.")],
    checkpoint: Annotated[str | None, typer.Option(help="A checkpoint named in the migration file.")] = None,
    group: Annotated[str | None, typer.Option(help="A consumer group of the old cluster instead.")] = None,
    editor: Annotated[
        list[str] | None, typer.Option(help="Who edited an earlier version; barred too. May be repeated.")
    ] = None,
    rewind_to: Annotated[int | None, typer.Option(min=0, help="Go back to this earlier batch.")] = None,
    override: Annotated[
        list[str] | None, typer.Option(help="topic:partition=offset, decided by a person; may be repeated.")
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(help="TOPIC=earliest, latest, timestamp:TIME or group:NAME instead of the translation."),
    ] = None,
    reason: Annotated[
        list[str] | None, typer.Option(help="Why, for each --override, then each --start; or one for all.")
    ] = None,
    sink_rewound: Annotated[
        bool, typer.Option("--sink-rewound", help="State that the sink is taken back with the job.")
    ] = False,
    cutover: Annotated[str | None, typer.Option(help="When the job is to start on the new cluster, ISO 8601.")] = None,
    comparison: Annotated[
        Path | None, typer.Option(help="Draft from a comparison's file (with --snapshots) instead of the clusters.")
    ] = None,
    snapshots: Annotated[
        tuple[Path, Path] | None, typer.Option(help="The two snapshot files, old and new, that it was made with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draft a plan: where every partition resumes, why that is right, and what must still hold. Writes one file."""
    from offsetwise import workflow  # noqa: PLC0415 - as above
    from offsetwise.plan import asked  # noqa: PLC0415 - as above
    from offsetwise.plan.digest import digest  # noqa: PLC0415 - as above
    from offsetwise.plan.request import DraftRequest  # noqa: PLC0415 - as above

    if (comparison is None) != (snapshots is None):
        raise UsageError(
            "draft: expected --comparison and --snapshots together, found one of them. Nothing was drafted.",
            fix="Give both, or neither to read the clusters.",
        )
    if os.path.lexists(out):
        raise _not_new(out, "something of that name exists")
    overrides, starts = override or [], start or []
    reasons = asked.reasons_for(len(overrides) + len(starts), reason or [])
    request = DraftRequest(
        targets=tuple(asked.target(each) for each in target),
        author=author,
        editors=tuple(editor or ()),
        rewind_to=rewind_to,
        overrides=asked.overrides(overrides, reasons[: len(overrides)], by=author),
        starts=asked.starts(starts, reasons[len(overrides) :], by=author),
        sink_rewound=sink_rewound,
        cutover_ms=None if cutover is None else asked.time_ms(cutover, "--cutover"),
    )
    observed = None
    if comparison is not None and snapshots is not None:
        observed = workflow.load_observed(comparison, *snapshots)
    made = workflow.draft(
        load_migration(migration),
        request,
        drafted_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        checkpoint=checkpoint,
        group=group,
        observed=observed,
    )
    text = files.dump(made)
    try:
        with out.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise _not_new(out, error.strerror or str(error)) from error
    if as_json:
        typer.echo(text, nl=False)
    show.plan(talk, made)
    _said(f"{out} holds the plan. Its digest is {digest(text.encode())}: an approval names exactly that.")


def drift(
    plan: PlanFile,
    *,
    migration: MigrationFile,
    as_json: AsJson = False,
) -> None:
    """Say what has changed since a plan was drafted: exit code 3 if anything has. Growth of logs is no change."""
    from offsetwise import printed, workflow  # noqa: PLC0415 - as above
    from offsetwise.plan.reading import plan_bytes, read_plan  # noqa: PLC0415 - as above

    found = workflow.drift(read_plan(plan_bytes(plan), subject=str(plan)), load_migration(migration))
    if as_json:
        typer.echo(printed.dump(printed.Drifted(drift=found)), nl=False)
    for each in found:
        _said(f"{each.kind}: {each.told}")
    if found:
        raise typer.Exit(3)
    _said("Everything that the plan requires is as it was reviewed.")


def export(
    plan: PlanFile,
    *,
    form: Annotated[str, typer.Option("--as", help="starting-offsets or consumer-groups-csv.")],
    as_json: AsJson = False,  # noqa: ARG001 - main() looks for it where errors are told
) -> None:
    """Print positions as where a new job starts (Spark's startingOffsets, Flink's words) or for Kafka's tool."""
    from offsetwise.plan import exports  # noqa: PLC0415 - as above
    from offsetwise.plan.reading import plan_bytes, read_plan  # noqa: PLC0415 - as above

    forms = {"starting-offsets": exports.starting_offsets, "consumer-groups-csv": exports.consumer_groups_csv}
    if form not in forms:
        raise UsageError(
            f"export: expected --as {' or '.join(forms)}, found {form!r}. Nothing was printed.", fix="Name one of them."
        )
    text = forms[form](read_plan(plan_bytes(plan), subject=str(plan)))
    typer.echo(text, nl=not text.endswith("\n"))


COMMANDS: Final[tuple[Callable[..., None], ...]] = (draft, drift, export, keygen, sign, apply, verify, rollback)


def _not_new(path: Path, why: str) -> FileError:
    return FileError(
        f"{path}: expected to write a new file, but {why}. Nothing was written.",
        fix="Name a file that does not exist yet, in a folder that does.",
    )


def _said(text: str) -> None:
    talk.print(show.safe(text), soft_wrap=True)
