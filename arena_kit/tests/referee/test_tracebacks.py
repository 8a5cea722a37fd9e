from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from arena_kit.referee.tracebacks import OwnLine, own_line, without_folders

IN_A_CONTAINER = """Traceback (most recent call last):
  File "/arena/player_server/serving.py", line 131, in answer
    action = playing[match].step(state, valid[first:end], reward)
  File "/player/player.py", line 12, in step
    return helper.choose(self.plan)
  File "/player/tools/helper.py", line 3, in choose
    return float(np.linalg.inv(plan))
  File "/usr/lib/python3.11/site-packages/numpy/linalg/_linalg.py", line 561, in inv
    raise LinAlgError("Singular matrix")
numpy.linalg.LinAlgError: Singular matrix"""
SHOWN = """Traceback (most recent call last):
  File "…/serving.py", line 131, in answer
    action = playing[match].step(state, valid[first:end], reward)
  File "player.py", line 12, in step
    return helper.choose(self.plan)
  File "tools/helper.py", line 3, in choose
    return float(np.linalg.inv(plan))
  File "site-packages/numpy/linalg/_linalg.py", line 561, in inv
    raise LinAlgError("Singular matrix")
numpy.linalg.LinAlgError: Singular matrix"""


@pytest.mark.parametrize("folder", ["/player", "/srv/arena/data/players/3f/files"])
def test_folders_of_the_machine_are_left_out_and_the_own_line_is_found(folder: str) -> None:
    trace = IN_A_CONTAINER.replace("/player/", f"{folder}/")
    assert without_folders(trace) == SHOWN
    found = OwnLine("tools/helper.py, line 3, in choose", "return float(np.linalg.inv(plan))")
    assert own_line(trace) == found
    assert own_line(SHOWN) == found, "a text without folders is understood too"


def test_a_real_traceback_of_a_player_is_understood(tmp_path: Path) -> None:
    player = tmp_path / "player.py"
    player.write_text("def step(plan):\n    secret = plan['nine']\n    return secret\n")
    scope: dict[str, object] = {}
    exec(compile(player.read_text(), str(player), "exec"), scope)
    try:
        scope["step"]({})  # type: ignore[operator]
    except KeyError:
        trace = traceback.format_exc()
    found = own_line(trace)
    assert found is not None
    assert found.place == "player.py, line 2, in step"
    assert str(tmp_path) not in without_folders(trace)


def test_what_is_no_traceback_of_a_player_has_no_own_line() -> None:
    for text in ("", "Killed.", 'File "player.py"', SHOWN.replace("player.py", "other.py")):
        assert own_line(text) is None
    assert without_folders("resolving numpy\ndone") == "resolving numpy\ndone"


def test_code_that_a_module_runs_while_it_is_loaded_has_no_function() -> None:
    trace = 'Traceback (most recent call last):\n  File "/player/player.py", line 1, in <module>\n    import nothing\n'
    assert own_line(trace) == OwnLine("player.py, line 1", "import nothing")
