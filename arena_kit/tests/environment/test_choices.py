"""How people see the actions of the shipped games."""

from __future__ import annotations

from random import Random

import pytest

from arena_kit.environment.choices import Choice, choices_of, picture_size
from arena_kit.environment.registry import get_spec


@pytest.mark.parametrize("name", ["tic-tac-toe-v2", "connect-four-v2", "quarto-v2", "pong-v1"])
def test_every_valid_action_can_be_told_apart_by_name_key_and_place_at_every_state(name: str) -> None:
    spec, random = get_spec(name), Random(7)
    environment = spec.make()
    environment.reset(7)
    for _ in range(30):
        if not environment.to_move:
            break
        frame, valid = environment.frame(), environment.observe(environment.to_move[0]).valid_actions
        choices = choices_of(spec, frame, valid)
        assert [choice.action for choice in choices] == list(valid)
        width, height = picture_size(spec.render(frame))
        for choice in choices:
            for part in choice.parts:
                assert part.area is not None
                x, y, wide, high = part.area
                assert 0 <= x < x + wide <= width
                assert 0 <= y < y + high <= height
        told_apart(choices, width)
        environment.step({seat: random.choice(valid) for seat in environment.to_move})


def told_apart(choices: tuple[Choice, ...], width: float) -> None:
    """Assert that no two decisions of a step look alike."""
    assert width > 0
    for depth in range(len(choices[0].parts)):
        parts = {choice.parts[depth].word: choice.parts[depth] for choice in choices}
        for seen in ("name", "key", "area"):
            assert len({getattr(part, seen) for part in parts.values()}) == len(parts)


def test_an_action_without_a_description_has_its_number_and_an_unknown_picture_has_no_size() -> None:
    spec = get_spec("connect-four-v2")
    # What the code of an environment leaves out is there all the same.
    assert [choice.name for choice in choices_of(spec, {}, [3])] == ["Column 3"]
    assert picture_size("<svg>") == (0.0, 0.0)
