from offsetwise.console import blocks, choosing, compare, desk, guard

with guard.page("Compare") as head:
    here = desk.current()
    migration, key = choosing.migration_and_subject(here)
    if key is None:
        blocks.empty(
            "This migration names nothing to compare.",
            "Add a checkpoint under `checkpoints`, or a consumer group under `groups`, to its migration file.",
        )
    elif held := compare.comparison(here, migration, key, head):
        compare.draw(held)
