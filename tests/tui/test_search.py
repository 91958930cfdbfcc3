"""Looking for words in a whole recording: where they are, in what order, in how much time."""

import pytest
from material import upto
from test_player import EVENTS, LAST, Clock, take

from replays import events as ev
from replays.reduce import fold_all
from replays.view_state import ViewState
from rtdesk.tui.player import EventList, ListSource, ReplaySource
from rtdesk.tui.search import MOST_HITS, Search, pattern_of

HEADER = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", tick_budget_tokens=100)


def tick(number: int, *said: tuple[str, int, str]) -> list[ev.AnyEvent]:
    """A tick of 100 tokens in which (stream, generation, text) are said, a character a token, from its first instant on."""
    at = number * 100
    out: list[ev.AnyEvent] = [ev.Tick(tick=number, at=at, view={}, text="", guidance_at=at + 75, end_at=at + 100)]
    for stream, generation, text in said:
        out.append(ev.Token(tick=number, at=at + 1, stream=stream, generation=generation, channel="reasoning", text=text, lens=[len(char.encode()) for char in text]))
    return out


def whole(store: EventList, query: str, tick: int = 0) -> Search:
    search = Search(store, query, tick=tick)
    search.work(lambda: False)
    assert search.done
    return search


def test_a_hit_stands_where_its_last_letter_was_released() -> None:
    store = EventList([HEADER, *tick(0, ("planner", 0, "one dead end"), ("reactor", 0, "a dead")), *tick(1, ("planner", 0, "dead"))])
    hits = whole(store, "dead").hits
    assert [(hit.tick, hit.stream, round(hit.share * 100)) for hit in hits] == [(0, "reactor", 6), (0, "planner", 8), (1, "planner", 4)]


def test_words_across_the_end_of_a_tick_are_found_and_words_of_two_generations_are_not_joined() -> None:
    store = EventList([HEADER, *tick(0, ("planner", 0, "a de")), *tick(1, ("planner", 0, "ad e")), *tick(2, ("planner", 0, "nd")), *tick(3, ("planner", 3, "x de")), *tick(4, ("planner", 4, "ad"))])
    assert [(hit.tick, round(hit.share * 100)) for hit in whole(store, "dead end").hits] == [(2, 2)]
    assert [(hit.tick, round(hit.share * 100)) for hit in whole(store, "dead").hits] == [(1, 2)]
    # Begun in the middle of what it looks for, it still finds it.
    assert [hit.tick for hit in whole(store, "dead end", tick=2).hits] == [2]


def test_capitals_count_only_if_the_query_has_some_and_blanks_match_line_ends() -> None:
    store = EventList([HEADER, *tick(0, ("planner", 0, "Dead\nend DEAD end dead END"))])
    assert len(whole(store, "dead end").hits) == 3
    assert len(whole(store, "Dead end").hits) == 1
    assert len(whole(store, "d.a").hits) == 0


@pytest.mark.parametrize("query", ["(", "[a", "a|b", "\\", "*", "é", "日本", "e\u0301"])
def test_signs_are_looked_for_as_they_are(query: str) -> None:
    text = f"x{query}y"
    store = EventList([HEADER, *tick(0, ("planner", 0, text))])
    (hit,) = whole(store, query).hits
    assert round(hit.share * 100) == len(text) - 1
    assert pattern_of(query).search(text) is not None


def test_an_empty_query_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="nothing to look for"):
        Search(EventList(EVENTS), "")


def test_it_stops_at_so_many_hits_and_in_a_slice_at_one_tick() -> None:
    text = "e" * 90
    store = EventList([HEADER, *(event for number in range(200) for event in tick(number, ("planner", number, text)))])
    search = Search(store, "e")
    assert search.work(lambda: True)
    assert {hit.tick for hit in search.hits} == {0}
    assert search.progress == pytest.approx(1 / 200)
    search.work(lambda: False)
    assert search.done
    assert search.full
    assert len(search.hits) == MOST_HITS


def test_a_source_goes_to_the_first_hit_as_soon_as_it_is_known_and_shows_the_words_just_said() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", playing=False), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("jump", "6")
    source.command("search", "tail reachable")
    for _ in range(3):
        state = take(source, state, clock, 0)
    assert state.tick >= 7
    # The token that ends the words may bring a few letters more.
    assert "tail reachable" in state.planner.text[-18:]
    assert state.planner.tokens == fold_all(upto(EVENTS, source.tick, source.share)).planner.tokens


def test_next_and_previous_go_round_all_hits_in_order() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", playing=False), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("jump", "12")
    source.command("search", "GOAL target")
    for _ in range(60):
        take(source, state, clock, 0)
    assert source.search is not None
    hits = source.search.hits
    assert source.search.done
    assert len(hits) > 3
    places = [(source.tick, source.share)]
    for _ in hits:
        source.command("hit", "1")
        places.append((source.tick, source.share))
    assert places[-1] == places[0]
    assert sorted(places[:-1]) == [(hit.tick, hit.share) for hit in hits]
    assert source.found() == f"hit {hits.index(next(hit for hit in hits if (hit.tick, hit.share) == places[0])) + 1} of {len(hits)} in planner"
    source.command("hit", "-1")
    assert (source.tick, source.share) == places[-2]
    assert source.overview is not None
    assert source.overview.hits == {hit.tick for hit in hits}


def test_what_is_not_there_is_said_and_the_place_stays() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", playing=False), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("jump", "8")
    source.command("search", "xyzzy")
    assert "read" in source.found()
    for _ in range(60):
        take(source, state, clock, 0)
    assert source.found() == "not found"
    assert (source.tick, source.share) == (8, 1.0)
    source.command("search", "")
    assert source.found() == ""
    assert source.command("hit", "1").startswith("no search yet")


def test_a_hit_is_not_gone_to_while_a_nearer_one_may_still_be_unread() -> None:
    store = EventList([HEADER, *(event for number in range(30) for event in tick(number, ("planner", number, "here" if number in (4, 20) else "-")))])
    source = ReplaySource(store, playing=False)
    source.poll(1)
    source.command("jump", "15")
    search = Search(store, "here", tick=15)
    source.search, source._wanted = search, 1
    while not search.hits:
        search.work(lambda: True)
    # The person has gone back meanwhile: from there the nearest hit may be in what has not been read yet.
    source.command("jump", "1")
    source._arrive()
    assert source.tick == 1
    search.work(lambda: False)
    source._arrive()
    assert source.tick == 4


def test_looking_through_the_whole_recording_takes_slices_of_a_frame() -> None:
    """The last tick has a word of its own; the first poll does not get there."""
    budget = [0]

    def enough() -> bool:
        budget[0] += 1
        return budget[0] % 3 == 0

    search = Search(EventList(EVENTS), "nowhere to be seen")
    slices = 0
    while search.work(enough):
        slices += 1
        assert search.progress <= min(1.0, 3 * slices / (LAST + 1)) + 1e-9
    assert slices >= (LAST + 1) // 3
