"""The command line: what may be asked, and how every error becomes one line and an exit code.

0 done; 1 the run failed; 2 bad usage or bad input; 130 interrupted. Nothing heavy is imported here: `rtdesk --help` loads
click and nothing else of weight; each command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rtdesk.leave import Exit, code_of, drop_output, of_the_machine
from rtdesk.options import (
    EPISODE_OPTIONS,
    GRID_OPTIONS,
    LEVEL_OPTIONS,
    PRICE,
    PRICE_OPTIONS,
    RUN_OPTIONS,
    episode_options,
    given_options,
    parse_rate,
    prices_of,
    split_run,
    words_of,
)
from rtdesk.say import complain, one_object

__all__ = ["cli", "run"]

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Command(click.Command):
    """A command that is set up the same whether it is called through the group or by itself, as tests and the docs do."""

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **{"context_settings": CONTEXT, **more})

    def invoke(self, ctx: click.Context) -> Any:
        if not ctx.params.get("as_json"):
            return super().invoke(ctx)
        with one_object():
            return super().invoke(ctx)


class Commands(click.Group):
    """A group that lists its commands in the order they are written, and knows near misses."""

    command_class = Command

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _readers_who_go():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _readers_who_go():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.commands:
            import difflib

            near = difflib.get_close_matches(name, self.commands, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"unknown command {name!r}{hint} (available: {', '.join(self.commands)})", ctx)
        if name != "doctor":
            from rtdesk.paths import intruder

            # Before a command imports anything of theirs.
            stranger = intruder()
            if stranger is not None:
                raise Exit(1, stranger)
        return super().resolve_command(ctx, args)


@contextmanager
def _readers_who_go() -> Iterator[None]:
    """Whoever read our output has gone: there is nobody to tell. Said here, because click's own way would leave by sys.exit."""
    try:
        yield
    except BrokenPipeError:
        drop_output()
        raise Exit(1) from None


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit code. Every error is one line on stderr."""
    try:
        code = cli.main(arguments, prog_name="rtdesk", standalone_mode=False)
        if sys.stdout is not None:
            # Or what could not be written would be found out when it is too late to say so.
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Exit as leave:
        if leave.line:
            complain(leave.line)
        return leave.code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        complain(error.format_message())
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except SystemExit as error:
        # No way of ours to leave; of a file of somebody's, or of a library.
        complain(f"something called sys.exit({error.code!r}) in the middle of it; is it in a file of yours?")
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        drop_output()
        return 1
    except Exception as error:
        code = code_of(error)
        if code is None:
            raise
        if isinstance(error, OSError):
            drop_output()
        complain(of_the_machine(error) or str(error))
        return code


@click.group(cls=Commands, context_settings=CONTEXT, no_args_is_help=True)
@click.version_option(package_name="rtdesk", message="rtdesk %(version)s")
def cli() -> None:
    """A desk for watching machines think against the clock.

    \b
    rtdesk play snake --agent agile      watch a planner and a reactor play
    rtdesk replay FILE                   look at a recording
    """


@cli.command()
@click.argument("game")
@LEVEL_OPTIONS
@EPISODE_OPTIONS
@click.option("--vs", metavar="human|AGENT|FILE", help="Play side by side against a person, another agent, or a recording, on the same level.")
@RUN_OPTIONS
@click.pass_context
def play(context: click.Context, game: str, vs: str | None, **typed: Any) -> int:
    """Play GAME live: snake, freeway, overcooked, or a path to a game of yours."""
    options, run_options = split_run(typed)
    return _run(game, episode_options(options), run_options, vs=vs, given=frozenset(given_options(context, options)))


def _run(game: str, options: dict[str, Any], run_options: dict[str, Any], *, vs: str | None = None, given: frozenset[str] = frozenset()) -> int:
    """Play live, by the options of `plan_episode` and those of RUN_OPTIONS; `given` are the former's names that were typed."""
    from rtdesk import live

    if run_options["record"] is not None and run_options["no_record"]:
        raise click.UsageError("--record and --no-record contradict each other; give one of them")
    if run_options["as_json"] and not run_options["headless"]:
        raise click.UsageError("a screen and a JSON object cannot share the terminal; give --headless with --json, or leave --json out")
    wanted = live.Wanted(
        game=game,
        options=options,
        vs=vs,
        given=given,
        tick_rate=parse_rate(run_options["tick_rate"]),
        recording=not run_options["no_record"],
        **{name: run_options[name] for name in ("record", "as_json", "look", "plain", "fps")},
    )
    return live.play_headless(wanted) if run_options["headless"] else live.play_on_screen(wanted)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE")
