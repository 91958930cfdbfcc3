"""What a policy program may be: a subset of Python, judged on the text and its syntax tree before anything runs.

A program is one function `act(view, memory)` and whatever helps it. `view` is the board as plain data, `memory` a dict that it keeps from
call to call, and what it returns is the action. The subset has functions, loops, conditions, try and except, lambdas, comprehensions,
f-strings, and all builtin containers; it has no import, class, yield, async, with, match, decorator or finally. `math`, `heapq` and
`collections` are there already. Annotations are not read.

It is a list of what is allowed, not of what is forbidden: every kind of node, every attribute and every name a program uses must be on it,
so what Python learns later is not let in by itself. The one thing that surprises: `str.format` is out, because it reads attributes that no
syntax tree shows; f-strings are in, because theirs are seen.

Passing is no proof of good intentions. It keeps accidents and easy tricks out; the child process is what holds the rest.
"""

from __future__ import annotations

import ast
import collections
import math
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from workers.answers import strip_think

__all__ = ["BUILTINS", "MAX_BYTES", "MODULES", "ProgramError", "Reading", "check_program", "read_program"]

MAX_BYTES = 32_768
"""Greatest size of a program, UTF-8."""
MAX_NODES = 20_000
MAX_DEPTH = 100
"""How deep a syntax tree may be nested; an `elif` is one level below its `if`."""

