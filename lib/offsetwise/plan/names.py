from __future__ import annotations

from collections.abc import Iterator

from offsetwise.lookalikes import marked
from offsetwise.model import GroupBefore, Plan
from offsetwise.wording import first_of


def marked_names(plan: Plan) -> tuple[str, ...]:
    """Return the suspicious names and reasons of a plan, each once, unmarked."""
    return tuple(name for name in dict.fromkeys(_names(plan)) if marked(name) != name)


def warning_of(names: tuple[str, ...], *, most: int = 3) -> str:
    """Return a sentence that warns of suspicious names and lists at most `most` of them, unmarked."""
    return (
        f"Marked, since they hold characters that nobody sees or letters of several scripts: {first_of(names, most)}. "
        "They may look like names that you know."
    )


def _names(plan: Plan) -> Iterator[str]:
    yield from (plan.migration, plan.author, *plan.editors)
    for identity in plan.identities:
        yield from (identity.issuer, identity.subject, identity.address or "")
    yield from (target.group for target in plan.targets if target.group is not None)
    requirements = plan.requirements
    for cluster in (requirements.old, requirements.new):
        yield from (cluster.name, *(topic.name for topic in cluster.topics))
    if requirements.checkpoint is not None:
        yield from (requirements.checkpoint.uri, requirements.checkpoint.job_id or "")
    groups: tuple[GroupBefore, ...] = (
        *requirements.groups,
        *((requirements.old_group,) if requirements.old_group else ()),
    )
    yield from (group.group for group in groups)
    for position in plan.positions:
        yield from (position.source, position.topic, position.new_topic)
        if position.override is not None:
            yield from (position.override.by, position.override.reason)
