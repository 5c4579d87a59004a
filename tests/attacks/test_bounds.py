"""Hostile contents of files: every reader counts before it parses, and says in words what it does not take."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from offsetwise import files
from offsetwise.approval import ApprovalFile
from offsetwise.approval.demo import demo_key
from offsetwise.config import TopicSettings, load_migration
from offsetwise.console.plan.plan_status import at
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ConfigError, FileError, NotApprovedError, OffsetwiseError
from offsetwise.model import Plan
from offsetwise.plan.reading import plan_bytes, read_plan
from offsetwise.plugins.spark.engine.initial_offsets import InitialOffsets
from offsetwise.plugins.spark.engine.offset_log import Lines, parse_offsets
from offsetwise.plugins.spark.engine.positions import resolve_positions
from offsetwise.plugins.spark.engine.restart import decide_restart
from offsetwise.review import board as boards
from offsetwise.review.access import Role
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed, SavedVersion
from offsetwise.review.board import Board
from offsetwise.review.bundle import open_bundle
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.store.store import open_store
from offsetwise.wording import utc
from tests.approval.signed import FILE, judged, said, trusting
from tests.attacks.measured import MAX_ADDED_BYTES, MAX_SECONDS, Cost, measure
from tests.attacks.rows import Verdict, attack
from tests.attacks.wide import bundled, written
from tests.commands import call
from tests.counted import calls
from tests.plan.scene import comparison, drafted, rows
from tests.plugins.flink.files import Op, coordinator, kafka_source, metadata
from tests.review.conftest import scene
from tests.review.people import ADA, NOW, RITA, Scene
from tests.review.test_bundle import away, packed
from tests.with_cases import with_cases

__all__ = ["away", "scene"]

MB: Final = 2**20
PLAN: Final = drafted(comparison(*rows({}, {})))
TEXT: Final = files.dump(PLAN)


# --------------------------------------------------------------------------- plans


def refused(data: bytes) -> str:
    with pytest.raises(OffsetwiseError) as caught:
        read_plan(data, subject="plan.json")
    assert "Nothing was used from it." in caught.value.problem
    assert caught.value.fix
    return caught.value.problem


HOSTILE: Final[dict[str, tuple[Callable[[str], str], str]]] = {
    "data behind it": (lambda text: text + "{}", "Extra data"),
    "a duplicate key": (lambda text: text.replace('"author": "ada"', '"author": "ada", "author": "x"'), "twice"),
    "NaN": (lambda text: text.replace('"new_offset": "950"', '"new_offset": NaN', 1), "NaN"),
    "1e400": (lambda text: text.replace('"new_offset": "950"', '"new_offset": 1e400', 1), "1e400"),
    "a million digits": (
        lambda text: text.replace('"new_offset": "950"', f'"new_offset": {"9" * 10**6}', 1),
        "does not fit 64 bits",
    ),
    "100,000 deep": (
        lambda text: text.replace('"author": "ada"', f'"author": {"[" * 10**5}{"]" * 10**5}'),
        "more than 32 levels",
    ),
    "half a pair": (lambda text: text.replace('"author": "ada"', '"author": "\ud800"'), "not UTF-8"),
}


@attack(
    "A11",
    "plan: one blank, one digit, trailing data, duplicate keys, NaN, 1e400, 10^6 digits, 10^5 deep, lone surrogate",
    before=Verdict.HELD,
    without="`strict_json.parse`: plain `json.loads`; the digest in `approved`",
)
class TestPlansThatAreChanged:
    @with_cases("what", HOSTILE)
    def test_what_two_readers_could_take_otherwise_is_refused(self, what: str) -> None:
        change, why = HOSTILE[what]
        assert change(TEXT) != TEXT
        assert why in refused(change(TEXT).encode("utf-8", "surrogatepass"))

    @with_cases("change", [lambda text: text + " ", lambda text: text.replace('"950"', '"951"')])
    def test_a_blank_or_a_digit_makes_it_a_plan_that_nobody_approved(self, change: Callable[[str], str]) -> None:
        judged(said())
        with pytest.raises(NotApprovedError):
            judged(said(), content=change(FILE.decode()).encode())


SPELLINGS: Final = ("true", '"0"', "0.0", "1e0", "-0", "null")


@attack(
    "A12",
    'plan in UTF-16 or with a BOM, `"partition": true` or `"0"`, `"0950"`, `"+950"`, `" 950"`, `1.0`, other digits',
    before=Verdict.WEAK,
    without="`files.strict._strictly`, the pattern of `DecimalString`, the encodings in `strict_json._text`",
)
class TestPlansInAnotherSpelling:
    @with_cases("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1"])
    def test_only_utf_8_without_a_byte_order_mark_is_read(self, encoding: str) -> None:
        text = TEXT.replace('"author": "ada"', '"author": "é"')
        assert "UTF-8" in refused(text.encode(encoding))
        assert read_plan(text.encode(), subject="plan.json").author == "é"

    @with_cases("spelled", SPELLINGS)
    def test_an_integer_is_an_integer(self, spelled: str) -> None:
        refused(TEXT.replace('"partition": 0', f'"partition": {spelled}', 1).encode())

    @with_cases(
        "spelled", ['"0950"', '"+950"', '" 950"', '"950 "', '"9_50"', '"٩٥٠"', '"950.0"', '"-0"', '""', "950", "true"]
    )
    def test_an_offset_is_spelled_as_the_tool_does(self, spelled: str) -> None:
        assert '"new_offset": "950"' in TEXT
        refused(TEXT.replace('"new_offset": "950"', f'"new_offset": {spelled}', 1).encode())


@attack(
    "A21",
    "approval files of 65 KiB, 101 of them, empty, deep, not UTF-8; the demo key elsewhere",
    before=Verdict.HELD,
    without="`strict.MAX_BYTES`, `strict_json.parse`, `MAX_FILES`, the demo key's condition in `judging`",
)
def test_files_that_are_no_approvals_count_for_nothing() -> None:
    hostile = (b"", b" " * (65 * 1024), b"[" * 60_000, b'{"payload": "\xff"}', b"\xef\xbb\xbf{}", b"{}")
    for content in hostile:
        with pytest.raises(NotApprovedError):
            judged(ApprovalFile(name="approval.json", content=content))
        judged(ApprovalFile(name="approval.json", content=content), said())
    with pytest.raises(NotApprovedError, match="101"):
        judged(*[said() for _ in range(101)])
    with pytest.raises(NotApprovedError, match="demo"):
        judged(said(demo_key()), policy=trusting(demo_key()))


# --------------------------------------------------------------------------- costs


def read_as_named(path: str) -> str:
    """Read a file as the kind that its name begins with."""
    kind = Path(path).name.partition("-")[0]
    if kind == "metadata":
        return read_checkpoint(path).restart
    if kind == "bundle":
        return str(len(open_bundle(Path(path).read_bytes(), subject="it").plan.positions))
    if kind == "plan":
        return str(len(read_plan(plan_bytes(Path(path)), subject="it").positions))
    content = files.read_bytes(path, "a file", fix="None.")
    read = files.load(content, kind, subject="it")
    return str(len(read.partitions if kind == "comparison" else read.topics[0].partitions))


def cheap(cost: Cost) -> bool:
    return cost.added_bytes < MAX_ADDED_BYTES and cost.seconds < MAX_SECONDS


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    return written(10_000)


def test_what_10_000_partitions_need_is_read(parts: dict[str, bytes], tmp_path: Path) -> None:
    contents = {
        "plan-wide": parts["plan"],
        "comparison-wide": parts["comparison"],
        "snapshot-wide": parts["old"],
        "bundle-wide": bundled(parts),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    folder = tmp_path / "metadata-100-mb"
    folder.mkdir()
    state = Op(uid="b", coordinator=coordinator(bytes(100 * MB), 1))
    (folder / "_metadata").write_bytes(metadata(kafka_source({number: number for number in range(10_000)}), state))

    costs = measure(read_as_named, [*(tmp_path / name for name in contents), folder])

    restart = costs.pop("metadata-100-mb")
    assert restart.answer.startswith("Savepoint 7: the job continues")
    assert {name: cost.answer for name, cost in costs.items()} == dict.fromkeys(contents, "10000")
    assert all(map(cheap, (restart, *costs.values()))), costs


def worst() -> Iterator[tuple[str, bytes]]:
    """Yield files that take most memory or time for their bytes, just inside and just outside the limits."""
    head, most = '{"format":"offsetwise/comparison","format_version":"1.0","x":', 1_499_000
    values = {
        "lists": "[],",
        "objects": '{"a":0},',
        "chains": '{"a":' * 28 + "{}" + "}" * 28 + ",",
    }
    for name, each in values.items():
        count = most // (each.count("{") + each.count("[") + 1)
        yield f"comparison-{name}", f"{head}[{each * count}0]}}".encode()
    keys = ",".join(f'"{number:06x}":[]' for number in range(most // 2 - 5))
    yield "comparison-keys", f'{head}{{{keys},"000000":0}}}}'.encode()
    yield "comparison-long", f'{head}"{"a" * (24 * MB - 300)}😀"}}'.encode()
    yield "comparison-wrong", f"{head.replace('x', 'partitions')}[{'0,' * most}0]}}".encode()
    yield "comparison-too-many", f"{head}[{'0,' * (19 * MB)}0]}}".encode()
    yield "comparison-deep", b"[" * (40 * MB)
    yield "bundle-bomb", gzip.compress(b'{"a":[' + b"{}," * (42 * MB) + b"0]}")
    mixed = random.Random(1).randbytes(400_000).hex().encode()
    yield "bundle-slow", gzip.compress(b'{"a":["' + mixed + b'"' + b",{}" * (18 * MB) + b"]}")


def test_no_file_costs_more_than_is_promised(tmp_path: Path) -> None:
    paths = []
    for name, content in worst():
        (tmp_path / name).write_bytes(content)
        paths.append(tmp_path / name)

    costs = measure(read_as_named, paths)

    assert set(costs) == {path.name for path in paths}
    for name, cost in costs.items():
        assert cost.answer.startswith("FileError: "), (name, cost)
        assert "Nothing was used from it." in cost.answer, (name, cost)
        assert cheap(cost), (name, cost)


# --------------------------------------------------------------------------- bundles


@attack(
    "B9",
    "review bundle: plan changed, digests, missing and foreign parts, cut off, second gzip member, ZIP, no editors",
    before=Verdict.HELD,
    without="the digests of the parts and of the whole, `extra=forbid`, `unused_data` in `review/bundle.py`",
)
def test_a_bundle_is_taken_whole_and_unchanged_or_not_at_all(scene: Scene, away: Scene) -> None:
    _, data = packed(scene)
    body = json.loads(gzip.decompress(data))
    changed: list[bytes] = [data[:-9], data + data, b"PK\3\4" + data, b"", gzip.compress(b"[]")]

    def change(edit: Callable[[dict[str, Any]], object]) -> None:
        copy = json.loads(json.dumps(body))
        edit(copy)
        changed.append(gzip.compress(json.dumps(copy, sort_keys=True).encode()))

    change(
        lambda it: it["parts"]["plan"].update(
            content=it["parts"]["plan"]["content"].replace('"replay": "0"', '"replay": "1"')
        )
    )
    change(lambda it: it["parts"]["plan"].update(sha256="0" * 64))
    change(lambda it: it["parts"].pop("old"))
    change(lambda it: it["parts"].update({"../../x": it["parts"]["plan"]}))
    change(lambda it: it["editors"].clear())
    change(lambda it: it["comments"].clear())
    for hostile in changed:
        answer = away.board.receive_bundle(RITA, hostile, name="<b>../../x")
        assert isinstance(answer, NotAllowed)
        assert "Nothing was used from it." in answer.why
    assert away.board.plans(RITA) == ()
    assert isinstance(away.board.receive_bundle(RITA, data), SavedVersion)


@attack(
    "B10",
    "review bundle bomb: 122 KB that unpack to 128 MB of values; brought by anybody, several at once",
    before=Verdict.BROKEN,
    without="any one of `MAX_RATIO`, `check_size`, and `why_not` and the turn in `Board._brought`",
    left="up to 512 MB and 10 s of one processor, for one reviewer at a time",
)
class TestBundleBombs:
    def test_a_bomb_is_refused_for_its_size_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bomb = gzip.compress(b'{"a":[' + b"{}," * 42_000_000 + b"0]}")
        assert len(bomb) < 200_000
        monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
        with pytest.raises(FileError, match=f"unpacks to more than {200 * len(bomb):,} bytes"):
            open_bundle(bomb, subject="the bundle")

    def test_many_values_are_counted_before_they_are_parsed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        luck = random.Random(2).randbytes(100_000).hex()
        many = gzip.compress(f'{{"a":["{luck}",{"0," * 1_600_000}0]}}'.encode())
        monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
        with pytest.raises(FileError, match="more than 1,500,000 values"):
            open_bundle(many, subject="the bundle")

    def test_the_role_is_asked_before_the_bundle_is_looked_at(
        self, scene: Scene, away: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, data = packed(scene)
        looked: list[str] = []
        monkeypatch.setattr(boards, "open_bundle", lambda *_, subject: looked.append(subject))
        for somebody in (None, ADA):
            answer = away.board.receive_bundle(somebody, data)
            assert isinstance(answer, NotAllowed)
            assert away.board.audit(RITA)[0].record.result == "refused"
        assert not looked

    def test_one_is_read_at_a_time(self, scene: Scene, away: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        _, data = packed(scene)
        monkeypatch.setattr(boards, "_WAIT_S", 0.01)
        second: list[object] = []

        def both(content: bytes, *, subject: str) -> Any:
            second.append(away.board.receive_bundle(RITA, data))
            return open_bundle(content, subject=subject)

        monkeypatch.setattr(boards, "open_bundle", both)
        assert isinstance(away.board.receive_bundle(RITA, data), SavedVersion)
        (refusal,) = second
        assert isinstance(refusal, NotAllowed)
        assert "only one is at a time" in refusal.why

    @with_cases("partitions", [1, 100])
    def test_bundles_of_real_plans_stay_far_inside_the_ratio(self, partitions: int) -> None:
        data = bundled(written(partitions))
        assert len(gzip.decompress(data)) < 100 * len(data)
        assert len(open_bundle(data, subject="it").plan.positions) == partitions


@attack(
    "D11",
    "viewer with `?play=reviewer` is a reviewer of the demonstration, and takes in bundles",
    before=Verdict.BROKEN,
    without="the condition on `demo` in `review/allowing.py`",
)
def test_the_demonstration_takes_no_bundle_from_outside(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, data = packed(scene)
    monkeypatch.setattr(boards, "open_bundle", lambda *_, **__: pytest.fail("it was looked at"))
    with open_store(f"sqlite:///{tmp_path / 'demo.sqlite'}") as store:
        board: Board = demo_board(store.reviews, clock=lambda: NOW)
        for role, person in demo_people(NOW).items():
            assert board.why_not(person, Verb.RECEIVE_BUNDLE) is not None
            answer = board.receive_bundle(person, data)
            assert isinstance(answer, NotAllowed), role
            assert "takes in no review bundle" in answer.why
        assert board.plans(demo_people(NOW)[Role.AUTHOR]) == ()


def test_a_time_that_no_calendar_has_is_refused_or_shown_as_it_is() -> None:
    small = written(1)
    for at_ms in (2**62, -1, 253_402_300_800_000):
        with pytest.raises(FileError, match=r"submission\.at_ms is wrong"):
            open_bundle(bundled(small, at_ms=at_ms), subject="the bundle")
    assert (at(2**62), utc(2**62), at(-1)) == (f"{2**62} ms", f"{2**62} ms", "-1 ms")
    for text in ("10000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "soon", "2026-02-30"):
        for kind, name, key in (("plan", "plan", "drafted_at"), ("snapshot", "old", "taken_at")):
            body = json.loads(small[name])
            assert key in body
            with pytest.raises(FileError, match=rf"{key} is wrong.*years 1970 to 9999"):
                files.load(json.dumps(body | {key: text}), kind, subject="it")


# --------------------------------------------------------------------------- time that grows


class Counted(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def checkpoint_with(folder: Path, sources: int) -> Path:
    for name, text in {
        "metadata": '{"id":"a"}\n',
        "offsets/0": "v1\n{}\n" + "-\n" * sources,
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@attack(
    "B11",
    "an offset file of 80 KB (40,000 lines) keeps `inspect` busy for 38 s",
    before=Verdict.BROKEN,
    without="`MAX_SOURCES`; the lines of a file by their ids",
)
class TestOffsetFiles:
    def test_too_many_sources_are_damage_and_take_no_time(self, tmp_path: Path) -> None:
        folders = [checkpoint_with(tmp_path / str(count), count) for count in (20_000, 40_000)]
        few, many = (calls(lambda at=folder: read_checkpoint(str(at))) for folder in folders)  # type: ignore[misc]
        assert many < few + 1_000
        told = call("inspect", str(folders[1]), "--json")
        assert told.code == 0
        (problem,) = (each for each in json.loads(told.out)["problems"] if "40,000" in each["message"])
        assert problem["code"] == "CHECKPOINT_DAMAGED"
        assert "expected at most 256 sources, found 40,000" in problem["message"]

    def test_the_sources_that_a_query_may_have_take_time_in_proportion(self, tmp_path: Path) -> None:
        few, many = (checkpoint_with(tmp_path / str(count), count) for count in (128, 256))
        assert len(read_checkpoint(str(many)).sources) == 256
        nothing = calls(lambda: read_checkpoint(str(checkpoint_with(tmp_path / "1", 1))))
        once, twice = (calls(lambda at=folder: read_checkpoint(str(at))) - nothing for folder in (few, many))  # type: ignore[misc]
        assert twice < 2.3 * once

    def test_the_line_of_a_source_is_looked_up_and_not_searched_for(self) -> None:
        head, parsed = parse_offsets(b"v1\n{}\n" + b"-\n" * 256)
        lines: Lines = {Counted(name): replace(line, id=Counted(name)) for name, line in parsed.items()}
        Counted.compared = 0

        sources, _, _ = resolve_positions(decide_restart([0], [0]), {0: head}, {0: lines}, InitialOffsets())

        assert len(sources) == 256
        assert Counted.compared < 10 * 256

    @with_cases("line", ["[" * 100_000, '{"a":' + "[]," * 600_000 + "0}", "9" * 1_000_000])
    def test_a_line_that_is_a_bomb_is_damage_of_its_source(self, tmp_path: Path, line: str) -> None:
        folder = checkpoint_with(tmp_path, 1)
        (folder / "offsets/0").write_text(f"v1\n{{}}\n{line}\n", encoding="utf-8")
        read = read_checkpoint(str(folder))
        assert not any(source.positions for source in read.sources)


@attack(
    "B12",
    "mutants of real savepoints and offset files; deep JSON, 10^6 digits, blanks and quotes without end",
    before=Verdict.HELD,
    without="the bounds of `Cursor.skip` in `plugins/flink/engine/binary.py` "
    "(those of `Cursor.count` alone: `skip` holds)",
)
def test_mutants_of_a_savepoint_are_read_or_refused_in_words(tmp_path: Path) -> None:
    real = Path("tests/data/checkpoints/flink-2.2-enumerator-v3/_metadata").read_bytes()
    luck = random.Random(12)
    path = tmp_path / "_metadata"
    most = 0
    plain = calls(lambda: read_checkpoint("tests/data/checkpoints/flink-2.2-enumerator-v3"))
    for number in range(1_000):
        made = bytearray(real)
        for _ in range(luck.choice((1, 1, 2, 8))):
            where = luck.randrange(len(made))
            made[where] = luck.choice((0, 1, 0x7F, 0x80, 0xFF, luck.randrange(256)))
        if number % 5 == 0:
            del made[luck.randrange(len(made)) :]
        path.write_bytes(made)

        def read() -> None:
            with suppress(OffsetwiseError):
                read_checkpoint(str(tmp_path))

        if number % 50:
            read()
        else:
            most = max(most, calls(read))
    assert most < 20 * plain


# --------------------------------------------------------------------------- YAML


def migration(folder: Path, more: str) -> Path:
    path = folder / "migration.yaml"
    path.write_text(
        "name: it\n"
        'source: {name: a, properties: {bootstrap.servers: "127.0.0.1:1"}}\n'
        'target: {name: b, properties: {bootstrap.servers: "127.0.0.1:2"}}\n' + more,
        encoding="utf-8",
    )
    return path


YAML: Final = {
    "an alias": ("groups: [&a x, *a]", "aliases are not used"),
    "a tag": ("groups: [!!python/object/apply:os.system [x]]", "could not determine a constructor"),
    "a merge key": ("topics: {<<: {policy: default}}", "not a text"),
    "depth": ("groups: " + "[" * 5_000, "nested too deeply"),
    "two documents": ("---\nname: b", "another document"),
    "a duplicate key": ("name: b", "appears twice"),
    "1.1 MB": ("# " + "x" * 1_100_000, "at most 1048576 bytes"),
    "a hexadecimal name": ("groups: [0x10]", "groups.0"),
    "a million digits": ("content: {window_records: " + "9" * 900_000 + "}", "more than 64 characters"),
}


@attack(
    "B13",
    "YAML: aliases, tags, merge keys, depth, two documents, duplicate keys, 1.1 MB, hex and long numbers",
    before=Verdict.HELD,
    without="`_Loader.compose_node`, `construct_mapping`, `MAX_BYTES` and `SafeLoader` in `strict_yaml`",
)
@with_cases("what", YAML)
def test_yaml_that_is_more_than_keys_and_values_is_refused(tmp_path: Path, what: str) -> None:
    more, why = YAML[what]
    with pytest.raises(ConfigError, match=why):
        load_migration(migration(tmp_path, more))


@attack(
    "B14",
    "YAML: `1:59:59…` of 600 KB takes 11 s; 20,000 mapped topics 14 s",
    before=Verdict.WEAK,
    without="`strict_yaml._number`; `config.fields.repeated` and `TopicSettings._old_names`",
)
class TestTimeInYaml:
    @with_cases("number", ["1" + ":59" * 200_000, "1" + ":59" * 200_000 + ".5", "-1:30", "9" * 100])
    def test_a_number_of_base_60_is_refused_unread(self, tmp_path: Path, number: str) -> None:
        with pytest.raises(ConfigError, match="in quotes if a text is meant"):
            load_migration(migration(tmp_path, f"content: {{window_records: {number}}}"))

    def test_many_mapped_topics_take_time_in_proportion(self) -> None:
        Counted.compared = 0
        names = {f"old-{number}": Counted(f"new-{number}") for number in range(2_000)}
        made = TopicSettings.model_construct(map=names)
        made._one_to_one()  # type: ignore[operator]
        assert [made.origin(name, "old") for name in names.values()] == [*names]
        assert Counted.compared < 10 * len(names)


# --------------------------------------------------------------------------- what stays readable


def test_what_the_tool_writes_it_reads_back(parts: dict[str, bytes]) -> None:
    plan: Plan = read_plan(parts["plan"], subject="it")
    assert files.dump(plan).encode() == parts["plan"]
    assert zlib.crc32(parts["plan"]) == zlib.crc32(files.dump(replace(plan)).encode())
