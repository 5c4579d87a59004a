"""What a mirror still has to copy, by its own syncs: generated mirrors, honest and with other people's records."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from offsetwise.findings import judge
from offsetwise.model import Exactness, Link, LogRange, OffsetSync, RawReuse, RawVerdict
from tests.findings.cases import case, row
from tests.with_cases import with_cases

LAG_MAX = 100
"""`offset.lag.max`: so many records at most lie between two syncs of a mirror that runs."""


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """One partition: what a mirror has copied of the old log, and where it said so."""

    begun: int
    """The old offset of its first record."""
    old_end: int
    copied: int
    """The old offset that it copies next."""
    before: int
    """Records on the new log before it began."""
    foreign: int
    """Records of others behind its last copy."""
    syncs: tuple[OffsetSync, ...]

    @property
    def new_end(self) -> int:
        return self.before + self.copied - self.begun + self.foreign

    def finding(self, job_at: int) -> str | None:
        """Return what is said of a job whose position is proven."""
        place = self.before + min(job_at, self.copied) - self.begun
        old = LogRange(log_start=0, lso=self.old_end, hw=self.old_end)
        new = LogRange(log_start=0, lso=self.new_end, hw=self.new_end)
        made = row(
            old_offset=job_at,
            new_offset=place,
            restart=(),
            bounds=(place, place),
            old=old,
            new=new,
            raw=RawReuse(verdict=RawVerdict.UNKNOWN),
        )
        return next(
            (each.message for each in judge(case(made, syncs=self.syncs)) if each.code == "MIRROR_BEHIND"), None
        )


def mirror(chosen: random.Random, *, left: int, foreign: int = 0) -> Mirror:
    """Make a mirror that still has so many records to copy."""
    begun, before = chosen.randrange(500), chosen.randrange(300)
    copied = begun + chosen.randrange(1, 1_000)
    at = [begun]
    while (following := at[-1] + chosen.randrange(1, LAG_MAX + 2)) < copied:
        at.append(following)
    kept = at[chosen.randrange(len(at)) :] if chosen.random() < 0.5 else at
    syncs = tuple(
        OffsetSync(topic="orders", partition=0, upstream=each, downstream=before + each - begun) for each in kept
    )
    return Mirror(begun=begun, old_end=copied + left, copied=copied, before=before, foreign=foreign, syncs=syncs)


@with_cases("seed", range(150))
def test_an_honest_mirror_that_lags_is_said_with_bounds_that_hold_the_number(seed: int) -> None:
    chosen = random.Random(seed)
    left = chosen.choice([0, 0, 1, chosen.randrange(2, 400)])
    made = mirror(chosen, left=left)

    told = made.finding(made.begun + chosen.randrange(made.copied - made.begun + 1))

    if left == 0:
        assert told is None
        return
    assert told is not None
    behind = made.old_end - made.syncs[-1].upstream - 1
    numbers = f"{left:,} record{'' if left == 1 else 's'}" if behind == left else f"{left:,} to {behind:,} records"
    assert f"the mirror has {numbers} still to copy." in told
    assert "would read these again" not in told


@with_cases("seed", range(150))
def test_records_of_others_behind_the_copies_never_raise_the_least_number(seed: int) -> None:
    """A copy of the last old record by somebody else, or a whole block of them, hides that many records and no more."""
    chosen = random.Random(seed)
    left, foreign = chosen.randrange(1, 400), chosen.randrange(1, 60)
    made = mirror(chosen, left=left, foreign=foreign)

    told = made.finding(made.old_end)

    if foreign >= left:
        assert told is None
        return
    assert told is not None
    assert f"{left - foreign:,} to {made.old_end - made.syncs[-1].upstream - 1:,} records still to copy" in told
    assert f"The job has read {left - foreign:,} of them or more" in told


@with_cases("seed", range(60))
def test_a_log_with_offsets_that_hold_no_record_gives_no_number(seed: int) -> None:
    """Every tenth old offset is a marker, which no mirror copies: by the ends alone it would be taken for a record."""
    chosen = random.Random(seed)
    made = mirror(chosen, left=chosen.randrange(2))
    holed = tuple(
        replace(each, downstream=each.downstream - (each.upstream - made.syncs[0].upstream) // 10)
        for each in made.syncs
    )
    lost = (made.copied - made.syncs[0].upstream) // 10
    sparse = replace(made, syncs=holed, before=made.before - lost)

    if holed[-1].upstream - holed[0].upstream >= 10:
        assert sparse.finding(made.copied) is None


@with_cases("link", [each for each in Link if each is not Link.MIRRORMAKER])
def test_syncs_of_no_mirrormaker_tell_nothing(link: Link) -> None:
    made = mirror(random.Random(1), left=50)
    given = case(
        row(
            old_offset=made.copied,
            old=LogRange(log_start=0, lso=made.old_end, hw=made.old_end),
            new=LogRange(log_start=0, lso=made.new_end, hw=made.new_end),
        ),
        syncs=made.syncs,
    )

    assert "MIRROR_BEHIND" in {each.code for each in judge(given)}
    assert "MIRROR_BEHIND" not in {each.code for each in judge(replace(given, link=link))}
    assert "MIRROR_BEHIND" not in {each.code for each in judge(replace(given, syncs=()))}


@with_cases("exactness", list(Exactness))
def test_it_is_said_beside_an_exact_answer_alone(exactness: Exactness) -> None:
    made = mirror(random.Random(1), left=50)
    given = case(
        row(
            exactness=exactness,
            old_offset=made.copied,
            old=LogRange(log_start=0, lso=made.old_end, hw=made.old_end),
            new=LogRange(log_start=0, lso=made.new_end, hw=made.new_end),
        ),
        syncs=made.syncs,
    )

    said = "MIRROR_BEHIND" in {each.code for each in judge(given)}
    assert said == (exactness in (Exactness.EXACT, Exactness.POSITION_EXACT))
