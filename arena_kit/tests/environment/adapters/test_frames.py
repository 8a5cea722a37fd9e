"""What people see of an episode: its frames, texts and pictures."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import pytest

from arena_kit.environment.adapters.gymnasium import SHOWN_VALUES
from arena_kit.environment.adapters.picture import MOST_BARS, frame_to_svg
from arena_kit.environment.adapters.texts import explained, number, plain
from arena_kit.environment.protocol import Environment
from arena_kit.environment.registry import get_spec
from arena_kit.tests.environment.playing import installed

SVG = "{http://www.w3.org/2000/svg}"


def seen(environment: Environment) -> bytes:
    raw = environment.observe(0).observation
    assert isinstance(raw, bytes)
    return raw


def test_a_frame_says_what_led_to_it_and_what_is_seen() -> None:
    environment = get_spec("cart-pole").make()
    environment.reset(3)
    assert environment.frame()["action"] is None
    environment.step({0: 1})
    frame = environment.frame()
    values = struct.unpack("<4f", seen(environment))
    assert frame == {
        "step": 1,
        "action": "push right",
        "reward": 1.0,
        "return": 1.0,
        "over": False,
        "truncated": False,
        "observation": list(values),
        "size": 4,
        "names": ["cart position", "cart velocity", "pole angle", "pole angular velocity"],
    }
    lines = environment.text().splitlines()
    assert lines[0] == "Step 1: push right. Reward 1, return 1."
    assert lines[2] == f"cart velocity: {values[1]:.4g}"


def test_the_last_frame_says_how_the_episode_ended() -> None:
    lake = get_spec("frozen-lake-deterministic").make()
    lake.reset(0)
    lake.step({0: 2})
    lake.step({0: 1})
    assert lake.text() == "Step 2: down. Reward 0, return 0. The end.\nSFFF\nF@FH\nFFFH\nHFFG"
    car = get_spec("mountain-car").make()
    car.reset(0)
    while car.to_move:
        car.step({0: 1})
    assert car.text().startswith("Step 200: nothing. Reward -1, return -200. Stopped by the limit.")


def test_large_observations_are_shortened() -> None:
    environment = installed(get_spec("humanoid")).make()
    environment.reset(0)
    frame = environment.frame()
    assert (len(frame["observation"]), frame["size"]) == (SHOWN_VALUES, 348)
    assert environment.text().splitlines()[-1] == "and 284 more values"
    picture = ElementTree.fromstring(frame_to_svg(frame))
    assert len([text for text in picture.iter(f"{SVG}text") if "more values" in (text.text or "")]) == 1
    assert (picture.findtext(f"{SVG}desc") or "").count(":") == MOST_BARS


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12345, "12345"), (-3.0, "-3"), (0.123456, "0.1235"), (1e30, "1e+30"), (-0.4, "-0.4"), (None, "not finite")],
)
def test_numbers_are_short_and_whole_ones_complete(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_colours_become_signs_and_words() -> None:
    painted = "  (Down)\nS\x1b[41mF\x1b[0mFF\n\x1b[34;1mG\x1b[0m \n\n"
    assert plain(painted) == "S@FF\nG"
    passenger, destination = 4, 2
    assert explained("Taxi", "x", [passenger * 4 + destination]).endswith(
        "The passenger is in the taxi and wants to Y."
    )


def test_the_taxi_and_the_walker_are_where_their_states_say() -> None:
    taxi = get_spec("taxi").make()
    for seed in range(5):
        taxi.reset(seed)
        (state,) = struct.unpack("<h", seen(taxi))
        grid = taxi.frame()["text"].splitlines()
        assert grid[1 + state // 100][2 * (state // 20 % 5) + 1] == "@"
        assert f"wants to {'RGYB'[state % 4]}." in grid[-1]
    cliff = get_spec("cliff-walking").make()
    cliff.reset(0)
    assert cliff.frame()["text"].splitlines()[3].startswith("@  C")


def test_a_picture_tells_a_screen_reader_all_of_it() -> None:
    lake = get_spec("frozen-lake").make()
    lake.reset(0)
    told = ElementTree.fromstring(frame_to_svg(lake.frame())).findtext(f"{SVG}desc") or ""
    assert told.startswith("Start. Return 0. @FFF")
    cart = get_spec("cart-pole").make()
    cart.reset(0)
    while cart.to_move:
        cart.step({0: 0})
    told = ElementTree.fromstring(frame_to_svg(cart.frame())).findtext(f"{SVG}desc") or ""
    assert "The episode is over." in told
    assert "pole angle: " in told


@pytest.mark.parametrize(
    ("value", "side", "length"), [(1.0, "first", 40.0), (-3.0, "second", 60.0), (1e30, "first", 80.0)]
)
def test_bars_grow_with_their_values_to_the_side_of_their_sign(value: float, side: str, length: float) -> None:
    frame = {
        "step": 0, "action": None, "reward": 0.0, "return": 0.0, "over": False, "truncated": False,
        "observation": [value, None], "size": 2, "names": [],
    }  # fmt: skip
    picture = ElementTree.fromstring(frame_to_svg(frame))
    (bar,) = (part for part in picture.iter(f"{SVG}rect") if part.get("class") == side)
    assert float(bar.get("width", "0")) == length
    assert "not finite" in (picture.findtext(f"{SVG}desc") or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#@.\n#..", ["#", ".", "#", ".", "."]),  # a floor of full stops is not a sentence
        ("..\n..", [".", ".", ".", "."]),
        ("", []),
        ("@G\nThe passenger waits at R.", ["G", "The passenger waits at R."]),
    ],
)
def test_a_board_may_hold_full_stops_or_nothing(text: str, expected: list[str]) -> None:
    frame = {"text": text, "step": 0, "action": None, "return": 0.0, "over": False}
    *labels, _, _ = (part.text for part in ElementTree.fromstring(frame_to_svg(frame)).iter(f"{SVG}text"))
    assert labels == expected
