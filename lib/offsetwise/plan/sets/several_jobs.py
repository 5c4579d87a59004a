from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offsetwise.errors import PlanError, UsageError
from offsetwise.model import Comparison, Subject, Target
from offsetwise.plan import options
from offsetwise.plan.request import DraftRequest, check_request
from offsetwise.plan.settings import accepted
from offsetwise.plan.strategies import ways_of
from offsetwise.plan.target import TargetRole, takers_of, target_type
from offsetwise.registry import TARGETS

_ALONE = "Draft that job alone: offsetwise draft --checkpoint NAME, or --group NAME, with what is decided about it."


def target_of_each(text: str) -> Target:
    """Parse a target for several jobs: one with an address, such as a consumer group, takes the name of each job.

    >>> str(target_of_each("consumer-group"))
    'consumer-group'

    Raises:
        UsageError: It is none, or has a name.
    """
    if text in TARGETS and target_type(text).address is not None:
        return Target(kind=text)
    return options.target(text)


def require_for_several(request: DraftRequest) -> None:
    """Raise if a request for several jobs decides about a single job or contradicts itself, before anything is read.

    Args:
        request: The request for several jobs, without a subject.

    Raises:
        UsageError: Some part of it is about one job.
        PlanError: It contradicts itself.
    """
    decided = {
        "a target with a name": any(target.group is not None for target in request.targets),
        "a target that ends transactions": any(
            target_type(target.kind).role is TargetRole.TRANSACTIONS for target in request.targets
        ),
        "an override": request.overrides,
        "another start": request.starts,
        "a decision about a transaction": request.settlements,
        "topics of a sink": request.sink_topics,
        "a sink that is taken back": request.sink_rewound,
        "an earlier batch": request.rewind_to is not None,
        "a repair": request.repair is not None,
    }
    what = next((name for name, given in decided.items() if given), None)
    if what is not None:
        raise UsageError(
            f"draft: expected what holds for each of several jobs, found {what}, which decides about one. "
            "Nothing was drafted.",
            fix=_ALONE,
        )
    for target in request.targets or (None,):
        named = () if target is None else (_with_any_name(target),)
        check_request(replace(request, targets=named, settings=()))
    accepted(takers_of(request.targets), request.settings)


def _with_any_name(target: Target) -> Target:
    return target if target_type(target.kind).address is None else replace(target, group="NAME")


def request_of(request: DraftRequest, subject: Subject, comparison: Comparison) -> DraftRequest:
    """Return the part of a request for several jobs that concerns one of them.

    Args:
        request: The request for all of them.
        subject: The job.
        comparison: The job's comparison.

    Raises:
        PlanError: No target moves jobs of its engine.
    """
    targets = targets_of(request.targets, comparison)
    if not targets:
        named = ", ".join(target.kind for target in request.targets)
        raise PlanError(
            f"The plan: expected a target that moves a job of {comparison.engine}, found {named}. Nothing was written.",
            fix="Name one more --target: `offsetwise targets` lists which engines' jobs each of them moves.",
        )
    accepted = {key for model in takers_of(targets).values() for key in model.model_fields}
    return replace(
        request,
        subject=subject,
        targets=targets,
        settings=tuple((key, value) for key, value in request.settings if key in accepted),
        unset=request.unset if comparison.begins_by_setting else None,
    )


def targets_of(targets: Sequence[Target], comparison: Comparison) -> tuple[Target, ...]:
    """Return the targets that move a job of the compared engine, in their order.

    A target with an address gets the job's name, and is left out if the job has no name there. A group that keeps its
    own positions on the new cluster needs no file of starting offsets for another job.
    """
    written = {name for way in ways_of(comparison.engine) for name in (way.target, way.also_writes)}
    fitting: list[Target] = []
    for target in targets:
        kind = target_type(target.kind)
        has_no_state = kind.role is TargetRole.STATE and comparison.checkpoint is None
        name = None if kind.address is None else kind.namesake(comparison)
        if kind.name in written and not has_no_state and (kind.address is None or name is not None):
            fitting.append(replace(target, group=name))
    own = tuple(target for target in fitting if target_type(target.kind).role is TargetRole.POSITIONS)
    return own if own and comparison.checkpoint is None else tuple(fitting)
