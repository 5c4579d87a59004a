from offsetwise.console import blocks, choosing, compare, desk, guard

with guard.page("Compare") as head:
    here = desk.current()
    migration, subject = choosing.migration_and_subject(here)
    if subject is None:
        blocks.empty(
            "This migration names nothing to compare.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    elif held := compare.comparison(here, migration, subject, head):
        compare.draw(here, migration, held)
