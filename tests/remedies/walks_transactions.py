"""Remedies of ending the transactions of a sink."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from offsetwise.apply.run import apply, dry_run
from tests.remedies.walk import Scene, Steps, walk
from tests.transactions.coordinator import DENIED
from tests.transactions.settling import Staged, stage

WRITER = "plugins/kafka/targets/transactions/writer.py::"


def run(staged: Staged) -> Callable[[], object]:
    return lambda: apply(staged.order(), staged.receipt, staged.tools())


def anew(scene: Scene) -> Callable[[], object]:
    """Return the application of a plan that was drafted again, from what is there now."""

    def later() -> object:
        return run(stage(scene.folder / "again"))()

    return later


@walk(WRITER + "_verify", "Run the same command again, which ends what is still open")
def answered_and_not_done(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.lose = {2: "work"}
    return Steps(run(staged), lambda: None)


@walk(WRITER + "SinkWriter._require_ended", "Run the same command again: it looks first", name="reply_lost")
def _(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.lose = {2: "request"}
    return Steps(run(staged), lambda: None)


@walk(WRITER + "SinkWriter._require_ended", "Grant WRITE on the TransactionalId if the right is missing")
def right_missing_half_way(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.refuse = {str(staged.plan.transactions[1].transactional_id): DENIED}
    return Steps(run(staged), staged.sink.refuse.clear)


@walk(WRITER + "_require_rights", "prefixed, then try again.")
def right_missing(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.denied = True
    return Steps(
        lambda: dry_run(staged.order(), staged.tools(), staged.receipt),
        lambda: setattr(staged.sink, "denied", False),
    )


@walk(WRITER + "_not_open", "look with `offsetwise transactions`, and draft a new plan")
def ended_by_others(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.lose = {2: "request"}
    last = str(staged.plan.transactions[-1].transactional_id)

    def stopped_and_overtaken() -> object:
        try:
            return run(staged)()
        except Exception:
            if staged.sink.ids[last].state != "Ongoing":
                raise
            staged.sink.change(last, state="CompleteAbort", epoch=2, visible=False)
            return run(staged)()

    return Steps(stopped_and_overtaken, lambda: None, anew(scene))


@walk(WRITER + "_sent", "Look with `offsetwise transactions`, and draft a new plan")
def journal_of_others(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    staged.sink.lose = {1: "request"}
    journal = Path(f"{staged.receipt}.journal")

    def changed() -> object:
        try:
            return run(staged)()
        except Exception:
            text = journal.read_text(encoding="utf-8")
            if 'tx-0-7\\", 0, 1, 4' not in text:
                raise
            journal.write_text(text.replace('tx-0-7\\", 0, 1, 4', 'tx-0-7\\", 0, 2, 4'), encoding="utf-8")
            return run(staged)()

    return Steps(changed, lambda: None, anew(scene))


@walk(WRITER + "_require_same", "Give the migration file that the plan was drafted with")
def other_cluster(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    right, staged.sink.cluster_id = staged.sink.cluster_id, "another"
    return Steps(run(staged), lambda: setattr(staged.sink, "cluster_id", right))
