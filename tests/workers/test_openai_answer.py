"""What servers do to a stream, kind by kind: fields, tags, usage, finishes, errors, line ends, JSON in place of events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_kit import delta, sse, usage

from workers.backends.openai.deltas import Answer, parse
from workers.backends.openai.sse import EventParser, TooLong
from workers.backends.openai.tags import RETURN, ThinkTags
from workers.backends.openai.usage import MAX_HIDDEN, Charge, Piece, Usage, estimate, read_usage


def heard(body: bytes, *, complete: bool = True, **options: Any) -> tuple[str, str, Answer]:
    answer = Answer(**options)
    for at in range(0, len(body), 7):
        answer.feed(body[at : at + 7])
    answer.end(complete=complete)
    reasoning, content = "", ""
    for piece in answer.pieces:
        if piece.kind == RETURN:
            reasoning, content = reasoning + content, ""
        elif piece.kind == "reasoning":
            reasoning += piece.text
        else:
            content += piece.text
    return reasoning, content, answer


STOP = delta(finish="stop")
SAYS_UP = delta("\\boxed{U}")


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_content": "", "reasoning": "hm", "thinking": "another"},
        {"reasoning_content": "hm", "reasoning": "not the same"},
        {"reasoning_content": None, "thinking": "hm"},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
        {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], "reasoning": "hm"},
    ],
)
def test_reasoning_is_read_from_one_field_only(fields: dict[str, Any]) -> None:
    reasoning, content, answer = heard(sse(delta(**fields), SAYS_UP, STOP))
    assert (reasoning, content, answer.trouble) == ("hm", "\\boxed{U}", None)


def test_fields_of_other_types_are_no_text() -> None:
    events = [delta(reasoning=7), delta(content=None), delta(reasoning_details={"type": "reasoning.encrypted", "data": "gAAA"}), SAYS_UP, STOP]
    reasoning, content, answer = heard(sse(*events))
    assert (reasoning, content, answer.hides) == ("", "\\boxed{U}", True)


def test_only_choice_zero_counts() -> None:
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
    both = {"choices": [other, {"index": 0, "delta": {"content": "yes"}, "finish_reason": None}]}
    _, content, answer = heard(sse({"choices": [other]}, both, {"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    assert (content, answer.finish) == ("yes", "stop")


@pytest.mark.parametrize(
    ("pieces", "reasoning", "content"),
    [
        (["<think>a</think>b"], "a", "b"),
        (["  \n<THINK>", "a", "</Think>", "b"], "a", "b"),
        (["<thinking>", "a", "</thinking>b"], "a", "b"),
        (["a</thinking>b"], "a", "b"),
        (["a", "</", "thi", "nk", ">b"], "a", "b"),
        (["</think>", "b"], "", "b"),
        (["<think>a"], "a", ""),
        (["<think>a</thi"], "a</thi", ""),
        (["<thi"], "", "<thi"),
        (["b <think>c</think>d"], "", "b <think>c</think>d"),
        (["b <thin", "gs> d"], "", "b <things> d"),
        (["1 < 2 and 3</x"], "", "1 < 2 and 3</x"),
        (["<think>a</think>b <think>c</think>d"], "a", "b <think>c</think>d"),
        (["<think></think>", "b"], "", "b"),
    ],
)
def test_inline_tags_split_content_wherever_they_are_cut(pieces: list[str], reasoning: str, content: str) -> None:
    for cut in (pieces, list("".join(pieces))):
        got, rest, answer = heard(sse(*(delta(piece) for piece in cut), STOP))
        assert (got, rest, answer.trouble) == (reasoning, content, None)


def test_beside_structured_reasoning_tags_are_text_but_for_a_stray_closing_one() -> None:
    _, content, _ = heard(sse(delta(reasoning="a"), delta("\n</thi"), delta("nk>b <think>c</think>"), STOP))
    assert content == "b <think>c</think>"
    _, content, _ = heard(sse(delta(reasoning="a"), delta("<think>b</think>c"), STOP))
    assert content == "<think>b</think>c"


def test_partial_tag_that_never_was_one_is_given_back_at_the_end() -> None:
    tags = ThinkTags()
    assert tags.feed("b </thin") == [("content", "b ")]
    assert tags.end() == [("content", "</thin")]


@pytest.mark.parametrize(
    ("given", "completion"),
    [
        ({"prompt_tokens": 30, "completion_tokens": 0, "total_tokens": 95}, 65),
        ({"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 95}, 65),
        ({"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}, 50),
        ({"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 50}, 50),
        ({"input_tokens": 10, "output_tokens": 50}, 50),
        ({"completion_tokens": "17"}, 17),
        ({"completion_tokens": 17.0}, 17),
        ({"prompt_tokens": None, "completion_tokens": 17, "total_tokens": None}, 17),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"completion_tokens": -3}, None),
        ({"completion_tokens": 10**12}, None),
        ({"completion_tokens": "999999999999999"}, None),
        ({"prompt_tokens": 1, "completion_tokens": 9, "total_tokens": 10**15}, 9),
        ({"completion_tokens": True}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_usage_is_charged_with_its_quirks(given: Any, completion: int | None) -> None:
    read = read_usage(given)
    assert (None if read is None else read.completion) == completion


@pytest.mark.parametrize(
    "late",
    [
        [{"choices": [], "usage": None}],
        [{**delta(), "usage": None}],
        [{"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}],
        [{"choices": [], "usage": {}}],
    ],
)
def test_usage_that_says_nothing_erases_nothing(late: list[Any]) -> None:
    _, _, answer = heard(sse(SAYS_UP, STOP, usage(21), *late))
    assert answer.usage == Usage(10, 21)


@pytest.mark.parametrize("where", ["choice", "groq"])
def test_usage_is_found_where_providers_hide_it(where: str) -> None:
    count = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    last = delta(finish="stop")
    if where == "choice":
        last["choices"][0]["usage"] = count
    else:
        last["x_groq"] = {"usage": count}
    assert heard(sse(SAYS_UP, last))[2].usage == Usage(3, 5)


def test_finish_is_the_last_one_that_says_something() -> None:
    events = [delta("a", finish=""), delta("b", finish="length"), delta("c", finish=None), delta(finish="")]
    _, content, answer = heard(sse(*events))
    assert (content, answer.finish, answer.trouble) == ("abc", "length", None)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark(end: str, bom: bytes) -> None:
    lines = [": hello", "event: message", "id: 7", "retry: 10", "data:" + json.dumps(delta("go ")), "", *("data: " + json.dumps(SAYS_UP), "")]
    body = bom + end.join([*lines, "data: " + json.dumps(STOP), "", "data:[DONE]", "", ""]).encode()
    _, content, answer = heard(body)
    assert (content, answer.trouble, answer.done) == ("go \\boxed{U}", None, True)


def test_data_lines_of_one_event_are_joined() -> None:
    text = json.dumps(SAYS_UP, indent=1)
    body = "\n".join("data: " + line for line in text.split("\n")) + "\n\n" + sse(STOP).decode()
    assert heard(body.encode())[1] == "\\boxed{U}"


def test_events_without_blank_lines_between_are_told_apart_as_they_come() -> None:
    parser = EventParser(whole=lambda data: isinstance(parse(data), dict))
    lines = [b"data: " + json.dumps(delta(text)).encode() + b"\n" for text in "abc"]
    assert parser.feed(lines[0]) == []
    assert len(parser.feed(lines[1])) == 2
    assert len(parser.feed(lines[2])) == 1
    assert heard(b"".join(lines) + b"data: [DONE]\n")[1] == "abc"


@given(st.lists(st.text(alphabet="a\u2028\u2029\x85é🐍 \\\"<", max_size=6), max_size=6), st.lists(st.integers(1, 40), max_size=8))
def test_any_text_comes_through_any_cut(texts: list[str], sizes: list[int]) -> None:
    body = b"".join(b"data: " + json.dumps(delta(text), ensure_ascii=False).encode() + b"\r\n\r\n" for text in texts) + sse(STOP)
    answer = Answer()
    at = 0
    for size in [*sizes, len(body)]:
        answer.feed(body[at : at + size])
        at += size
    answer.end()
    assert "".join(piece.text for piece in answer.pieces) == "".join(texts)


def test_half_a_character_stays_no_surrogate() -> None:
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":"b\\udc00c"}}]}\n\n'
    assert heard(body + sse(STOP))[1] == "a\ufffdb\ufffdc"
    assert heard(b'data: {"choices":[{"index":0,"delta":{"reasoning":"a\\ud83d"}}]}\n\n' + sse(STOP))[0] == "a\ufffd"
    one = b'data: {"choices":[{"index":0,"delta":{"reasoning":"\\ud83d","content":"\\ud83d"}}]}\n\n'
    two = b'data: {"choices":[{"index":0,"delta":{"content":"\\ude80","reasoning":"\\ude80"}}]}\n\n'
    assert heard(one + two + sse(STOP))[:2] == ("🚀", "🚀")


def test_broken_utf8_is_shown_as_such_and_breaks_nothing() -> None:
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a\xff\xfeb"}}]}\n\n' + sse(STOP)
    assert heard(body)[1] == "a\ufffd\ufffdb"


TROUBLES: list[tuple[bytes, str, int | str | None, str]] = [
    (sse({"error": {"code": "429", "message": "slow down"}}), "provider_error", 429, "slow down"),
    (sse({"error": "out of memory"}), "provider_error", None, "out of memory"),
    (sse({"object": "error", "message": "bad", "code": 400}), "provider_error", 400, "bad"),
    (sse({"type": "error", "error": {"type": "overloaded_error", "message": "full"}}), "provider_error", "overloaded_error", "full"),
    (sse({"detail": "no such model"}), "provider_error", None, "no such model"),
    (sse({**delta("a"), "error": {"message": "gone", "code": 502}}), "provider_error", 502, "gone"),
    (sse({"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "gone"}}]}), "provider_error", 502, "gone"),
    (b'event: error\ndata: {"message":"gone","code":500}\n\n', "provider_error", 500, "gone"),
    (b"event: error\ndata: it burns\n\n", "provider_error", None, "it burns"),
    (sse(SAYS_UP, delta(finish="error")), "provider_error", None, "finish_reason"),
    (b'[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]', "provider_error", 400, "API key"),
    (b'{"error":{"message":"no","code":null}}', "provider_error", None, "no"),
    (b'{"detail":[{"loc":["body"],"msg":"wrong"}]}', "provider_error", None, "wrong"),
    (sse(SAYS_UP, done=False), "truncated", None, ""),
    (sse(delta(), done=False), "truncated", None, ""),
    (sse(SAYS_UP, done=False) + b'data: {"choices":[{"ind', "truncated", None, ""),
    (sse(SAYS_UP) + b"", "", None, ""),
    (sse(SAYS_UP, b"data: {broken\n\n", STOP), "malformed", None, "{broken"),
    (sse(SAYS_UP, b"data: 17\n\n", STOP), "malformed", None, "17"),
    (b"<html><body>Welcome to the hotel</body></html>", "malformed", None, "hotel"),
    (b"Bad gateway", "malformed", None, "Bad gateway"),
    (b'{"hello":"world"}', "malformed", None, "world"),
    (b"[" * 100_000, "malformed", None, ""),
    (b"", "empty_stream", None, ""),
    (b"\n\n\n", "empty_stream", None, ""),
    (b": ping\n\n: ping\n\n", "empty_stream", None, ""),
    (sse(), "empty_stream", None, ""),
    (sse(usage(0)), "empty_stream", None, ""),
    (sse({"id": "x", "object": "chat.completion.chunk", "choices": []}, done=False), "empty_stream", None, ""),
]


@pytest.mark.parametrize(("body", "kind", "code", "says"), TROUBLES)
def test_trouble_is_named_and_never_raised(body: bytes, kind: str, code: int | str | None, says: str) -> None:
    _, _, answer = heard(body)
    found = answer.trouble
    assert ("" if found is None else found.kind) == kind
    if found is not None:
        assert found.code == code
        assert says in found.message
        assert "\n" not in found.message


@pytest.mark.parametrize("odd", [{"error": None}, {"error": {}}, {"error": ""}, {"type": "ping"}, {"object": "chat.completion.chunk"}])
def test_what_only_looks_like_an_error_is_passed_over(odd: dict[str, Any]) -> None:
    event = {**delta("go "), **odd} if "error" in odd else odd
    _, content, answer = heard(sse(event, b"data: null\n\n", b"data:\n\n", SAYS_UP, STOP))
    assert answer.trouble is None
    assert content.endswith("\\boxed{U}")


def test_whole_json_body_is_an_answer_too() -> None:
    message = {"role": "assistant", "content": "\\boxed{U}", "reasoning_content": "hm"}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 4, "completion_tokens": 9}}
    for text in (json.dumps(body), json.dumps(body, indent=2), "\ufeff \n" + json.dumps(body)):
        reasoning, content, answer = heard(text.encode())
        assert (reasoning, content, answer.usage, answer.trouble) == ("hm", "\\boxed{U}", Usage(4, 9), None)
    lines = "\n".join(json.dumps(event) for event in (delta("go "), SAYS_UP, STOP))
    assert heard(lines.encode())[1] == "go \\boxed{U}"


def test_last_message_that_repeats_the_answer_is_not_said_twice() -> None:
    again = {"choices": [{"index": 0, "message": {"content": "\\boxed{U}"}, "finish_reason": "stop"}]}
    assert heard(sse(SAYS_UP, again))[1] == "\\boxed{U}"


def test_line_without_end_is_given_up() -> None:
    parser = EventParser(whole=lambda data: False, max_bytes=1000)
    for _ in range(9):
        parser.feed(b"x" * 100)
    with pytest.raises(TooLong):
        parser.feed(b"x" * 200)
    answer = Answer()
    answer._events = EventParser(whole=lambda data: False, max_bytes=1000)
    answer.feed(b"data: " + b"x" * 2000)
    answer.end()
    assert answer.trouble is not None
    assert answer.trouble.kind == "malformed"


# Tokens.


def charged(pieces: list[Piece], **options: Any) -> list[tuple[str, int]]:
    charge = Charge(**{"opaque": False, "budget": None, "guess": lambda: 0, **options})
    return [(chunk.text, len(chunk.lens)) for chunk in charge.chunks(pieces)]


@pytest.mark.parametrize(
    ("text", "tokens"), [("go", 1), (" reaches", 1), ("Car ", 1), ("\n\n", 1), ("🐍", 1), ("", 0), ("go up now", 3), ("unbelievably", 1), ("三行", 1)]
)
def test_delta_of_one_word_is_one_token(text: str, tokens: int) -> None:
    assert len(estimate(text)) == tokens
    assert sum(estimate(text)) == len(text.encode())


def test_cumulative_usage_gives_each_delta_its_share() -> None:
    pieces = [Piece("content", "a", 1), Piece("content", "b", 2), Piece("reasoning", "c", 3), Piece("content", "\\boxed{U}", 8)]
    assert charged(pieces) == [("ab", 2), ("c", 1), ("\\boxed{U}", 5)]


def test_tokens_hidden_between_two_texts_are_charged_with_the_second() -> None:
    assert charged([Piece("content", "a", 1), Piece("content", "b", 500)]) == [("ab", 500)]


@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize("counts", [(10**9, 2 * 10**9, 3 * 10**9), (1, 10**9, 10**9), (1, 2, 10**15), (100_000, 200_000, 300_000)])
def test_count_beyond_belief_is_believed_no_more(opaque: bool, counts: tuple[int, ...]) -> None:
    charge = Charge(opaque=opaque, budget=None, guess=lambda: 0)
    for count in counts:
        charge.chunks([Piece("content", "go up now", count)])
    assert charge.counted <= MAX_HIDDEN + len("go up now") * 3
    assert [len(chunk.lens) for chunk in charge.chunks([Piece("content", "up", counts[-1])])] == [1]


def test_usage_that_comes_with_the_end_moves_no_text() -> None:
    assert charged([Piece("content", "go ", None), Piece("content", "up", 500)]) == [("go up", 2)]


def test_hidden_reasoning_is_one_block_in_front_of_the_first_text() -> None:
    charge = Charge(opaque=True, budget=None, guess=lambda: 40)
    chunks = charge.chunks([Piece("content", "go"), Piece("content", " up")])
    assert [(chunk.text, len(chunk.lens)) for chunk in chunks] == [("", 40), ("go up", 2)]
    assert charge.chunks([Piece("content", " now")])[0].lens == (4,)
    known = Charge(opaque=True, budget=None, guess=lambda: 40)
    assert len(known.chunks([Piece("content", "go", 65)])[0].lens) == 64


def test_opaque_answer_with_a_budget_is_charged_what_it_came_to_and_never_cut() -> None:
    charge = Charge(opaque=True, budget=100, guess=lambda: 40)
    assert charge.chunks([Piece("content", "go"), Piece("content", " up")]) == []
    assert [len(chunk.lens) for chunk in charge.end(72)] == [70, 2]
    assert charge.over_budget(72) == 0
    over = Charge(opaque=True, budget=100, guess=lambda: 40)
    over.chunks([Piece("content", "go")])
    assert [len(chunk.lens) for chunk in over.end(5000)] == [99, 1]
    assert over.over_budget(5000) == 4900


def test_model_that_shows_its_reasoning_after_all_is_charged_no_block() -> None:
    charge = Charge(opaque=True, budget=None, guess=lambda: 40)
    assert [len(chunk.lens) for chunk in charge.chunks([Piece("reasoning", "go"), Piece("content", "up")])] == [1, 1]
