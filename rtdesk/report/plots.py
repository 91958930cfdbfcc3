"""Figures of a report (extra `plots`): score over load, over time pressure, over N_TR, and what share of streams needs how many tokens.

Each is drawn where the report has at least two points for it, as PNG and SVG. Two runs on the same rows give the same bytes: no date, no
random names.
"""

from __future__ import annotations

import importlib.util
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rtdesk.report.tables import ALL, USUAL_SHARE
from workers.errors import ConfigError

__all__ = ["check_installed", "draw"]

LOADS = ("easy", "medium", "hard")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by people who see few colours; markers differ as well. Source: Okabe and Ito, 2008."""
MARKERS = "osD^vPX"
MOST_LABELS = 14
SHORT = {"tick_budget": "N_TE ", "reactive_budget": "N_TR "}


def check_installed() -> None:
    """Raise ConfigError without the extra."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ConfigError("figures need matplotlib, which is not installed; pip install 'rtdesk[plots]', or leave out --plots")


def draw(found: dict[str, Any], folder: Path) -> list[str]:
    """Draw what there is into `folder`, made if need be; return the paths. Raises ConfigError if nothing can be written there."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "rtdesk"
    matplotlib.rcParams["svg.fonttype"] = "none"
    out: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in _figures(found):
            for ending, meta in (("png", {"Software": None}), ("svg", {"Date": None})):
                path = folder / f"{name}.{ending}"
                figure.savefig(path, dpi=150, metadata=meta)
                out.append(str(path))
    except OSError as error:
        raise ConfigError(f"{folder}: figures cannot be written there ({error.strerror}); free space, or mend the folder's permissions") from None
    return out


def _figures(found: dict[str, Any]) -> list[tuple[str, Any]]:
    scores = found["scores"]
    figures = [
        ("score-over-load", _curves(scores, along="load", fixed=("tick_budget", "reactive_budget"), axis="cognitive load")),
        ("score-over-pressure", _curves(scores, along="tick_budget", fixed=("load",), axis="tick budget N_TE, tokens (less is more pressure)")),
        ("score-over-ntr", _curves([told for told in scores if told["reactive_budget"]], along="reactive_budget", fixed=("load", "tick_budget"), axis="reactive budget N_TR, tokens")),
        ("tokens-of-answers", _token_curves(found["tokens"], "reactor", "answer")),
        ("tokens-of-plans", _token_curves(found["tokens"], "plans", "plan")),
    ]
    return [(name, figure) for name, figure in figures if figure is not None]


def _panels(names: Sequence[str]) -> tuple[Any, list[Any]]:
    """A figure with a panel for each name, side by side, without the global state of pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * len(names) + 0.8, 3.9), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, names):
        axis.set_title(name)
        axis.grid(alpha=0.25)
    return figure, list(axes)


def _curves(scores: Sequence[dict[str, Any]], *, along: str, fixed: Sequence[str], axis: str) -> Any:
    """Score with its interval over one column, a panel a game, a line an agent; None where no line has two points."""
    lines: defaultdict[str, defaultdict[tuple[Any, ...], list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for told in scores:
        if told["score"]["mean"] is not None:
            lines[told["game"]][told["agent"], *(told[name] for name in fixed)].append(told)
    # N_TR follows N_TE where nobody gave it, so over pressure it may differ from point to point.
    keep = {game: {who: _one_each(members, along) for who, members in group.items()} for game, group in lines.items()}
    keep = {game: {who: members for who, members in group.items() if len(members) > 1} for game, group in keep.items()}
    games = [game for game, group in keep.items() if group]
    if not games:
        return None
    figure, axes = _panels(games)
    who_all = sorted({who for game in games for who in keep[game]}, key=str)
    varies = [place for place in range(len(fixed)) if len({who[place + 1] for who in who_all} - {None}) > 1]
    places: list[Any] = sorted({told[along] for game in games for members in keep[game].values() for told in members}, key=_rank(along))
    for panel, game in zip(axes, games):
        for number, who in enumerate(who_all):
            members = sorted(keep[game].get(who, []), key=lambda told: _rank(along)(told[along]))
            if not members:
                continue
            # A little aside of each other, so that intervals do not hide one another.
            aside = (number - (len(who_all) - 1) / 2) * 0.04
            xs = [places.index(told[along]) + aside for told in members]
            ys = [told["score"]["mean"] for told in members]
            known = [told["score"] for told in members]
            # Where there is no interval none is drawn: one of no width would say that all is known.
            below = [math.nan if told["low"] is None else max(0.0, told["mean"] - told["low"]) for told in known]
            above = [math.nan if told["high"] is None else max(0.0, told["high"] - told["mean"]) for told in known]
            label = " ".join([who[0], *(f"{SHORT.get(fixed[place], '')}{who[place + 1]}" for place in varies if who[place + 1] is not None)])
            look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], "capsize": 3, "linewidth": 1.6, "markersize": 5}
            panel.errorbar(xs, ys, yerr=[below, above], label=label, **look)
        panel.set_xticks(range(len(places)), [str(place) for place in places])
        panel.set_xlabel(axis)
        panel.set_ylim(-0.03, 1.05)
    axes[0].set_ylabel("normalised score")
    _legend(figure, axes)
    return figure


def _rank(along: str) -> Callable[[Any], Any]:
    """In which order a column's values stand: loads as they get harder, tick budgets as pressure rises, reactive budgets as they grow."""
    if along == "load":
        return lambda value: (LOADS.index(value) if value in LOADS else len(LOADS), str(value))
    return lambda value: -value if along == "tick_budget" else value


def _one_each(members: Sequence[dict[str, Any]], along: str) -> list[dict[str, Any]]:
    """One line for each value of the column: of several reactive budgets the one nearest the default."""
    best: dict[Any, dict[str, Any]] = {}
    for told in members:
        held = best.get(told[along])
        if held is None or _unusual(told) < _unusual(held):
            best[told[along]] = told
    return list(best.values())


def _unusual(told: dict[str, Any]) -> int:
    return abs((told["reactive_budget"] or USUAL_SHARE) - USUAL_SHARE)


def _token_curves(tokens: Sequence[dict[str, Any]], kind: str, word: str) -> Any:
    """The share of streams of a kind that need no more than so many tokens, a panel a game; None without any."""
    told = [one for one in tokens if one[kind] is not None and len(one[kind]["cdf"]) > 1]
    games = list(dict.fromkeys(one["game"] for one in told if one["game"] != ALL))
    if not games:
        return None
    figure, axes = _panels(games)
    agents = sorted({one["agent"] for one in told})
    for panel, game in zip(axes, games):
        for one in (one for one in told if one["game"] == game):
            xs, ys = zip(*one[kind]["cdf"])
            number = agents.index(one["agent"])
            panel.step([xs[0], *xs], [0.0, *ys], where="post", label=one["agent"], color=COLOURS[number % len(COLOURS)], linewidth=1.6)
        panel.set_xlabel(f"tokens of {'an' if word[0] in 'aeiou' else 'a'} {word}")
        panel.set_ylim(0, 1.02)
    axes[0].set_ylabel(f"share of {word}s that need no more")
    _legend(figure, axes)
    return figure


def _legend(figure: Any, axes: Sequence[Any]) -> None:
    known = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())}
    shown = list(known.items())[:MOST_LABELS]
    figure.legend([handle for _, handle in shown], [label for label, _ in shown], loc="outside lower center", ncols=min(4, len(shown)), frameon=False)
