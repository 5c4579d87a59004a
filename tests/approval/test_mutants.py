"""Whatever is changed in a plan, an approval or a trusted key: refused, in words, never a traceback."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from offsetwise import files
from offsetwise.approval import ApprovalFile, approved
from offsetwise.approval.keys import read_public
from offsetwise.errors import FileError, NotApprovedError
from tests.approval.signed import FILE, NOW, PLAN, RITA, judged, said, trusting
from tests.gates import PART

APPROVAL = said()
PUBLIC = RITA.public.dump().encode()
EXAMPLES = 20_000 // PART


@st.composite
def mutants(draw: st.DrawFn, original: bytes) -> bytes:
    """Return other bytes: bits flipped, bytes cut out, doubled, overwritten or put in."""
    made = bytearray(original)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, max(0, len(made) - 1)))
        end = min(len(made), start + draw(st.integers(1, 40)))
        match draw(st.sampled_from(["flip", "cut", "double", "overwrite", "insert", "end"])):
            case "flip" if made:
                made[start] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del made[start:end]
            case "double":
                made[start:start] = made[start:end]
            case "overwrite":
                made[start:end] = draw(st.binary(max_size=40))
            case "end":
                del made[start:]
            case _:
                made[start:start] = draw(st.binary(min_size=1, max_size=40))
    return bytes(made)


def is_refused(approval: ApprovalFile = APPROVAL, content: bytes = FILE) -> bool:
    try:
        judged(approval, content=content)
    except NotApprovedError as error:
        return error.problem.endswith("Nothing was written.") and bool(error.fix)
    return False


def test_unchanged_it_is_approved() -> None:
    assert not is_refused()


def test_every_single_bit_of_an_approval_counts() -> None:
    content = APPROVAL.content
    for at in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[at // 8] ^= 1 << at % 8

        assert is_refused(replace(APPROVAL, content=bytes(flipped))), f"bit {at % 8} of byte {at // 8}"


def test_every_single_bit_of_a_plan_counts() -> None:
    for at in range(len(FILE) * 8):
        flipped = bytearray(FILE)
        flipped[at // 8] ^= 1 << at % 8

        assert is_refused(content=bytes(flipped)), f"bit {at % 8} of byte {at // 8}"


@settings(max_examples=EXAMPLES)
@given(mutants(FILE))
@example(FILE + b"\n")
def test_a_changed_plan_is_refused_even_where_it_reads_the_same(content: bytes) -> None:
    assert content == FILE or is_refused(content=content)


@settings(max_examples=EXAMPLES)
@given(mutants(FILE))
def test_a_changed_plan_is_refused_as_itself(content: bytes) -> None:
    try:
        plan = files.load(content, "plan", subject="plan")
    except FileError:
        return
    if content == FILE:
        return
    try:
        approved(content, plan, [APPROVAL], trusting(RITA), NOW)
    except NotApprovedError:
        return
    raise AssertionError(content)


@settings(max_examples=EXAMPLES)
@given(mutants(APPROVAL.content))
def test_a_changed_approval_is_refused_unless_it_says_and_proves_the_same(content: bytes) -> None:
    if is_refused(replace(APPROVAL, content=content)):
        return
    # Only blanks between the parts of the envelope may differ.
    assert files.read_object(content.decode(), subject="x") == files.read_object(APPROVAL.content.decode(), subject="x")


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=300) | mutants(b'{"payload":"","payloadType":"","signatures":[]}'))
def test_anything_else_is_no_approval(content: bytes) -> None:
    assert is_refused(replace(APPROVAL, content=content))


@settings(max_examples=EXAMPLES)
@given(mutants(PUBLIC))
def test_a_changed_trusted_key_makes_nobody_else_trusted(content: bytes) -> None:
    try:
        key = read_public(content, name="key")
    except NotApprovedError:
        return
    if key == RITA.public:
        return
    try:
        judged(APPROVAL, policy=trusting(key))
    except NotApprovedError:
        return
    raise AssertionError(content)


def test_of_twenty_plans_each_approval_is_good_for_its_own() -> None:
    plans = [replace(PLAN, rewind_to=batch) for batch in range(20)]
    written = [files.dump(plan).encode() for plan in plans]
    signed = [said(plan=content) for content in written]

    for here, plan in enumerate(plans):
        assert judged(signed[here], plan=plan)
        others = [*signed[:here], *signed[here + 1 :]]
        try:
            judged(*others, plan=plan)
        except NotApprovedError:
            continue
        raise AssertionError(plan)
