from __future__ import annotations

from random import Random
from typing import Any

import pytest

from arena_kit.environment.protocol import IllegalAction, MatchOver
from arena_kit.environment.registry import get_spec
from environments.pong.environment import Pong
from environments.pong.rules import MOST_STEPS, POINTS_TO_WIN, Court

SPEC = get_spec("pong")
UP, STAY, DOWN = 0, 1, 2


def started(seed: int = 0, *, mirrored: bool = True) -> Pong:
    environment = Pong(mirrored=mirrored)
    environment.reset(seed)
    return environment


def seen(environment: Pong, seat: int) -> list[float]:
    return list(environment.observe(seat).observation)


class Plain:
    """A second reading of the rules, in numbers of the page: x, y and speeds on a court of 1 x 1.

    Rounding errors of the ball's y grow tenfold with every hit, so its arithmetic has to be the same to the last bit.
    """

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.left = self.right = 0.5
        self.points = {"left": 0, "right": 0}
        self.steps = 0
        self.serve()

    def serve(self) -> None:
        self.x, self.y = 0.5, 0.5
        self.vx = 0.02 if self.chance.random() < 0.5 else -0.02
        self.vy = (2 * self.chance.random() - 1) * 0.02

    @property
    def over(self) -> bool:
        return self.steps == 1000 or 11 in self.points.values()

    def moved(self, paddle: float, action: int) -> float:
        target = paddle + {UP: -0.05, STAY: 0.0, DOWN: 0.05}[action]
        return round(min(0.9, max(0.1, target)), 2)

    def step(self, left: int, right: int) -> tuple[float, float]:
        self.left, self.right = self.moved(self.left, left), self.moved(self.right, right)
        self.steps += 1
        self.x, self.y = round(self.x + self.vx, 2), self.y + self.vy
        if self.y < 0 or self.y > 1:
            self.y = -self.y if self.y < 0 else 2 - self.y
            self.vy = -self.vy
        for wall, paddle, rival in ((0.0, self.left, "right"), (1.0, self.right, "left")):
            if self.x != wall:
                continue
            if abs(self.y - paddle) > 0.1:
                self.points[rival] += 1
                self.serve()
                return (1.0, -1.0) if rival == "left" else (-1.0, 1.0)
            self.vx = -self.vx
            steeper = self.vy + (self.y - paddle) / 0.1 * 0.02 + (2 * self.chance.random() - 1) * 0.01
            self.vy = max(-0.06, min(0.06, steeper))
        return (0.0, 0.0)

    def state(self) -> list[float]:
        return [self.x, self.y, self.vx, self.vy, self.left, self.right, self.points["left"], self.points["right"]]


def compare(seed: int) -> int:
    """Play a random match in both readings; return its length. The seats follow the ball more or less often."""
    environment, plain, chance = started(seed, mirrored=False), Plain(seed), Random(f"moves of {seed}")
    skill = chance.choice([0.0, 0.5, 0.9, 0.97])
    while not plain.over:
        actions = []
        for paddle in (plain.left, plain.right):
            follows = UP if plain.y < paddle - 0.03 else DOWN if plain.y > paddle + 0.03 else STAY
            actions.append(follows if chance.random() < skill else chance.randrange(3))
        assert environment.to_move == (0, 1)
        assert environment.step(dict(enumerate(actions))) == plain.step(*actions)
        assert seen(environment, 0) == pytest.approx(plain.state(), abs=1e-6)
    assert environment.to_move == ()
    assert environment.truncated == (max(plain.points.values()) < 11)
    return plain.steps


def test_random_matches_agree_with_a_plain_reading_of_the_rules() -> None:
    lengths = [compare(seed) for seed in range(8)]
    assert max(lengths) <= MOST_STEPS


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_random_matches_agree_with_a_plain_reading(part: int) -> None:
    for seed in range(1000 * part, 1000 * (part + 1)):
        compare(seed)


