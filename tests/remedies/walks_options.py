"""Remedies of a command line, or a call from Python, that lacks something or has too much."""

from __future__ import annotations

from collections.abc import Callable

import offsetwise as ow
from offsetwise.api.job import Job
from offsetwise.api.live import settings_of
from offsetwise.approval import keygen, write_keys
from offsetwise.config import load_migration
from offsetwise.model import Target
from offsetwise.plan.repair.draft import check_repair
from offsetwise.plan.request import DraftRequest
from offsetwise.workflow import planning
from offsetwise.workflow.sinks import sink_of
from tests.plan.scene import AT, COPY, STARTING
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES, write
from tests.plugins.spark.repair.flow import aged
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_commands import drafted, run, sample
from tests.remedies.walks_repairs import PENDING
from tests.subjects import checkpoint

Call = Callable[[], object]
GIVEN = ("--author", "ada", "--checkpoint", "payments")


@walk("cli/plan_sets.py::no_target", "Name one: --target spark-checkpoint")
def draft_without_a_target(scene: Scene) -> Steps:
    path = sample(scene)
    files = (path.with_name("comparison-payments.json"), path.with_name("old.json"), path.with_name("new.json"))
    given = ("draft", "-m", path, *GIVEN, "--comparison", files[0], "--snapshots", *files[1:], "--out")
    return Steps(
        run(*given, scene.folder / "a.json"),
        lambda: None,
        run(*given, scene.folder / "a.json", "--target", "spark-checkpoint"),
    )


@walk("cli/plans.py::_repaired", "Name the migration file; or, to repair a checkpoint")
def draft_without_a_migration(scene: Scene) -> Steps:
    folder = aged(write(PENDING, scene.folder / "source"))
    given = ("draft", "--checkpoint", folder, "--author", "ada", "--out", scene.folder / "plan.json")
    return Steps(run(*given), lambda: None, run(*given, "--repair", "drop-pending-batch"))


@walk("plan/repair/kinds.py::repair_target", "Name one of the list")
def unknown_repair(scene: Scene) -> Steps:
    folder = aged(write(PENDING, scene.folder / "source"))
    given = ("draft", "--checkpoint", folder, "--author", "ada", "--out", scene.folder / "plan.json", "--repair")
    return Steps(run(*given, "mend"), lambda: None, run(*given, "drop-pending-batch"))


@walk("workflow/repairing.py::repaired_checkpoint", "A repair is of ")
def repair_of_flink(scene: Scene) -> Steps:
    folder = aged(write(PENDING, scene.folder / "source"))

    def repair(of: object) -> Call:
        given = ("--author", "ada", "--out", scene.folder / "plan.json", "--repair", "drop-pending-batch")
        return run("draft", "--checkpoint", str(of), *given)

    return Steps(repair(SAMPLES / FLINK_NAMES[0]), lambda: None, repair(folder))


def repairing(*targets: Target) -> Call:
    request = DraftRequest(targets=targets, author="ada", repair="drop-pending-batch")
    return lambda: check_repair(request)


corrected(
    "plan/repair/draft.py::check_repair",
    "Leave it out, or draft a plan of its own",
    "repair_and_another_target",
    repairing(STARTING),
    repairing(COPY),
)


