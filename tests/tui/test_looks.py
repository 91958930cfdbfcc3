"""Looks: every voice can be read and told from every other, also by people who see colours differently."""

from itertools import combinations

import pytest

from rtdesk.tui.looks import LOOKS, VOICES, Look, contrast, look_for, make_look

# Machado, Oliveira, Fernandes (2009), full severity, on linear RGB.
SIMULATIONS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour: str) -> list[float]:
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def lab(rgb: list[float]) -> list[float]:
    red, green, blue = (min(1.0, max(0.0, value)) for value in rgb)
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in xyz)
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def seen(colour: str, simulation: str) -> list[float]:
    rgb = linear(colour)
    return lab([sum(share * value for share, value in zip(row, rgb)) for row in SIMULATIONS[simulation]])


@pytest.mark.parametrize("name", ["dark", "light"])
def test_voices_and_text_stand_out_from_the_background(name: str) -> None:
    look = make_look(name)
    background = look.value("bg")
    for word in (*VOICES, "text", "dim", "bright", "plot", *(f"s_{name}" for name in look.segment)):
        assert contrast(look.value(word), background) >= 4.5, word
    # What is over, and figures at an edge: quieter, but to be read.
    assert 3.5 <= contrast(look.value("faint"), background) < contrast(look.value("dim"), background)
    for voice in VOICES:
        assert contrast(look.value("ink"), look.value(voice)) >= 4.5, voice


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("simulation", list(SIMULATIONS))
def test_voices_stay_apart_under_colour_vision_simulations(name: str, simulation: str) -> None:
    look = make_look(name)
    for one, other in combinations(VOICES, 2):
        distance = sum((a - b) ** 2 for a, b in zip(seen(look.value(one), simulation), seen(look.value(other), simulation))) ** 0.5
        assert distance >= 24, (one, other)


def test_mono_has_no_colour_at_all() -> None:
    look = make_look("mono")
    styles = [*look.voice.values(), *look.chip.values(), look.base, look.dim, look.brand, look.notice, look.paint("head", "planner")]
    assert all(style.color is None and style.bgcolor is None for style in styles)


@pytest.mark.parametrize("name", LOOKS)
def test_the_ascii_signs_are_ascii(name: str) -> None:
    signs = make_look(name, ascii=True).signs
    for word in Look(name, make_look(name).palette, ascii=True).signs.__slots__:
        value = getattr(signs, word)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        assert all(str(part).isascii() for part in parts), word


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"NO_COLOR": "", "COLORTERM": "truecolor", "TERM": "xterm"}, "mono"),
        ({"TERM": "xterm-256color"}, "dark"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "dark"),
        ({"TERM": "linux"}, "ansi"),
        ({"TERM": "vt100"}, "mono"),
        ({}, "mono"),
    ],
)
def test_the_look_a_terminal_gets_unasked(environ: dict[str, str], name: str) -> None:
    assert look_for(environ) == name


def test_an_unknown_look_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="unknown look 'blue': expected one of dark, light, ansi, mono"):
        make_look("blue")
