from offsetwise.console import answers
from offsetwise.console.explore import compare
from offsetwise.console.jobs import table
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, selectors

with guard.page("Compare") as head:
    here = answers.current()
    migration, subject = selectors.migration_and_subject(here, head.choices)
    table.above(here, migration)
    if subject is None:
        blocks.empty(
            "This migration names nothing to compare.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    elif held := compare.comparison(here, migration, subject, head):
        compare.draw(here, migration, subject, held)
