from offsetwise.console import blocks, choosing, desk, guard
from offsetwise.console.checkpoint import screen

with guard.page("Checkpoint") as head:
    here = desk.current()
    migration, subject = choosing.migration_and_subject(here)
    if subject is None:
        blocks.empty(
            "This migration names no checkpoint.",
            "Add a checkpoint under `checkpoints` to its migration file.",
        )
    elif subject.kind is desk.SubjectKind.GROUP:
        screen.no_checkpoint(migration, subject)
    elif held := screen.reading(here, migration, subject, head):
        screen.draw(here, migration, subject, held)
