from offsetwise.console import answers
from offsetwise.console.explore import lag
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, selectors

with guard.page("Lag") as head:
    here = answers.current()
    migration, subject = selectors.migration_and_subject(here, head.choices)
    if subject is None:
        blocks.empty(
            "This migration names nothing to watch.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    else:
        lag.draw(here, migration, subject, head)
