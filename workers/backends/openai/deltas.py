"""An answer as its server tells it: reasoning and content, usage, finish, errors, from events or from one JSON body. Pure.

Servers agree on little. Reasoning comes in one of five places, `choices` may be empty, null or not there, a finish of "" is none,
an error may ride in a stream under HTTP 200. docs/models.md has the rules; what is not understood is left out,
what is broken ends the reading with a kind and a sentence, and the text before it is kept.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from workers.backends.openai.sse import BOM, Event, EventParser, TooLong
from workers.backends.openai.tags import RETURN, ThinkTags
from workers.backends.openai.usage import Piece, Usage, read_usage

__all__ = ["Answer", "Trouble", "one_line", "parse", "trouble_of"]

MAX_BODY_BYTES = 16 << 20
_REASONING = ("reasoning_content", "reasoning", "thinking")
_TEXT_KEYS = ("text", "thinking", "reasoning", "summary", "content")
_THOUGHT_BLOCKS = ("thinking", "reasoning", "thought", "reasoning.text", "reasoning.summary")
_decode = msgspec.json.Decoder().decode
_NOTHING: dict[str, Any] = {}


class Trouble(NamedTuple):
    """Why an answer is none: a kind of docs/models.md, a sentence, and the server's code where it gave one."""

    kind: str
    message: str
    code: int | str | None = None


def parse(data: bytes) -> Any:
    """Return the JSON value in `data`. Raises ValueError. Half a surrogate pair and stray control characters are let through."""
    try:
        return _decode(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except msgspec.DecodeError:
        try:
            return json.loads(data.decode("utf-8", "replace"), strict=False)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def one_line(text: str, limit: int = 300) -> str:
    """Return what a server said as one printable line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _whole(data: bytes) -> bool:
    try:
        return isinstance(parse(data), dict)
    except ValueError:
        return False


def text_of(value: Any, depth: int = 4) -> str:
    """Return the text in a string, a typed block, or a list of either."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "".join(text_of(item, depth - 1) for item in value)
    if isinstance(value, dict) and depth:
        for key in _TEXT_KEYS:
            if found := text_of(value.get(key), depth - 1):
                return found
    return ""


def trouble_of(value: dict[str, Any], name: bytes = b"") -> Trouble | None:
    """Return the error an object of a response holds, in any of the forms servers use, or None."""
    error: Any = value.get("error")
    if not error:
        told = name == b"error" or value.get("object") == "error" or value.get("type") == "error"
        bare = "choices" not in value and (isinstance(value.get("message"), str) or isinstance(value.get("detail"), str | list))
        if not told and (not bare or "usage" in value):
            return None
        error = value
    if not isinstance(error, dict):
        return Trouble("provider_error", one_line(text_of(error) or json.dumps(error)))
    message = error.get("message") or error.get("detail") or error.get("msg") or error
    message = message if isinstance(message, str) else json.dumps(message)
    code = next((error[key] for key in ("code", "status_code", "status", "type") if error.get(key)), value.get("code"))
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) < 6:
        code = int(code)
    return Trouble("provider_error", one_line(message), code if isinstance(code, int | str) else None)


