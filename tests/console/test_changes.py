"""The numbers that change, which stand first on Compare."""

from __future__ import annotations

from offsetwise.console.explore.changes import SHOWN, changes_of, in_markdown
from tests.console import builders
from tests.console.conftest import COMPARE, OpenPage, words
from tests.console.readers import ValueReader


def test_the_largest_change_stands_first_and_those_that_stay_are_counted() -> None:
    rows = (
        builders.partition(number=0, old=350, new=350),
        builders.partition(number=1, old=1050, new=950),
        builders.partition(number=2, old=1050, new=210),
        builders.partition(number=3, old=1050, new=None),
    )
    found, largest = changes_of(rows)
    assert str(found) == "2 change, 1 stays, 1 not known yet"
    assert [row.partition for row in largest] == [2, 1]
    lines = in_markdown(largest).splitlines()[2:]
    assert "1,050 → **210** | -840 |" in lines[0]
    assert "1,050 → **950** | -100 |" in lines[1]
    assert "✓ exact" in lines[1]


def test_of_many_changes_the_largest_few_are_shown() -> None:
    rows = tuple(builders.partition(number=each, old=1050, new=1050 - each) for each in range(40))
    found, largest = changes_of(rows)
    assert (found.changed, found.same) == (39, 1)
    assert [row.partition for row in largest] == [39 - number for number in range(SHOWN)]


def test_compare_shows_the_numbers_before_any_card(open_page: OpenPage) -> None:
    page = open_page(ValueReader(), COMPARE)
    kinds = [each.type for each in page.main]
    table = next(each for each in page.markdown if "| partition |" in each.value)
    assert "1,050 → **950** | -100 |" in table.value
    assert kinds.index("metric") > list(page.main).index(table)
    assert "change" in words(page)


def test_a_hostile_name_is_no_markup_in_the_table(open_page: OpenPage) -> None:
    page = open_page(ValueReader({"orders": builders.comparison(builders.hostile_rows())}), COMPARE)
    assert not [each for each in page.markdown if "<img" in each.value.replace("\\<img", "")]