def test_the_second_seat_sees_the_court_as_in_a_mirror() -> None:
    mirrored, plain = started(3), started(3, mirrored=False)
    for number in range(200):
        actions = {0: number % 3, 1: (number // 7) % 3}
        mirrored.step(actions)
        plain.step(actions)
        x, y, vx, vy, left, right, points, others = seen(plain, 0)
        assert seen(mirrored, 0) == seen(plain, 0) == seen(plain, 1)
        assert seen(mirrored, 1) == pytest.approx([1 - x, y, -vx, vy, right, left, others, points], abs=1e-6)


def test_the_spec_key_mirrors_the_state_of_the_second_seat() -> None:
    environment: Any = SPEC.make()
    environment.reset(3)
    environment.step({0: UP, 1: DOWN})
    assert SPEC.mirrored
    assert list(environment.observe(1).observation)[4] == pytest.approx(0.55)


def test_a_paddle_stays_within_the_court() -> None:
    environment = started()
    for _ in range(20):
        environment.step({0: UP, 1: DOWN})
    assert seen(environment, 0)[4:6] == pytest.approx([0.1, 0.9])
    assert seen(environment, 1)[4:6] == pytest.approx([0.9, 0.1])


def test_eleven_points_win() -> None:
    environment = started(1)
    rewards = [0.0, 0.0]
    while environment.to_move:
        # The left seat hides at the top, the right one follows the ball.
        ball, paddle = seen(environment, 1)[1], seen(environment, 1)[4]
        follows = UP if ball < paddle - 0.03 else DOWN if ball > paddle + 0.03 else STAY
        for seat, reward in enumerate(environment.step({0: UP, 1: follows})):
            rewards[seat] += reward
    assert rewards[1] > 0 == sum(rewards)
    assert environment.frame()["points"][1] == POINTS_TO_WIN
    assert environment.frame()["winner"] == 1
    assert not environment.truncated
    assert environment.text().endswith("The second seat (right) has won.")
    with pytest.raises(MatchOver):
        environment.step({0: STAY, 1: STAY})


def test_a_match_without_eleven_points_ends_after_a_thousand_steps() -> None:
    court = Court(5)
    while not court.is_over:
        # Both paddles follow the ball at once, whatever its speed.
        court.paddles = [round(court.ball * 20)] * 2
        court.step(STAY, STAY)
    assert court.steps == MOST_STEPS
    assert court.points == [0, 0]


def test_the_ball_leaves_steeper_at_the_end_of_a_paddle() -> None:
    speeds = []
    for place in (10, 9, 11):
        court = Court(8)
        court.column, court.direction, court.ball, court.speed = 1, -1, 0.52, 0.0
        court.paddles = [place, 10]
        court.step(STAY, STAY)
        assert (court.column, court.direction, court.scorer) == (0, 1, None)
        speeds.append(court.speed)
    middle, above, below = speeds
    assert above - middle == pytest.approx(0.01)
    assert below - middle == pytest.approx(-0.01)


@pytest.mark.parametrize("actions", [{0: 3, 1: 1}, {0: 1, 1: -1}, {0: 1}, {1: 1}, {}, {0: 10**30, 1: 0}])
def test_an_action_that_is_wrong_or_missing_changes_nothing(actions: dict[int, int]) -> None:
    environment = started(2)
    before = environment.frame()
    with pytest.raises(IllegalAction):
        environment.step(actions)
    assert environment.frame() == before


def test_a_seed_repeats_a_match_and_another_one_does_not() -> None:
    def states(seed: int) -> list[list[float]]:
        environment, found = started(seed), []
        for number in range(300):
            environment.step({0: number % 3, 1: (number // 5) % 3})
            found.append(seen(environment, 0))
        return found

    assert states(4) == states(4)
    assert states(4) != states(5)


def test_the_text_tells_points_ball_and_paddles() -> None:
    environment = started(0)
    environment.step({0: UP, 1: STAY})
    first, ball, paddles, turn = environment.text().split("\n")
    assert first == "Score: 0 (left) to 0 (right), after 1 step."
    assert ball.startswith("Ball: 0.")
    assert ball.endswith(("moving left.", "moving right."))
    assert paddles == "Paddles: left 0.45, right 0.50 from the top."
    assert turn == "Both seats move at once."


def test_the_picture_shows_a_point_and_the_end() -> None:
    environment = started(1)
    while not any(environment.step({0: UP, 1: UP})):
        assert SPEC.render(environment.frame()).count("<circle") == 1
    picture = SPEC.render(environment.frame())
    assert picture.count("<circle") == 2
    assert "has just scored" in picture
    while environment.to_move:
        environment.step({0: UP, 1: UP})
    assert "has won" in SPEC.render(environment.frame()) or "Draw" in SPEC.render(environment.frame())