@walk("cli/sinks.py::transactions", "Leave --out out")
def snapshot_and_out(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    given = ("transactions", "order-audit", "-m", path, "--snapshot", path.with_name("sink.json"))
    return Steps(run(*given, "--out", scene.folder / "again.json"), lambda: None, run(*given))


@walk("cli/approvals.py::sign", "Use your own key, or make one")
def key_of_somebody_else(scene: Scene) -> Steps:
    plan = drafted(scene)
    write_keys(scene.folder / "rita.key", keygen(subject="rita"))

    def signed(key: str) -> Call:
        return run("sign", plan, "--key", scene.folder / key, "--as", "ralph", "--out", scene.folder / "approval.json")

    return Steps(
        signed("rita.key"),
        run("keygen", "--out", scene.folder / "ralph.key", "--as", "ralph"),
        signed("ralph.key"),
    )


@walk("api/init.py::_not_given", "Add ")
def init_without_checkpoints(scene: Scene) -> Steps:
    given = ("init", "--old", "127.0.0.1:1", "--new", "127.0.0.1:1", "--out", scene.folder / "migration.yaml")
    return Steps(
        lambda: ow.init(scene.folder / "migration.yaml", old="127.0.0.1:1", new="127.0.0.1:1"),
        lambda: None,
        run(*given, "--checkpoints", scene.folder),
        ends="Correct one of the two addresses",
    )


@walk("api/job.py::Job.named", "Name one checkpoint of the migration file")
def job_of_nobody(scene: Scene) -> Steps:
    path = sample(scene)
    migration, files = ow.Migration.load(path), (path.with_name("old.json"), path.with_name("new.json"))
    snapshots = ow.load_snapshots(*files)

    def compared(job: Job) -> Call:
        return lambda: job.compare(snapshots=snapshots, records=False) and None

    return Steps(compared(Job(migration=migration)), lambda: None, compared(migration.checkpoint("orders")))


@walk("api/live.py::settings_of", "Load it with `migration=`")
def plan_of_a_migration_alone(scene: Scene) -> Steps:
    document = ow.Plan.load(drafted(scene)).document
    migration = ow.Migration.load(sample(scene))
    return Steps(
        lambda: settings_of(document, None, None) and None,
        lambda: None,
        lambda: settings_of(document, migration, None) and None,
    )


@walk("config/migration.py::Migration.named", "Give the migration file that the plan was drafted with")
def cluster_of_another_file(scene: Scene) -> Steps:
    spark, flink = load_migration(sample(scene)), load_migration(sample(scene, "sample_flink"))
    only = (
        next((each.name for each in flink.sinks), flink.target.name if flink.target.name != spark.target.name else "")
        or "elsewhere"
    )
    right = spark.model_copy(update={"target": spark.target.model_copy(update={"name": only})})
    return Steps(lambda: spark.named(only) and None, lambda: None, lambda: right.named(only) and None)


@walk("workflow/sinks.py::sink_of", "Name it with --checkpoint")
def sink_of_no_checkpoint(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    request = DraftRequest(targets=(Target(kind="sink-transactions"),), author="ada")
    named = DraftRequest(targets=(Target(kind="sink-transactions"),), author="ada", subject=checkpoint("order-audit"))
    snapshot = ow.load_sink_snapshot(path.with_name("sink.json"))

    def asked(of: DraftRequest) -> Call:
        return lambda: sink_of(load_migration(path), of, None, snapshot=snapshot, progress=lambda *_: None) and None

    return Steps(asked(request), lambda: None, asked(named))


PLANNING = "workflow/planning.py::"


def planned(scene: Scene, request: DraftRequest, **given: object) -> Call:
    path = sample(scene)

    def command() -> object:
        observed = ow.load_comparison(
            *(path.with_name(f"{name}.json") for name in ("comparison-payments", "old", "new"))
        )
        return (
            planning.draft(
                load_migration(path),
                request.subject,
                request,
                drafted_at=AT,
                comparison=observed if given.get("observed") else None,
            )
            and None
        )

    return command


@walk(PLANNING + "_repaired", "without --comparison")
def repair_of_a_comparison(scene: Scene) -> Steps:
    repair = DraftRequest(targets=(COPY,), author="ada", repair="drop-pending-batch", subject=checkpoint("payments"))
    return Steps(
        planned(scene, repair, observed=True),
        lambda: None,
        planned(scene, repair),
        ends="see with `offsetwise inspect`",
    )


@walk(PLANNING + "_compared", "Name one checkpoint of the migration file")
def draft_of_nobody(scene: Scene) -> Steps:
    request = DraftRequest(targets=(COPY,), author="ada")
    named = DraftRequest(targets=(COPY,), author="ada", subject=checkpoint("payments"))
    return Steps(planned(scene, request), lambda: None, planned(scene, named, observed=True))


@walk("plan/request.py::_check_start", "Name the time at which the job is to start")
def start_that_has_passed(scene: Scene) -> Steps:
    folder = sample(scene).parent
    files = (folder / "comparison-payments.json", folder / "old.json", folder / "new.json")

    def drafting(time: str) -> Call:
        return run(
            *("draft", "--migration", sample(scene), *GIVEN, "--target", "spark-checkpoint", "--cutover", time),
            *("--comparison", files[0], "--snapshots", *files[1:], "--out", scene.folder / "started.json"),
        )

    return Steps(drafting("2020-01-01T00:00:00Z"), lambda: None, drafting("2027-01-01T00:00:00Z"))
