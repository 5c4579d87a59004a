from offsetwise.console import answers
from offsetwise.console.explore.checkpoint import screen
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, selectors
from offsetwise.model import SubjectKind

with guard.page("Checkpoint") as head:
    here = answers.current()
    migration, subject = selectors.migration_and_subject(here, head.choices)
    if subject is None:
        blocks.empty(
            "This migration names no checkpoint.",
            "Add a checkpoint under `checkpoints` to its migration file.",
        )
    elif subject.kind is SubjectKind.GROUP:
        screen.no_checkpoint(migration, subject)
    elif held := screen.reading(here, migration, subject, head):
        screen.draw(here, migration, subject, held)
