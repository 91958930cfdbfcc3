"""Policy programs in their sandbox: what is refused by its text, and what a hostile one costs: a fault in words, never the caller."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.sandbox import host
from workers.sandbox.check import MAX_BYTES, ProgramError, check_program, read_program
from workers.sandbox.host import Program, bubblewrap

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs run where there are POSIX limits")

REPOSITORY = Path(__file__).parents[2]
ACT = "def act(view, memory):\n    return 'U'\n"
LATE_S = 0.3
"""A deadline for programs that never answer."""
DEADLINE_S = 20.0


def body(*lines: str) -> str:
    """A program whose act has these lines."""
    return "def act(view, memory):\n" + "".join(f"    {line}\n" for line in lines)


# What a program may be.

GOOD = '''
LIMIT = 3
best: "Anything[int]" = None


def near(cell, foods: list, *, far=9) -> int:
    """Distance to the nearest."""
    return min((abs(x - cell[0]) + abs(y - cell[1]) for x, y in foods), default=far)


def act(view, memory):
    memory["seen"] = memory.get("seen", 0) + 1
    counts = collections.Counter(view["word"])
    queue = collections.deque([(0, "a")])
    heap = []
    heapq.heappush(heap, (math.floor(2.5), "b"))
    total, i = 0, 0
    while i < LIMIT:
        i += 1
        if i == 2:
            continue
        elif i > 90:
            break
        total += i
    else:
        total = -total
    try:
        raise ValueError("x")
    except (ValueError, KeyError) as error:
        text = f"{error!r:>12} {total:{3 + 1}d} %s" % "y"
    key = lambda pair: -pair[1]
    ordered = sorted({"p": 1, "q": 2}.items(), key=key)
    first, *rest = [letter.upper() for letter in "abc" if letter != "b"]
    if (n := near((0, 0), [(3, 4)])) != 7 or not rest or ordered[0][0] != "q" or counts.most_common(1)[0][0] != "l":
        return None
    del queue[0]
    global best
    best = {**memory}
    assert heap[0][0] == 2 and text and n
    return view["word"][::-1][0] + first + str(memory["seen"])
'''


def test_what_a_program_needs_is_allowed_and_does_what_python_does() -> None:
    program = Program(GOOD)
    try:
        assert [program.call({"word": "hello"}).value for _ in range(2)] == ["oA1", "oA2"]
    finally:
        program.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import os", "line 1: import is not part of what a program may be; math, heapq, collections are there without it"),
        ("from os import system", "line 1: import"),
        ("x = ().__class__", "line 1: .__class__"),
        ("x = f'{().__class__}'", "line 1: .__class__"),
        ("x = f'{1:{().__class__}}'", "line 1: .__class__"),
        ("x = '{0.__class__}'.format(1)", "line 1: .format is not allowed; use an f-string"),
        ("x = '{a.__class__}'.format_map({})", "line 1: .format_map is not allowed"),
        ("x = map(str.format, ['{0.__class__}'], [1])", "line 1: .format is not allowed"),
        ("x = (y for y in [1])\nz = x.gi_frame", "line 2: .gi_frame"),
        ("x = act.func_globals", "line 1: .func_globals"),
        ("x = collections.abc", "line 1: .abc"),
        ("x = math.__loader__", "line 1: .__loader__"),
        ("act.cache = {}", "line 1: .cache is set"),
        ("open('/etc/passwd')", "line 1: 'open' is no name a program may use"),
        ("x = eval", "line 1: 'eval'"),
        ("x = type('A', (), {})", "line 1: 'type'"),
        ("x = getattr(1, 'real')", "line 1: 'getattr'"),
        ("x = __builtins__", "line 1: '__builtins__' begins with two underscores"),
        ("__import__ = 1", "line 1: '__import__' begins"),
        ("def f(__a): pass", "line 1: '__a' begins"),
        ("x = dict(__class__=1)", "line 1: '__class__' begins"),
        ("def f():\n    global __name__", "line 2: '__name__' begins"),
        ("x = _\uff3fclass", "line 1: '__class' begins"),
        ("class A: pass", "line 1: class is not part of what a program may be; use tuples, dicts and functions"),
        ("def f():\n    yield 1", "line 2: yield"),
        ("x = lambda: (yield)", "line 1: yield"),
        ("async def f(): pass", "line 1: async def"),
        ("with open('x') as f: pass", "line 1: with"),
        ("match 1:\n    case int(__class__=x): pass", "line 1: match"),
        ("@act\ndef f(): pass", "line 2: a function has no decorator"),
        ("try:\n    pass\nfinally:\n    pass", "line 1: finally"),
        ("x = (", "line 1: '(' was never closed"),
        ("x = 1 +", "line 1: invalid syntax"),
        ("x = '\0'", "null bytes"),
        ("x = '\ud800'", "surrogate"),
        ("#" * MAX_BYTES, f"bytes; {MAX_BYTES} are allowed"),
        ("x = [" + "-0," * 9000 + "]", "line 1: the program has more than 20000 parts"),
    ],
)  # fmt: skip
def test_what_is_no_program_is_refused_with_its_line_and_construct(line: str, said: str) -> None:
    with pytest.raises(ProgramError) as refused:
        check_program(line + "\n" + ACT)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "text",
    ["-" * 30_000 + "1", "(" * 30_000, "y" + ".a" * 10_000, "1" + "+1" * 12_000, "not " * 7000 + "1", "lambda:" * 4500 + "1", "1 if y else " * 2500 + "1",
     "y" + "()" * 15_000, "y" + "[0]" * 9000, "f'{" * 3000, "{1:" * 9000, "1\nif y: pass\n" + "elif y: pass\n" * 2000, "1\n" + "".join(" " * i + "if 1:\n" for i in range(99))],
)  # fmt: skip
def test_text_nested_without_end_is_refused_and_harms_nobody(text: str) -> None:
    with pytest.raises(ProgramError):
        check_program(f"x = {text}\n{ACT}")


@pytest.mark.parametrize("entry", ["", "def acts(view, memory): pass\n", "def act(view): pass\n", "def act(a, b, c): pass\n", "def act(a, b, *, c): pass\n", "if 1:\n    def act(view, memory): pass\n"])
def test_there_must_be_an_act_of_two_arguments(entry: str) -> None:
    with pytest.raises(ProgramError, match=r"act\(view, memory\)"):
        check_program(entry or "x = 1\n")


@pytest.mark.parametrize("entry", ["def act(view, memory, depth=5): return 'U'\n", "def act(*given): return 'U'\n"])
def test_more_may_be_taken_than_is_given(entry: str) -> None:
    check_program(entry)


# Where it stands in a thinker's text.


@pytest.mark.parametrize(
    ("text", "cut", "why", "source"),
    [
        (f"So:\n```python\n{ACT}```\nDone.", False, None, ACT),
        (f"~~~~\n{ACT}~~~\n~~~~", False, "invalid", None),
        (f"```\nx = 1\n```\n```py\n{ACT}```\n```\nact(board, {{}})\n```\n", False, None, ACT),
        (f"```\n{ACT.replace('U', 'D')}```\nBetter:\n```\n{ACT}```", True, None, ACT),
        (f"<think>\n```\n{ACT}```\n</think>Up!", False, "invalid", None),
        (f"```\n{ACT}```\nBetter:\n```\n{ACT}", False, "truncated", None),
        ("First I think", True, "truncated", None),
        ("Go up.", False, "invalid", None),
        ("  \n", True, "none", None),
        (f"```python\r\n{ACT.replace(chr(10), chr(13) + chr(10))}```\r\n", False, None, ACT),
        (f"```\nimport os\n{ACT}```", False, "invalid", None),
    ],
)
def test_the_last_block_that_defines_act_is_the_program(text: str, cut: bool, why: str | None, source: str | None) -> None:
    reading = read_program(text, cut=cut)
    assert (reading.why, reading.source) == (why, source)
    assert bool(reading.what) == (why == "invalid")


# What a hostile one costs.


@pytest.fixture
def calls() -> Iterator[Caller]:
    with Caller() as caller:
        yield caller


class Caller:
    """Makes programs, and ends them all."""

    def __init__(self) -> None:
        self.programs: list[Program] = []

    def make(self, source: str, **options: object) -> Program:
        self.programs.append(Program(source, **{"call_s": LATE_S, "wrapped": False, **options}))  # type: ignore[arg-type]
        return self.programs[-1]

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.programs:
            program.close()


@pytest.mark.parametrize(
    ("source", "said", "died"),
    [
        (body("while True: pass"), "the program did not answer within 0.3 s", True),
        (body("return sum(1 for _ in iter(int, 1))"), "the program did not answer within 0.3 s", True),
        (body("return 10 ** 10 ** 9"), "the program did not answer within 0.3 s", True),
        (body("try:", "    while True: pass", "except:", "    pass"), "the program did not answer within 0.3 s", True),
        (body("return [0] * 10 ** 10"), "the program failed: MemoryError (line 2)", False),
        (body("return f'{1:>9999999999}'"), "the program failed: MemoryError (line 2)", False),
        (body("return act(view, memory)"), "the program failed: RecursionError: maximum recursion depth exceeded (line 2)", False),
        (body("x = []", "for _ in range(10 ** 5): x = [x]", "return repr(x)"), "the program failed: RecursionError: maximum recursion depth exceeded", False),
        (body("raise ValueError('x' * 10 ** 7)"), f"the program failed: ValueError: {'x' * 100}", False),
        (body("raise KeyError('\\x1b[2J\\n\\ud800')"), "the program failed: KeyError: ", False),
        ("def f(x):\n    return x['no']\n" + body("return f(view)"), "the program failed: KeyError: 'no' (line 2)", False),
        (body("return ['U']"), "act() returned a list, expected the letter of an action", False),
        (body("pass"), "act() returned nothing", False),
        ("x = 1 / 0\n" + ACT, "the program did not load: ZeroDivisionError: division by zero (line 1)", True),
        ("return 1\n" + ACT, "the program did not load: SyntaxError: 'return' outside function (line 1)", True),
        ("while True: pass\n" + ACT, "the program did not load: did not answer within 0.3 s", True),
    ],
)  # fmt: skip
def test_hostile_program_costs_a_fault_in_words(source: str, said: str, died: bool, calls: Caller) -> None:
    program = calls.make(source)
    first = program.call({})
    assert first.value is None
    assert first.fault.startswith(said)
    assert (first.died, len(first.fault) < 300, first.fault.isprintable()) == (died, True, True)
    # And again: whoever died was started anew, and says the same.
    assert program.call({}) == first


def test_giant_answer_is_cut(calls: Caller) -> None:
    assert calls.make(body("return 'U' * 10 ** 7")).call({}).value == "U" * 200


def test_memory_is_kept_from_call_to_call_and_lost_with_the_process(calls: Caller) -> None:
    program = calls.make(body("memory['n'] = memory.get('n', 0) + 1", "while view['loop']: pass", "return str(memory['n'])"))
    assert [program.call({"loop": False}).value for _ in range(3)] == ["1", "2", "3"]
    assert program.call({"loop": True}).died
    assert program.call({"loop": False}).value == "1"


def test_sets_of_strings_are_walked_through_alike_in_every_process(calls: Caller) -> None:
    source = body("return ''.join({chr(97 + i) * 2 for i in range(20)})")
    assert len({calls.make(source).call({}).value for _ in range(3)}) == 1


def test_view_is_the_programs_own_copy_and_may_be_large(calls: Caller) -> None:
    view = {"cells": [[x, 1.5, "é", None, True] for x in range(20_000)]}
    program = calls.make(body("x = view['cells'].pop()", "view.clear()", "return f'{x}'"), call_s=5)
    assert program.call(view).value == "[19999, 1.5, 'é', None, True]"
    assert len(view["cells"]) == 20_000


def test_somebody_hears_a_beat_while_a_program_is_waited_for(calls: Caller) -> None:
    beats: list[float] = []
    assert calls.make(body("while True: pass"), beat=lambda: beats.append(time.monotonic())).call({}).died
    assert len(beats) >= 4


# Behind the check: the child by itself, as if a program had got past it.

OUTSIDE = """
def outside(name):
    try:
        1 / 0
    except ZeroDivisionError as error:
        frame = error.__traceback__.tb_frame
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals[name]