@click.option("--tick", type=int, help="Open at this tick, paused.")
@click.option("--game", metavar="NAME|PATH", help="The game that draws the board; needed for a game of yours, for a replay never chooses code to run.")
@click.option("--alone", is_flag=True, help="Show FILE alone, though another side of its match, or its parent, lies in the same folder.")
@click.option("--look", metavar="dark|light|ansi|mono", help="Colours of the screen.")
@click.option("--ascii", "plain", is_flag=True, help="No box drawing.")
@click.option("--fps", type=click.IntRange(1, 60), help="Frames a second at most.")
def replay(files: tuple[str, ...], tick: int | None, game: str | None, alone: bool, look: str | None, plain: bool, fps: int | None) -> int:
    """Look back at a recording: play it at any pace, scrub to a tick or a token, go to events, look for words, read prompts. Up to three
    recordings of one game, load and seed stand side by side and move in step. Beside a fork stands its parent, beside one side of a match the
    other, if they lie in the same folder."""
    from rtdesk import replaying

    return replaying.replay(files, tick=tick, game=game, look=look, plain=plain, fps=fps, alone=alone)


@cli.command()
@click.argument("file")
@click.option("--guidance", is_flag=True, help="Ask the reactor again without guidance, and count the actions guidance changed, for better and worse.  [default: the builtin reactor, in a recording of some hundred ticks; nobody else]")
@click.option("--reactor", metavar="SPEC", help="Who is asked, where it is not the one recorded.")
@click.option("--game", metavar="NAME|PATH", help="The game to play actions out with; needed for a game of yours.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(file: str, guidance: bool, reactor: str | None, game: str | None, as_json: bool) -> int:
    """What is in a replay: settings, totals, timings, token use, faults."""
    from rtdesk import look_back

    return look_back.info(file, as_json=as_json, guidance=guidance, reactor=reactor, game=game)


@cli.command()
@click.argument("file")
@click.option("--game", metavar="NAME|PATH", help="The game to play it with; needed for a game of yours, for a replay never chooses code to run.")
@click.option("--planner", metavar="SPEC", help="Who thinks as planner, where it is a script or an address.")
@click.option("--reactor", metavar="SPEC", help="Who thinks as reactor, where it is a script or an address.")
@click.option("--no-thinkers", is_flag=True, help="Play the actions again and no more.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(file: str, game: str | None, planner: str | None, reactor: str | None, no_thinkers: bool, as_json: bool) -> int:
    """Play a replay's actions again and compare every step; run thinkers that say the same twice again and compare every event. Exit 1 at
    the first difference."""
    from rtdesk import look_back

    return look_back.verify(file, game=game, planner=planner, reactor=reactor, thinkers=not no_thinkers, as_json=as_json)


@cli.command()
@click.argument("file")
@click.option("--to", "kind", required=True, metavar="csv|jsonl|cast|svg|gif|html", help="Format.")
@click.option("-o", "--output", metavar="OUT", help="File to write, which must not exist.  [default: stdout for csv and jsonl, else FILE's name with the new ending, in this folder]")
@click.option("--tick", type=float, metavar="K", help="svg: the screen at the end of this tick, everything said and nothing applied yet; K.5 is half way through it.  [default: the last]")
@click.option("--ticks", metavar="A-B", help="cast, gif, html: only these ticks.")
@click.option("--size", metavar="120x36", help="cast, svg, gif: columns and rows.  [default: 120x36; gif 100x32]")
@click.option("--look", metavar="dark|light|ansi|mono", help="cast, svg, gif: colours.  [default: dark]")
@click.option("--tick-rate", metavar="R/s", help="cast, gif: pace.  [default: as it was recorded where that was paced, else 1/s]")
@click.option("--fps", type=click.IntRange(1, 30), help="cast, gif: frames a second.  [default: cast 8, gif 4]")
@click.option("--game", metavar="NAME|PATH", help="cast, svg, gif, html: the game that draws the board; needed for a game of yours, for a replay never chooses code to run.")
def export(
    file: str,
    kind: str,
    output: str | None,
    tick: float | None,
    ticks: str | None,
    size: str | None,
    look: str | None,
    tick_rate: str | None,
    fps: int | None,
    game: str | None,
) -> int:
    """Write a replay as a table (csv, one row a tick), as events (jsonl, strict JSON), as a film of the screen (cast for asciinema, gif), as
    the screen at a tick (svg), or as a page to click through (html, one file, no network)."""
    from rtdesk import exports

    wanted = exports.Wanted(tick=tick, ticks=ticks, size=size, look=look, tick_rate=parse_rate(tick_rate), fps=fps, game=game)
    return exports.export(file, kind=kind, output=output, wanted=wanted)


@cli.command()
@click.argument("file")
@click.option("--tick", type=int, required=True, help="The first tick of the fork: it goes on from the state the tick before it left.")
@click.option("--game", metavar="NAME|PATH", help="The game; needed for a game of yours, for a replay never chooses code to run.")
@EPISODE_OPTIONS
@RUN_OPTIONS
@click.pass_context
def fork(context: click.Context, file: str, tick: int, game: str | None, **typed: Any) -> int:
    """Play on from a tick of FILE with fresh thinkers: another agent, another budget, or the same again. What is not given is as it was in
    FILE, whatever the defaults below say."""
    from rtdesk.fork import fork_options

    options, run_options = split_run(typed)
    name, found = fork_options(file, tick, given_options(context, options), game=game)
    return _run(name, found, run_options)


@cli.command()
@click.argument("first")
@click.argument("second")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff(first: str, second: str, as_json: bool) -> int:
    """Where two replays first differ; exit 1 if they do."""
    from rtdesk import look_back

    return look_back.diff(first, second, as_json=as_json)


@cli.command()
@click.argument("game")
@click.option("--mode", type=click.Choice(["act", "plan"]), required=True, help="One action, or a plan by turn.")
@click.option("--turn", type=int, default=0, show_default=True, help="Turn a plan without turn lines begins at.")
@click.argument("file", required=False)
def answer(game: str, mode: str, turn: int, file: str | None) -> int:
    """How an answer text is read (FILE, or stdin): prints JSON {actions, turns, why}."""
    from rtdesk import look_back

    return look_back.answer(game, mode=mode, turn=turn, file=file)


@cli.command()
@click.option("--preset", metavar="NAME[,NAME]", help="The published tables: load (three loads at 8192), pressure (four tick budgets on medium), ntr (five reactive budgets); quick (two seeds). What is given besides goes before it.")
@click.option("--games", metavar="NAME|PATH,...", help="[default: all three]")
@click.option("--loads", metavar="easy,medium,hard", help="[default: medium]")
@click.option("--agents", metavar="AGENT,...", help="Each with options of its own behind it, such as agile+guidance=none+force-answer.  [default: reactive,planning,agile]")
@click.option("--tick-budgets", metavar="8192,4096,...", help="N_TE, tokens.  [default: 8192]")
@click.option("--reactive-budgets", metavar="2048,1024,...", help="N_TR, tokens, for agents with a planner and a reactor.  [default: 2048]")
@click.option("--seeds", metavar="0-7", help="[default: 0-7, Overcooked 8-15]")
@click.option("--samples", type=int, default=1, show_default=True, help="Episodes of each seed, for models; each sample with a request seed of its own.")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder of results. One that is there is gone on with: what is missing is played.")
@click.option("--jobs", type=int, metavar="N", help="Episodes at a time.  [default: the cores there are]")
@click.option("--concurrency", type=click.IntRange(1, 1024), metavar="N", help="Of them at most N that ask a model, two streams each.  [default: 4; 1 for a model in a file]")
@click.option("--time-limit", metavar="10min", help="Local engine: an episode that takes longer has failed.")
@click.option("--engine", default="local", show_default=True, metavar="local|dask[=ADDRESS]", help="Processes on this machine; or dask (extra cluster), its own on 127.0.0.1 or the scheduler at ADDRESS.")
@GRID_OPTIONS
@PRICE_OPTIONS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.pass_context
def bench(
    context: click.Context,
    preset: str | None,
    games: str | None,
    loads: str | None,
    agents: str | None,
    tick_budgets: str | None,
    reactive_budgets: str | None,
    seeds: str | None,
    samples: int,
    output: str,
    jobs: int | None,
    concurrency: int | None,
    time_limit: str | None,
    engine: str,
    price: tuple[float, float] | None,
    reactor_price: tuple[float, float] | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Play a grid of games, loads, agents, budgets and seeds by the simulator; one replay and one line of results an episode. The same words
    again go on where it stopped. Exit 1 if episodes failed; the others are done all the same."""
    from rtdesk.bench import grid, run
    from workers.config import parse_duration

    asked = grid.Asked(
        preset=words_of(preset) or (),
        games=words_of(games),
        loads=words_of(loads),
        agents=words_of(agents),
        tick_budgets=words_of(tick_budgets),
        reactive_budgets=words_of(reactive_budgets),
        seeds=seeds,
        samples=samples,
        options=given_options(context, options),
    )
    settings = run.Settings(
        folder=output,
        jobs=jobs,
        engine=engine,
        concurrency=concurrency,
        limit_s=None if time_limit is None else parse_duration(time_limit, name="--time-limit"),
        prices=prices_of(price, reactor_price),
        as_json=as_json,
    )
    return run.bench(asked, settings)


@cli.command()
@click.argument("folder", metavar="DIR")
@click.option("--plots", is_flag=True, help="Draw score over load, over pressure and over N_TR, and the tokens used, into DIR/plots (extra plots).")
@click.option("--against", metavar="AGENT", help="Compare every agent with this one only.  [default: every two of them]")
@PRICE_OPTIONS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(folder: str, plots: bool, against: str | None, price: tuple[float, float] | None, reactor_price: tuple[float, float] | None, as_json: bool) -> int:
    """Tables of a folder of results, or of replays: scores with 95 % intervals, defaults, tokens, paired tests between agents, and what is
    missing."""
    from rtdesk import report as reporting

    return reporting.report(folder, plots=plots, against=against, prices=prices_of(price, reactor_price), as_json=as_json)


@cli.command()
@click.argument("spec")
@click.option("--prompt", metavar="TEXT", help="Ask this, and show the answer as it was read.")
@click.option("--idle-timeout", default="30s", show_default=True, help="Silence after which the server counts as stalled.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def model(spec: str, prompt: str | None, idle_timeout: str, as_json: bool) -> int:
    """Probe a model server (provider/model or URL#model), or show one answer of it."""
    from rtdesk import model as models

    return models.model(spec, prompt=prompt, idle_timeout=idle_timeout, as_json=as_json)


@cli.command()
@click.argument("spec")
@click.argument("game")
@LEVEL_OPTIONS
@click.option("--agent", default="agile", show_default=True, help="Whose reactor: agile, reactive.")
@click.option("--planner", metavar="SPEC", help="Who thinks as planner, for the reactor to read.  [default: SPEC]")
@click.option("--prompts", metavar="DIR", help="Folder with prompts of yours.")
@click.option("--calls", type=click.IntRange(1, 1000), default=20, show_default=True, help="Calls of the reactor; none is cut.")
@click.option("--notes", type=click.IntRange(0, 1 << 20), default=6144, show_default=True, help="Tokens of the planner's text it reads, made anew every 5 turns.")
@click.option("--price", nargs=2, type=PRICE, metavar="IN OUT", help="Price of a million tokens read and written, for the estimate.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def tune(spec: str, game: str, as_json: bool, price: tuple[float, float] | None, **options: Any) -> int:
    """What budgets a reactor needs: twenty calls that nobody cuts, the tokens they use, N_TR, N_TE and T_E that follow, what an episode costs,
    and the line that plays it."""
    from rtdesk import tune as tuning

    return tuning.tune(tuning.Asked(spec=spec, game=game, prices=price, **options), as_json=as_json)


@cli.command()
def games() -> int:
    """The games there are."""
    import games as shelf

    for name in shelf.names():
        click.echo(f"{name:12} {shelf.spec(name).summary}")
    return 0


@cli.command()
@click.argument("kind", type=click.Choice(["game", "agent", "backend"]))
@click.argument("name", metavar="NAME|PATH")
@click.option("--game", help="The game an agent or a backend is tried on.  [default: snake]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(kind: str, name: str, game: str | None, as_json: bool) -> int:
    """What is wrong with a game, an agent or a backend of yours, and why it probably is; exit 1 if anything."""
    from rtdesk import checking

    return checking.check(kind, name, game=game, as_json=as_json)


@cli.command()
@click.option("--fix-terminal", is_flag=True, help="Reset a terminal that was left in a bad state.")
def doctor(fix_terminal: bool) -> int:
    """Check this machine and installation, and say where things are kept."""
    from rtdesk import doctor as clinic

    return clinic.fix_terminal() if fix_terminal else clinic.report()
