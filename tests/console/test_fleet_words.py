"""What the Fleet screen shows of a fleet, without Streamlit: filters, order, names, times and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offsetwise.console.operate import fleet_chart, fleet_table
from offsetwise.console.operate.fleet_names import labels_of, named
from offsetwise.console.operate.fleet_table import AGES, FleetFilters, Order, in_order
from offsetwise.console.widgets import table
from offsetwise.console.widgets.palette import DARK, LIGHT
from offsetwise.fleets import FleetRow, FleetVerdict, assemble
from offsetwise.wording.verdicts import Tone
from tests.console import fleets
from tests.console.fleets import DAY_MS, HOUR_MS, NOW_MS, checkpoint, failed
from tests.with_cases import with_cases

FLEET = fleets.a_thousand()


def shown(filters: FleetFilters, rows: Sequence[FleetRow]) -> tuple[FleetRow, ...]:
    """Return the rows of the table."""
    return filters.apply(in_order(rows, filters.order, NOW_MS), NOW_MS)


@with_cases(
    ("filters", "count"),
    [
        (FleetFilters(), 1_000),
        (FleetFilters(verdicts=("problems", "unreadable")), 10),
        (FleetFilters(problems=("CHECKPOINT_DAMAGED",)), 7),
        (FleetFilters(problems=("not a checkpoint",)), 3),
        (FleetFilters(problems=("same query id",)), 4),
        (FleetFilters(topics=("audit",), verdicts=("restartable",), text="team-8/"), 95),
        (FleetFilters(older="1 day"), 32),
        (FleetFilters(older="age not known"), 3),
        (FleetFilters(text=" QUERY-COPIED "), 4),
        (FleetFilters(text="orders"), 1),
        (FleetFilters(verdicts=("splendid",)), 0),
    ],
    ids=str,
)
def test_filters_keep_what_they_say(filters: FleetFilters, count: int) -> None:
    assert len(shown(filters, FLEET.rows)) == count


@with_cases(
    ("order", "first"),
    [
        (Order.WORST, "/data/team-0/job-000"),
        (Order.OLDEST, "/data/team-9/job-009"),
        (Order.LARGEST, "/data/team-9/job-999"),
        (Order.PATH, "/data/team-0/job-000"),
    ],
)
def test_orders_put_first_what_they_say(order: Order, first: str) -> None:
    assert shown(FleetFilters(order=order), FLEET.rows)[0].uri == first


@with_cases("order", Order)
def test_what_is_not_known_stands_last_unless_it_is_the_worst(order: Order) -> None:
    rows = assemble([checkpoint("/d/a", age_ms=None), checkpoint("/d/b", state_bytes=5), failed("/d/c")], {}).rows
    last = {Order.WORST: "/d/a", Order.PATH: "/d/c"}.get(order, "/d/c")
    assert shown(FleetFilters(order=order), rows)[-1].uri == last


def test_every_age_that_is_offered_is_a_limit() -> None:
    for name, limit in AGES.items():
        rows = assemble([checkpoint("/d/a", age_ms=limit), checkpoint("/d/b", age_ms=limit + 1)], {}).rows
        assert [row.uri for row in shown(FleetFilters(older=name), rows)] == ["/d/b"]


@with_cases(
    ("rows", "tone", "head"),
    [
        ([checkpoint()], Tone.RIGHT, "The checkpoint can be restarted."),
        ([checkpoint("/d/a", job_id="a"), checkpoint("/d/b", job_id="b")], Tone.RIGHT, "All 2 checkpoints can be rest"),
        ([checkpoint("/d/a"), checkpoint("/d/b")], Tone.CAREFUL, "All 2 checkpoints can be restarted."),
        ([checkpoint(pending=True)], Tone.CAREFUL, "The checkpoint would run a batch again."),
        ([checkpoint(problems=(fleets.GAP,))], Tone.RIGHT, "The checkpoint can be restarted."),
        ([checkpoint(problems=(fleets.DAMAGED,))], Tone.WRONG, "The checkpoint cannot be relied on."),
        ([failed("/d/a"), checkpoint("/d/b")], Tone.WRONG, "1 of 2 checkpoints cannot be relied on."),
    ],
    ids=["right", "two", "copies", "pending", "informing", "damaged", "unreadable"],
)
def test_the_answer_says_the_worst(rows: list[object], tone: Tone, head: str) -> None:
    said = fleet_table.answer(assemble(rows, {}).rows)  # type: ignore[arg-type] # both kinds of row
    assert (said[0], said[1].startswith(head)) == (tone, True)


def test_since_commit_is_counted_from_the_committed_batch() -> None:
    (row,) = assemble([checkpoint(pending=True, age_ms=HOUR_MS)], {}).rows
    made = table.frame(fleet_table.columns({row.uri: "orders"}, NOW_MS, (row,)), (row,))
    assert (made["age"][0], made["since commit"][0]) == (HOUR_MS, HOUR_MS + 60_000)


def test_names_are_paths_below_their_root_and_never_two_alike() -> None:
    uris = ["/a/ckpt/orders", "/b/ckpt/orders", "/b/ckpt/x/y", "/c/alone", "s3://bucket/orders", "/a/ckpt-2/z"]
    assert list(named(uris, ["/a/ckpt", "/b/ckpt/", "/c/alone"]).values()) == [
        "/a/ckpt/orders",
        "/b/ckpt/orders",
        "ckpt/x/y",
        "alone",
        "s3://bucket/orders",
        "/a/ckpt-2/z",
    ]
    alike = ["/a/or\u202eders", "/a/or⟨U+202E⟩ders"]
    assert len(set(named(alike, ["/a"]).values())) == 2


def test_a_checkpoint_has_the_migration_s_name_where_no_other_has_it() -> None:
    uris = {"/a/app.json": ("app",), "/a/twice": ("one", "two"), "/a/b": ("c",), "/a/c": (), "/a/x": ("x",)}
    rows = [
        replace(row, read=replace(row.read, uri=uri), names=names)
        for row, (uri, names) in zip(FLEET.rows, uris.items(), strict=False)
    ]
    assert list(labels_of(rows, ["/a"]).values()) == ["app", "twice", "b", "c", "x"]


def test_the_map_counts_every_checkpoint_once() -> None:
    assert sum(fleet_chart.ages_of(FLEET.rows, NOW_MS).values()) == 1_000
    assert fleet_chart.ages_of(FLEET.rows, NOW_MS)[FleetVerdict.UNREADABLE, fleet_chart.UNKNOWN_AGE] == 3
    ahead = assemble([checkpoint(age_ms=-DAY_MS)], {}).rows
    assert fleet_chart.ages_of(ahead, NOW_MS)[FleetVerdict.RESTARTABLE, "≤ 5 min"] == 1


@with_cases("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_map_prints_its_counts(colours: object) -> None:
    drawn = fleet_chart.age_map(FLEET.rows, colours, NOW_MS)  # type: ignore[arg-type] # a palette
    assert [lane[-1] for lane in drawn.data[0].text] == ["3", "", "", ""]
    assert "3 unreadable" in fleet_chart.takeaway(FLEET.rows, NOW_MS)
