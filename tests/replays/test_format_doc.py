"""docs/replay-format.md is enough to read and to write a replay, and says what the structs say."""

from __future__ import annotations

import itertools
import json
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

from replays import events as ev
from replays import format as fmt
from replays.reader import open_replay

DATA = Path(__file__).parent / "data"
DOC = Path(__file__).parents[2] / "docs" / "replay-format.md"


def the_reader() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    return str(code)


def run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    # -I: nothing of this repository can be imported.
    return subprocess.run([sys.executable, "-I", "-c", script, str(path)], capture_output=True, text=True, timeout=60, check=False, encoding="utf-8")


def test_the_reader_of_the_page_reads_every_event_without_us(tmp_path: Path) -> None:
    code = the_reader()
    assert len(code.splitlines()) <= 31
    assert "replays" not in code
    done = run(code, DATA / "v1-snake.rtr")
    assert done.returncode == 0, done.stderr
    with open_replay(DATA / "v1-snake.rtr") as replay:
        expected = [(event.tick, str(event.__struct_config__.tag)) for event in replay]
    assert [(int(tick), kind) for tick, kind, *_ in (line.split(" ") for line in done.stdout.splitlines())] == expected


def test_the_reader_of_the_page_notices_damage(tmp_path: Path) -> None:
    data = bytearray((DATA / "v1-snake.rtr").read_bytes())
    for at in (len(data) // 2, len(data) // 3):
        spoiled = tmp_path / "a.rtr"
        spoiled.write_bytes(data[:at] + bytes(512) + data[at + 512 :])
        done = run(the_reader(), spoiled)
        assert done.returncode == 1
        assert "damaged" in done.stderr


def test_a_file_written_after_the_page_alone_is_opened(tmp_path: Path) -> None:
    def record(kind: int, tick: int, events: list[dict[str, Any]], squeeze: bool) -> bytes:
        payload = msgpack.packb(events)
        if squeeze:
            payload = zlib.compress(payload)
        crc = zlib.crc32(payload, zlib.crc32(struct.pack("<BQB", kind, tick, int(squeeze))))
        return bytes(msgpack.packb([0x52544B, kind, tick, crc.to_bytes(4, "little"), int(squeeze), payload]))

    header = {"format": "rtdesk.replay", "version": 1, "kind": "episode", "tick": 0, "game": "snake", "load": "easy", "seed": 1, "agent": "mine"}
    tick = {"kind": "tick", "tick": 70000, "view": {"a": [1]}, "text": "hello"}
    end = {"kind": "end", "tick": 70000, "done_reason": "quit", "totals": {"ticks": 1, "score": 0, "raw_score": 0}}
    path = tmp_path / "a.rtr"
    path.write_bytes(msgpack.packb(header) + record(0, 70000, [tick], True) + record(0, 70000, [end], False))
    with open_replay(path) as replay:
        assert list(replay) == [
            ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="mine"),
            ev.Tick(tick=70000, view={"a": [1]}, text="hello"),
            ev.End(tick=70000, done_reason="quit", totals=ev.Totals(ticks=1, score=0.0, raw_score=0.0)),
        ]


def default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else msgspec.NODEFAULT
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT:
        return "required"
    return "nil" if value is None else json.dumps(value)


@pytest.mark.parametrize("struct_type", [ev.Event, *ev.Event.__subclasses__(), ev.Backend, ev.Match, ev.Parent, ev.Part, ev.Totals])
def test_every_field_stands_in_the_page_with_its_default(struct_type: type[msgspec.Struct]) -> None:
    text = DOC.read_text(encoding="utf-8")
    title = "Every event" if struct_type is ev.Event else struct_type.__struct_config__.tag or struct_type.__name__
    (section,) = re.findall(rf"^### {title}\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    listed = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", section, re.MULTILINE))
    inherited = set() if struct_type is ev.Event else {"tick", "seq", "t_ns", "at"}
    listed.pop("kind", None)
    fields = msgspec.structs.fields(struct_type)
    own = {field.encode_name: default(field) for field in fields if not (issubclass(struct_type, ev.Event) and field.name in inherited)}
    assert listed == own


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    text = " ".join(DOC.read_text(encoding="utf-8").split())
    expected = (
        f"header {fmt.MAX_HEADER >> 20} MiB, payload {fmt.MAX_PAYLOAD >> 20} MiB stored and {fmt.MAX_INFLATED >> 20} MiB inflated, "
        f"{fmt.MAX_OBJECTS:,} objects and {fmt.MAX_EVENTS:,} events in a payload, {fmt.MAX_DEPTH} levels of nesting, {fmt.MAX_RECORDS:,} records"
    )
    assert expected in text
    assert f"every {fmt.KEYFRAME_EVERY} ticks" in text
    assert f"from tick {fmt.KEYFRAME_SPARSE} on" in text


def test_keyframes_grow_rarer_so_that_a_long_file_grows_with_its_ticks_and_not_with_their_square() -> None:
    due = [tick for tick in range(200_000) if fmt.keyframe_due(tick)]
    assert due[:3] == [31, 63, 95]
    # A keyframe carries a few characters for every tick before it.
    assert sum(due) / 200_000 < 256
    assert max(later - earlier for earlier, later in itertools.pairwise(due)) == 1024