BUILTINS = (
    *("abs", "all", "any", "bool", "chr", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "isinstance", "iter", "len"),
    *("list", "map", "max", "min", "next", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple"),
    *("zip", "ArithmeticError", "AssertionError", "AttributeError", "Exception", "IndexError", "KeyError", "LookupError", "OverflowError"),
    *("RecursionError", "RuntimeError", "StopIteration", "TypeError", "ValueError", "ZeroDivisionError"),
)
"""Builtin names a program may use. `hash` and `id` differ between two runs; `type` makes classes; `print` has nobody to read it."""


def _public(thing: object) -> tuple[str, ...]:
    return tuple(name for name in dir(thing) if not name.startswith("_"))


MODULES = {
    "math": _public(math),
    "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "merge", "nlargest", "nsmallest"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
}
"""Module -> the names in it a program is handed. Not the modules themselves: `collections.abc.sys` is one of their names."""

_UNSEEN = {"format", "format_map"}
_ATTRIBUTES = {
    name
    for kind in (str, int, float, list, tuple, dict, set, frozenset, collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict)
    for name in _public(kind)
} - _UNSEEN | {name for names in MODULES.values() for name in names}

_NODES: tuple[type[ast.AST], ...] = (
    *(ast.Module, ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg, ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.AnnAssign),
    *(ast.For, ast.While, ast.If, ast.Try, ast.ExceptHandler, ast.Raise, ast.Assert, ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break),
    *(ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute),
    *(ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice),
    *(ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)
_CALLED = {
    "ImportFrom": "import", "ClassDef": "class", "AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with",
    "YieldFrom": "yield from", "TryStar": "except*",
}  # fmt: skip
_INSTEAD = {
    "import": f"{', '.join(MODULES)} are there without it",
    "class": "use tuples, dicts and functions",
    "yield from": "build a list, or use a generator expression",
    "yield": "build a list, or use a generator expression",
}


class ProgramError(ValueError):
    """A program is refused: the message names the line and the construct."""


class Reading(NamedTuple):
    """What a thinker's text was read as: a program, or why there is none."""

    source: str | None = None
    why: str | None = None
    """none: no text at all; truncated: cut before the program's end; invalid: no program, or one that is refused."""
    what: str = ""
    """For invalid, the sentence that says what is wrong."""


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_ENTRY = re.compile(r"^def[ \t]+act\b", re.MULTILINE)


def read_program(text: str, *, cut: bool = False) -> Reading:
    """Return the program in `text`, the visible answer of a thinker: the last fenced block that defines `act`. No text makes it raise.

    `cut` says that a budget ended the text. A block that is left open is a program that was cut, whoever cut it.

    >>> read_program("Up it is.\\n```python\\ndef act(view, memory):\\n    return 'U'\\n```\\n").source
    "def act(view, memory):\\n    return 'U'\\n"
    """
    text = strip_think(text).replace("\r\n", "\n").replace("\r", "\n")
    blocks = [block for block in _blocks(text) if _ENTRY.search(block[0])]
    if not blocks:
        if not text.strip():
            return Reading(why="none")
        return Reading(why="truncated") if cut else Reading(why="invalid", what="there is no block between ``` lines that defines act(view, memory)")
    source, closed = blocks[-1]
    if not closed:
        return Reading(why="truncated")
    try:
        check_program(source)
    except ProgramError as error:
        return Reading(why="invalid", what=str(error))
    return Reading(source)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (inside, whether it was closed) of each fenced block."""
    mark = ""
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if not mark:
            mark, lines = (fence[1], []) if fence else ("", lines)
        elif fence and fence[1].startswith(mark) and not fence[2]:
            yield "".join(lines), True
            mark = ""
        else:
            lines.append(line + "\n")
    if mark:
        yield "".join(lines), False


def check_program(source: str) -> None:
    """Raise ProgramError, with the line and the construct, if `source` is no program of the subset."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise ProgramError("half a surrogate pair is in the program; give whole characters") from None
    if size > MAX_BYTES:
        raise ProgramError(f"the program has {size} bytes; {MAX_BYTES} are allowed")
    _check_tree(_parsed(source))


def _parsed(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # What Python finds odd in it is no business of whoever started the desk.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise ProgramError(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, OverflowError) as error:
        raise ProgramError(f"the program cannot be read: {error}") from None
    except (RecursionError, MemoryError):
        raise ProgramError("the program is nested too deeply to be read") from None


def _check_tree(tree: ast.Module) -> None:
    bound = _Bound()
    used: list[tuple[str, int]] = []
    # (node, line, depth); nodes without a line of their own have the one above them.
    todo: list[tuple[ast.AST, int, int]] = [(tree, 1, 0)]
    count = 0
    while todo:
        node, line, depth = todo.pop()
        line = getattr(node, "lineno", line)
        count += 1
        if depth > MAX_DEPTH:
            raise ProgramError(f"line {line}: nested more than {MAX_DEPTH} deep")
        if count > MAX_NODES:
            raise ProgramError(f"line {line}: the program has more than {MAX_NODES} parts")
        _check_node(node, line)
        bound.add(node, line)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.append((node.id, line))
        todo += [(child, line, depth + 1) for child in _children(node)]
    for name, line in sorted(used, key=lambda use: use[1]):
        if name not in bound.names and name not in BUILTINS and name not in MODULES:
            raise ProgramError(f"line {line}: {name!r:.60} is no name a program may use; it has its own, builtins such as len and sorted, {', '.join(MODULES)}")
    _check_entry(tree)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands below a node, annotations apart: the child compiles them away."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))


def _check_node(node: ast.AST, line: int) -> None:
    kind = type(node).__name__
    if not isinstance(node, _NODES):
        word = _CALLED.get(kind, kind.lower())
        instead = _INSTEAD.get(word)
        raise ProgramError(f"line {line}: {word} is not part of what a program may be" + (f"; {instead}" if instead else ""))
    if isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            raise ProgramError(f"line {line}: .{node.attr:.60} is set; a program sets no attributes, it has memory and dicts")
        if node.attr in _UNSEEN:
            raise ProgramError(f"line {line}: .{node.attr} is not allowed; use an f-string")
        if node.attr not in _ATTRIBUTES:
            raise ProgramError(f"line {line}: .{node.attr:.60} is not among the methods of strings, numbers and containers, nor in {', '.join(MODULES)}")
    elif isinstance(node, ast.Try) and node.finalbody:
        raise ProgramError(f"line {line}: finally is not part of what a program may be")
    elif isinstance(node, ast.FunctionDef) and (node.decorator_list or getattr(node, "type_params", None)):
        raise ProgramError(f"line {line}: a function has no decorator and no type parameters")


class _Bound:
    """The names a program binds itself."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def add(self, node: ast.AST, line: int) -> None:
        """Take what `node` binds. Raises ProgramError for a name with two underscores in front, bound or not."""
        names: list[str] = []
        if isinstance(node, ast.FunctionDef):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names = [node.name]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names = [node.id]
        self.names.update(names)
        if isinstance(node, ast.Name):
            names = [node.id]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names = node.names
        elif isinstance(node, ast.keyword) and node.arg:
            names = [node.arg]
        for name in names:
            if name.startswith("__"):
                raise ProgramError(f"line {line}: {name!r:.60} begins with two underscores")


def _check_entry(tree: ast.Module) -> None:
    entry = next((node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef) and node.name == "act"), None)
    if entry is None:
        raise ProgramError("line 1: there is no function act(view, memory)")
    given = entry.args
    places = [*given.posonlyargs, *given.args]
    needed = len(places) - len(given.defaults)
    keywords = sum(default is None for default in given.kw_defaults)
    if needed > 2 or keywords or (len(places) < 2 and given.vararg is None):
        raise ProgramError(f"line {entry.lineno}: act takes two arguments, act(view, memory)")