"""


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "check_program", lambda source: None)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("open('/etc/passwd')", "NameError: name 'open' is not defined"),
        ("import os", "ImportError: __import__ not found"),
        ("outside('builtins').open('/etc/passwd')", "PermissionError: open is not for programs"),
        ("outside('os').open('/etc/passwd', 0)", "PermissionError: open is not for programs"),
        ("outside('os').listdir('/')", "PermissionError: os.listdir is not for programs"),
        ("outside('os').system('id')", "PermissionError: os.system is not for programs"),
        ("outside('os').fork()", "PermissionError: os.fork is not for programs"),
        ("outside('os').posix_spawn('/bin/true', ['true'], {})", "PermissionError: os.posix_spawn is not for programs"),
        ("outside('os').execv('/bin/true', ['true'])", "PermissionError: os.exec is not for programs"),
        ("outside('os').kill(outside('os').getppid(), 9)", "PermissionError: os.kill is not for programs"),
        ("outside('ctypes').CDLL(None)", "PermissionError: ctypes.dlopen is not for programs"),
        ("outside('resource').setrlimit(7, (9, 9))", "PermissionError: resource.setrlimit is not for programs"),
        ("outside('builtins').__import__('socket')", "PermissionError: import is not for programs"),
        ("outside('builtins').__import__('subprocess')", "PermissionError: import is not for programs"),
        ("outside('builtins').compile('1', '', 'eval')", "PermissionError: compile is not for programs"),
        ("act.__code__", "PermissionError: object.__getattr__ is not for programs"),
        ("[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('id')", "PermissionError: os.system"),
        ("outside('os').dup(1)", "OSError: "),
    ],
)  # fmt: skip
def test_what_gets_past_the_check_is_refused_by_the_child(line: str, said: str, calls: Caller) -> None:
    assert calls.make(OUTSIDE.lstrip() + body(line)).call({}).fault.startswith(f"the program failed: {said}")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("outside('os')._exit(0)", "the program ended its process"),
        ("outside('sys').exit(3)", "the program failed: SystemExit: 3"),
        ("outside('signal').raise_signal(outside('signal').SIGSEGV)", "the program ended its process by SIGSEGV"),
        ("outside('os').write(1, b'x' * 60000)", "the program answered with more than 4096 bytes"),
        ("outside('os').write(1, b'[' * 3000 + b'\\n')", "the program answered with what is no answer"),
        ("outside('os').write(1, b'[\"value\", 7]\\n')", "the program answered with what is no answer"),
        ("outside('os').close(1)", "the program "),
    ],
)  # fmt: skip
def test_what_no_hook_sees_ends_the_child_and_nothing_else(line: str, said: str, calls: Caller) -> None:
    assert calls.make(OUTSIDE + body(line, "while True: pass")).call({}).fault.startswith(said)


@pytest.mark.usefixtures("unchecked")
def test_program_that_answers_for_later_calls_is_not_believed(calls: Caller) -> None:
    program = calls.make(OUTSIDE + body("outside('os').write(1, b'[\"value\", \"D\"]\\n' * 2)", "return 'U'"))
    assert program.call({}).value == "D"
    assert program.call({}).fault == "the program spoke when it was not asked"


# What the child is given, and how it ends.

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def pid_of(program: Program) -> int:
    assert program._child is not None
    return program._child._process.pid


def ended(pid: int) -> bool:
    """Wait until a process is gone, one of ours or not; False after the deadline."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], DEADLINE_S)[0])
    finally:
        os.close(watch)


