from offsetwise.console import blocks, choosing, desk, guard
from offsetwise.console.lag import screen

with guard.page("Lag") as head:
    here = desk.current()
    migration, subject = choosing.migration_and_subject(here)
    if subject is None:
        blocks.empty(
            "This migration names nothing to watch.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    else:
        screen.draw(here, migration, subject, head)