class Answer:
    """Reads one response body. `feed` bytes, take `pieces`, call `end` once; then `trouble` says whether it is an answer."""

    def __init__(self, *, opened: bool = False) -> None:
        self._events = EventParser(whole=_whole)
        self._tags = ThinkTags(opened=opened)
        self._halves = {"reasoning": "", "content": ""}
        self._head = b""
        self._body: list[bytes] | None = None
        self._body_size = 0
        self._sniffed = False
        self._saw_object = False
        self.pieces: list[Piece] = []
        """What has been read and not been taken."""
        self.usage: Usage | None = None
        self.finish: str | None = None
        self.done = False
        """Whether [DONE] has come."""
        self.trouble: Trouble | None = None
        self.any_text = False
        self.field: str | None = None
        """Where its reasoning came: a field's name, blocks or tags."""
        self.hides = False
        """Whether it said that there is reasoning it does not show."""
        self.returned = False
        """Whether a closing think tag made the content before it reasoning."""

    @property
    def unclosed(self) -> bool:
        """Whether a think block stands open."""
        return self._tags.inside

    @property
    def over(self) -> bool:
        """Whether nothing more needs to be read."""
        return self.done or self.trouble is not None

    def feed(self, data: bytes) -> None:
        """Take bytes of the body. Nothing after [DONE] or an error is looked at."""
        if self.over:
            return
        if not self._sniffed:
            data = self._sniff(data)
        try:
            if self._body is not None:
                self._keep(data)
            elif data:
                self._take(self._events.feed(data))
        except TooLong as error:
            self.trouble = Trouble("malformed", str(error))

    def _sniff(self, data: bytes) -> bytes:
        """Look at the first letter: an event stream does not begin with a bracket, whatever its content type."""
        self._head += data
        bare = self._head.removeprefix(BOM).lstrip()
        if not bare or (len(self._head) < 3 and BOM.startswith(self._head)):
            if len(self._head) > MAX_BODY_BYTES:
                self.trouble = Trouble("malformed", "a body of nothing but blanks")
            return b""
        data, self._head = self._head, b""
        self._sniffed = True
        if bare[:1] in b"{[<":
            self._body = []
        return data

    def _keep(self, data: bytes) -> None:
        assert self._body is not None
        self._body.append(data)
        self._body_size += len(data)
        if self._body_size > MAX_BODY_BYTES:
            raise TooLong(f"a body of more than {MAX_BODY_BYTES} bytes")

    def _take(self, events: list[Event]) -> None:
        for event in events:
            data = event.data
            if data == b"[DONE]" or data.strip() == b"[DONE]":
                self.done = True
            elif data.strip():
                self._on_event(event)
            if self.over:
                return

    def _on_event(self, event: Event, *, last: bool = False) -> None:
        try:
            value = parse(event.data)
        except ValueError as error:
            text = one_line(event.data.decode("utf-8", "replace"), 120)
            if event.name == b"error":
                self.trouble = Trouble("provider_error", text)
            elif not last:
                self.trouble = Trouble("malformed", f"an event that is no JSON ({one_line(str(error), 80)}): {text}")
            return
        if isinstance(value, dict):
            self._on_object(value, event.name)
        elif event.name == b"error":
            self.trouble = Trouble("provider_error", one_line(text_of(value) or json.dumps(value)))
        elif value is not None:
            self.trouble = Trouble("malformed", f"an event that is no object: {one_line(json.dumps(value), 120)}")

    def _on_object(self, value: dict[str, Any], name: bytes = b"") -> None:
        choices = value.get("choices")
        choice: Any = _NOTHING
        if isinstance(choices, list) and choices:
            choice = next((item for item in choices if isinstance(item, dict) and item.get("index", 0) in (0, None)), _NOTHING)
        extra = value.get("x_groq")
        usage = value.get("usage") or choice.get("usage") or (extra.get("usage") if isinstance(extra, dict) else None)
        reported = None
        if usage is not None and (read := read_usage(usage)) is not None:
            self.usage = read
            reported = read.completion
        if choice:
            self._saw_object = True
            self._on_choice(choice, reported)
        if "error" in value or "choices" not in value or name:
            self.trouble = trouble_of(value, name)
        if self.trouble is None and choice.get("error"):
            self.trouble = trouble_of(choice)

    def _on_choice(self, choice: dict[str, Any], reported: int | None) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
            # A last chunk may repeat the whole message; it counts only where no delta did.
            if not isinstance(delta, dict) or self.any_text:
                delta = _NOTHING if self.any_text or not isinstance(choice.get("text"), str) else {"content": choice["text"]}
        reasoning = ""
        for field in _REASONING:
            found = delta.get(field)
            if found and (reasoning := found if isinstance(found, str) else text_of(found)):
                self.field = self.field or field
                break
        else:
            if details := delta.get("reasoning_details"):
                reasoning = self._details(details)
        content = delta.get("content")
        if isinstance(content, list):
            content, thought = _blocks(content)
            if thought and not reasoning:
                reasoning = thought
                self.field = self.field or "blocks"
        if reasoning:
            self._tags.structured = True
            self._say("reasoning", reasoning, reported)
            # A delta's count is charged once, to what of it comes first.
            reported = None if content else reported
        if isinstance(content, str) and content:
            self._on_content(content, reported)
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            self.finish = one_line(finish, 60)

    def _details(self, details: Any) -> str:
        blocks = details if isinstance(details, list) else [details]
        if any(isinstance(block, dict) and "encrypted" in str(block.get("type", "")) for block in blocks):
            self.hides = True
        text = "".join(text_of(block) for block in blocks if isinstance(block, dict) and "encrypted" not in str(block.get("type", "")))
        if text:
            self.field = self.field or "reasoning_details"
        return text

    def _on_content(self, text: str, reported: int | None) -> None:
        if text := self._mend("content", text):
            self._split(text, reported)

    def _split(self, text: str, reported: int | None = None) -> None:
        for kind, piece in self._tags.feed(text):
            self.returned = self.returned or kind == RETURN
            if kind != "content":
                self.field = self.field or "tags"
            self._put(kind, piece, reported)
            reported = None

    def _say(self, kind: str, text: str, reported: int | None) -> None:
        if text := self._mend(kind, text):
            self._put(kind, text, reported)

    def _put(self, kind: str, text: str, reported: int | None) -> None:
        self.any_text = True
        self.pieces.append(Piece(kind, text, reported))

    def _mend(self, kind: str, text: str) -> str:
        """Join the halves of a surrogate pair that two deltas carry; a half that stays alone becomes U+FFFD."""
        if text.isascii() and not self._halves[kind]:
            return text
        text, self._halves[kind] = self._halves[kind] + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._halves[kind] = text[:-1], text[-1]
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    def end(self, *, complete: bool = True) -> None:
        """The body is over. `complete` is False if the connection broke or fell silent before it was."""
        if self._body is not None and self.trouble is None:
            self._read_body(b"".join(self._body), complete)
        elif not self.over:
            self._take_rest(self._events.end())
        if self._halves["reasoning"]:
            self._put("reasoning", "\ufffd", None)
        if self._halves["content"]:
            self._split("\ufffd")
        for kind, text in self._tags.end():
            self._put(kind, text, None)
        if self.trouble is None:
            self.trouble = self._verdict()

    def _take_rest(self, events: list[Event]) -> None:
        """The last event may be cut: it counts if it is whole JSON."""
        for event in events:
            if event.data.strip() == b"[DONE]":
                self.done = True
            elif event.data.strip():
                self._on_event(event, last=True)

    def _read_body(self, body: bytes, complete: bool) -> None:
        """One JSON body in place of a stream: an error, or the whole answer. A list of objects, or one a line, is read as chunks."""
        body = body.removeprefix(BOM)
        try:
            value = parse(body)
            values = value if isinstance(value, list) else [value]
        except ValueError:
            try:
                values = [parse(line) for line in body.splitlines() if line.strip()]
            except ValueError:
                kind = "malformed" if complete else "truncated"
                self.trouble = Trouble(kind, f"neither an event stream nor JSON: {one_line(body[:2000].decode('utf-8', 'replace'), 120)}")
                return
        for item in values:
            if isinstance(item, dict) and not self.over:
                self._on_object(item)
        # A body that is whole JSON is a whole answer.
        self.done = self.done or self.any_text
        if self.trouble is None and not self._saw_object:
            self.trouble = Trouble("malformed", f"a JSON body without an answer: {one_line(body[:2000].decode('utf-8', 'replace'), 120)}")

    def _verdict(self) -> Trouble | None:
        if self.finish == "error":
            return Trouble("provider_error", "the server ended the answer with finish_reason 'error'")
        if self.finish is not None or (self.done and self.any_text):
            return None
        if self._events.strange and not self._saw_object:
            return Trouble("malformed", f"no event stream: {one_line(self._events.strange.decode('utf-8', 'replace'), 120)}")
        if self.done or not self._saw_object:
            return Trouble("empty_stream", "the answer has no text and no end, only an empty stream")
        return Trouble("truncated", "the stream ended without [DONE] and without a finish_reason; its text so far is kept")


def _blocks(blocks: list[Any]) -> tuple[str, str]:
    """Return (text, thoughts) of a list of typed blocks."""
    text: list[str] = []
    thoughts: list[str] = []
    for block in blocks:
        thought = isinstance(block, dict) and (block.get("type") in _THOUGHT_BLOCKS or block.get("thought") is True)
        (thoughts if thought else text).append(text_of(block))
    return "".join(text), "".join(thoughts)