@linux
def test_child_has_three_descriptors_one_variable_and_a_session_of_its_own(calls: Caller) -> None:
    program = calls.make(ACT)
    assert program.call({}).value == "U"
    process = Path(f"/proc/{pid_of(program)}")
    assert sorted(os.listdir(process / "fd")) == ["0", "1", "2"]
    assert (process / "environ").read_bytes() == b"PYTHONHASHSEED=0\0"
    assert os.getsid(pid_of(program)) == pid_of(program)
    limits = (process / "limits").read_text()
    assert [next(line for line in limits.splitlines() if line.startswith(name)).split()[-3:-1] for name in ("Max file size", "Max address space")] == [
        ["0", "0"],
        ["536870912", "536870912"],
    ]


@linux
def test_closed_and_forgotten_programs_leave_no_process(calls: Caller) -> None:
    closed, forgotten = calls.make(ACT), Program(ACT, wrapped=False)
    pids = []
    for program in (closed, forgotten):
        assert program.call({}).value == "U"
        pids.append(pid_of(program))
    closed.close()
    closed.close()
    del program, forgotten
    assert [ended(pid) for pid in pids] == [True, True]


@linux
@pytest.mark.parametrize("line", ["while True: pass", "return 'U'"], ids=["busy", "idle"])
def test_child_goes_with_a_parent_that_is_killed(line: str) -> None:
    code = (
        "import sys\nfrom workers.sandbox.host import Program\n"
        f"program = Program({body(line)!r}, call_s=60, wrapped=False)\nprogram.load()\nprint(program._child._process.pid, flush=True)\nprogram.call({{}})\nsys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        began = time.monotonic()
        assert ended(child)
        assert time.monotonic() - began < 1
    finally:
        parent.kill()
        parent.communicate()


# Bubblewrap.


@linux
def test_bubblewrap_that_does_not_work_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("broken", "#!/bin/sh\nexit 1\n"), ("none", None)):
        folder = tmp_path / name
        folder.mkdir()
        if text is not None:
            (folder / "bwrap").write_text(text)
            (folder / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        bubblewrap.cache_clear()
        assert bubblewrap() == ()
    bubblewrap.cache_clear()


@linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.usefixtures("unchecked")
def test_wrapped_child_sees_no_files_and_goes_when_it_is_late(calls: Caller) -> None:
    if not bubblewrap():
        pytest.skip("bubblewrap may not do its work here")
    program = calls.make(OUTSIDE + body("outside('os').stat(view['path'])", "return 'there'"), wrapped=True, call_s=5)
    assert program.call({"path": "/usr"}).value == "there"
    assert program.call({"path": "/etc/passwd"}).fault.startswith("the program failed: FileNotFoundError")
    lonely = calls.make(OUTSIDE + body("return str(outside('os').getppid())"), wrapped=True, call_s=5)
    # Numbers of its own: no other process can be named.
    assert lonely.call({}).value in ("0", "1")
    late = calls.make(body("while True: pass"), wrapped=True)
    assert late.load().fault == ""
    pid = pid_of(late)
    assert late.call({}).died
    assert ended(pid)
