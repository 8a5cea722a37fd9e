"""Which line of a script's output is its score, and which sentence is given without a score."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.referee.script import (
    LARGEST_SCORE,
    MAX_ERROR_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_METRICS,
    ScriptFailure,
    ScriptFault,
    ScriptScore,
    judge,
    read_score,
)
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import ScriptEnd, ScriptLaunch, ScriptLimits

FINITE = st.floats(-LARGEST_SCORE, LARGEST_SCORE)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
LIMITS = ScriptLimits()


def score_of(log: str) -> ScriptScore:
    found = read_score(log, 0)
    assert isinstance(found, ScriptScore), found
    return found


def fault_of(log: str, exit_status: int | None = 0) -> ScriptFault:
    found = read_score(log, exit_status)
    assert isinstance(found, ScriptFailure), found
    return found.code


@pytest.mark.parametrize(
    ("log", "score"),
    [
        ('{"score": 195.5}', 195.5),
        ('training\n{"score": -200}\n', -200.0),
        ('{"score": 1}\n{"score": 2}\n', 2.0),
        ('{"score": 1}\nbye\n', 1.0),
        ('  {"score": 1e3}\t\n\n\n', 1000.0),
        ('50%\r100%\r{"score": 4}\r\n', 4.0),
        ('{"score": 5}\n{"score": "high"}\n', 5.0),
        ('{"score": 5}\n{"score": NaN}\n', 5.0),
        ('{"score": 5}\n{"loss": 1}\n', 5.0),
        ('{"score": 5}\n[{"score": 6}]\n', 5.0),
        ('{"score": 5}\n{"score": 6, "score": 7}\n', 5.0),
        ('{"score": 5}\n{"score": 6, "more": {"a": 1, "a": 2}}\n', 5.0),
        ('{"score": 5}\n{"score": 6', 5.0),
        ("{'score': 6}\n" + '{"score": 5}', 5.0),
        ('{"score": 5, "note": "\\ud800"}', 5.0),
        ('{"score": 5, "note": "one\u2028line"}', 5.0),
        ('{"score": 5, "metrics": [NaN]}', 5.0),
        ('{"score": 5}\n{"score": 6, "x": ' + "[" * 5000 + "]" * 5000 + "}\n", 5.0),
        ('{"score": 5}\n{"score": 6, "x": "' + "x" * MAX_LINE_CHARACTERS + '"}\n', 5.0),
        ('[12 bytes cut]{"score": 6}\n{"score": 5}\n', 5.0),
    ],
)
def test_the_last_line_that_is_one_object_with_a_finite_score_counts(log: str, score: float) -> None:
    assert score_of(log) == ScriptScore(score)


PRETTY = json.dumps({"score": 12.5, "best": {"score": 99.0}, "metrics": [1, 2]}, indent=2)


@pytest.mark.parametrize(
    ("log", "score"),
    [
        ('\rEpisode 30\tmean: 15.00{"score": 12.5, "episodes": 30}\n', 12.5),
        ('100%|####| 30/30 [00:01<00:00]{"score": 12.5}', 12.5),
        ('{"score": 12.5}UserWarning: Env not closed\n', 12.5),
        ('{"score": 12.5} done\nbye\n', 12.5),
        (f"{PRETTY}\n", 12.5),
        (f"progress 100%{PRETTY}\nbye\n", 12.5),
        (json.dumps({"score": 12.5, "runs": [{"score": 1}, {"score": 2}]}, indent=4), 12.5),
        ("\n".join(f"  {line}" for line in PRETTY.split("\n")), 12.5),
        ('{\n"score": 12.5\n}\n', 12.5),
        ('\x1b[32m{"score": 12.5}\x1b[0m\n', 12.5),
        ('\x1b[1A\x1b[2K\x1b[1;31m{"score": 12.5}\x1b[0m', 12.5),
        ('\ufeff{"score": 12.5}\n', 12.5),
        ('>>> {"score": 12.5}\n', 12.5),
        ('INFO:root:{"score": 12.5}\n', 12.5),
        ("loss {'a': 1} " + '{"score": 12.5}', 12.5),
        (json.dumps({"score": 12.5, "metrics": [0.123456789] * 9000}), 12.5),
        ('{"score": 6}{"score": 12.5}\n', 12.5),
        ('[12 bytes cut]{"score": 6}\n{\n "score": 12.5\n}', 12.5),
    ],
)
def test_a_score_is_read_behind_progress_over_lines_and_in_colours(log: str, score: float) -> None:
    found = read_score(log, 0)
    assert isinstance(found, ScriptScore), found
    assert found.score == score


@pytest.mark.parametrize(
    "log",
    [
        '{"x": {"score": 3}',
        '[{"score": 6}]',
        '[1,\n{\n"score": 6\n}\n]',
        '{"a": [{"score": 6}',
        '[9 bytes cut]x{"score": 6}',
    ],
)
def test_a_score_within_something_else_is_none(log: str) -> None:
    assert fault_of(log) is ScriptFault.NO_SCORE


@pytest.mark.parametrize(
    ("printed", "log", "score"),
    [
        ('{"score": 12.5}', '{"score": 12.5}UserWarning: {"score": 1}\n', 12.5),
        ('{"score": 12.5}\n', '{"sco\nwarning\nre": 12.5}\n', 12.5),
        ("", '{"score": 3}\n', 3.0),
        ("bye\n", 'bye\n{"score": 3}\n', 3.0),
    ],
)
def test_the_score_is_that_of_standard_output_if_there_is_one(printed: str, log: str, score: float) -> None:
    found = judge(ScriptEnd(Ending.EXITED, 0, 1.0, None, log, printed), LIMITS)
    assert isinstance(found, ScriptScore)
    assert found.score == score


def test_a_score_that_was_cut_says_so() -> None:
    found = read_score("[9000 bytes cut]1, 2]}\n", 0)
    assert isinstance(found, ScriptFailure)
    assert "print a shorter line" in found.error


@pytest.mark.parametrize(
    ("log", "code"),
    [
        ("", ScriptFault.NO_SCORE),
        ("score: 12\n", ScriptFault.NO_SCORE),
        ('{"Score": 12}\n', ScriptFault.NO_SCORE),
        ('[1, {"score": 12}]', ScriptFault.NO_SCORE),
        ('[12 bytes cut]{"score": 6}\n', ScriptFault.NO_SCORE),
        ("{" * 100_000, ScriptFault.NO_SCORE),
        ('{"score": ' + "[" * 30_000 + "}", ScriptFault.NO_SCORE),
        ('{"score": "12"}', ScriptFault.NOT_A_NUMBER),
        ('{"score": true}', ScriptFault.NOT_A_NUMBER),
        ('{"score": null}', ScriptFault.NOT_A_NUMBER),
        ('{"score": [12]}', ScriptFault.NOT_A_NUMBER),
        ('{"score": {"mean": 12}}', ScriptFault.NOT_A_NUMBER),
        ('{"score": NaN}', ScriptFault.NOT_FINITE),
        ('{"score": Infinity}', ScriptFault.NOT_FINITE),
        ('{"score": -Infinity}', ScriptFault.NOT_FINITE),
        ('{"score": 1e999}', ScriptFault.NOT_FINITE),
        # The number is too large for the database.
        ('{"score": -1.1e300}', ScriptFault.NOT_FINITE),
        ('{"score": -1e999}', ScriptFault.NOT_FINITE),
        ('{"score": 1' + "0" * 400 + "}", ScriptFault.NOT_FINITE),
        ('{"score": 1' + "0" * 9000 + "}", ScriptFault.NOT_FINITE),
        ('{"score": "a"}\n{"score": NaN}\n{"loss": 2}', ScriptFault.NOT_FINITE),
    ],
)
def test_what_is_wrong_with_the_last_score_is_said(log: str, code: ScriptFault) -> None:
    assert fault_of(log) is code


@pytest.mark.parametrize(
    ("exit_status", "code", "said"),
    [
        (1, ScriptFault.FAILED, "ended with exit status 1, not 0."),
        (255, ScriptFault.FAILED, "exit status 255"),
        (-9, ScriptFault.KILLED, "by signal 9 (SIGKILL)."),
        (-64, ScriptFault.KILLED, "by signal 64"),
        (-77, ScriptFault.KILLED, "by signal 77."),
        (None, ScriptFault.KILLED, "from outside."),
    ],
)
def test_a_script_that_did_not_end_well_has_no_score(exit_status: int | None, code: ScriptFault, said: str) -> None:
    found = read_score('Traceback\n{"score": 12}\n', exit_status)

    assert isinstance(found, ScriptFailure)
    assert (found.code, said in found.error) == (code, True)
    assert found.error.endswith('Its output ends with:\nTraceback\n{"score": 12}')


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        (Ending.TIMED_OUT, ScriptFault.TIMED_OUT, "not ended after 300 s."),
        (Ending.OUT_OF_MEMORY, ScriptFault.OUT_OF_MEMORY, "more than 512 MiB of memory."),
    ],
)
def test_limits_say_which_of_them_was_met(ending: Ending, code: ScriptFault, said: str) -> None:
    found = judge(ScriptEnd(ending, None, 1.0, None, '{"score": 12}\n'), LIMITS)

    assert isinstance(found, ScriptFailure)
    assert (found.code, said in found.error) == (code, True)


def test_the_last_500_characters_of_the_output_are_quoted_and_silence_is_named() -> None:
    long, silent = read_score("a" * 600 + "b" * 500 + "\n\n", 0), read_score("\n \n", 0)

    assert isinstance(long, ScriptFailure)
    assert isinstance(silent, ScriptFailure)
    assert long.error.endswith(":\n" + "b" * 500)
    assert silent.error.endswith("that it prints. It printed nothing.")


@pytest.mark.parametrize(
    ("metrics", "kept"),
    [
        ("[1, 2.5, -3]", (1.0, 2.5, -3.0)),
        ('[1, "2", true, null, [3], NaN, 1e999, 4]', (1.0, 4.0)),
        ('{"length": 9, "won": true, "name": "x", "deep": {"a": 1}, "loss": -Infinity}', {"length": 9.0}),
        ('{"bell\\u0007\\ud800": 1}', {"bell": 1.0}),
        ("[1" + "0" * 400 + "]", None),
        ("[]", None),
        ("{}", None),
        ('["none"]', None),
        ("7", None),
        ('"7"', None),
        ("null", None),
    ],
)
def test_of_metrics_the_finite_numbers_are_kept(metrics: str, kept: Any) -> None:
    assert score_of(f'{{"score": 1, "metrics": {metrics}}}').metrics == kept


def test_metrics_are_bounded_in_number_and_length() -> None:
    many = score_of(json.dumps({"score": 1, "metrics": list(range(MAX_METRICS + 5))}))
    named = score_of(json.dumps({"score": 1, "metrics": {"n" * 300: 1}}))

    assert many.metrics == tuple(map(float, range(MAX_METRICS)))
    assert named.metrics == {"n" * 100: 1.0}


@pytest.mark.parametrize(
    ("episodes", "kept"),
    [("0", 0), ("100", 100), ("-1", None), ("1.0", None), ("true", None), ('"5"', None), (str(2**31), None)],
)
def test_episodes_are_a_whole_number_or_nothing(episodes: str, kept: int | None) -> None:
    assert score_of(f'{{"score": 1, "episodes": {episodes}}}').episodes == kept


@given(before=st.text(), score=FINITE, after=st.text(alphabet="abc \n{}[]\"'"))
def test_any_finite_score_is_read_whatever_stands_around_it(before: str, score: float, after: str) -> None:
    assert score_of(f"{before}\n{json.dumps({'score': score})}\n{after}").score == score


@pytest.mark.parametrize(
    "log",
    [
        "{'score': 3.5}",
        '{"score": np.float64(5.0)}',
        '{"score": 5,}',
        "{\u201cscore\u201d: 5}",
        "{score: 5}",
        '{"Score": 5}',
    ],
)
def test_what_is_nearly_a_score_says_how_to_print_one(log: str) -> None:
    found = read_score(log, 0)
    assert isinstance(found, ScriptFailure)
    assert 'by itself on its line, as json.dumps({"score": float(score)}) writes it.' in found.error


def test_a_script_without_any_score_reads_nothing_about_json() -> None:
    found = read_score("score: 5", 0)
    assert isinstance(found, ScriptFailure)
    assert "json.dumps" not in found.error


@given(log=st.text() | st.lists(ANY_JSON.map(json.dumps)).map("\n".join), exit_status=st.none() | st.integers(-70, 255))
def test_no_output_leads_to_anything_but_a_plain_verdict(log: str, exit_status: int | None) -> None:
    found = read_score(log, exit_status)

    if isinstance(found, ScriptFailure):
        assert 0 < len(found.error) <= MAX_ERROR_CHARACTERS
        found.error.encode("utf-8")
        assert "\0" not in found.error
    else:
        assert exit_status == 0
        assert math.isfinite(found.score)


@given(report=ANY_JSON)
def test_whatever_is_reported_beside_the_score_only_numbers_are_kept(report: Any) -> None:
    line = json.dumps({"score": 3, "metrics": report, "episodes": report})
    found = score_of(line)

    metrics = found.metrics if isinstance(found.metrics, dict) else dict(enumerate(found.metrics or ()))
    assert all(type(value) is float and math.isfinite(value) for value in metrics.values())
    json.dumps(list(metrics), ensure_ascii=False).encode("utf-8")
    assert found.episodes is None or (found.episodes == report and type(found.episodes) is int)


@pytest.mark.parametrize(
    "environment",
    ["", "-v", "--help", "a b", "a;id", "$(id)", "a\n", "é-v1", "CartPole-v1\0", "x" * 129, "/etc/passwd"],
)
def test_an_environment_cannot_be_called_anything(environment: str) -> None:
    with pytest.raises(ValueError, match="id of an environment"):
        ScriptLaunch("image", "name", environment, LIMITS, {})


@pytest.mark.parametrize("environment", ["CartPole-v1", "ALE/Pong-v5", "my_module:My.Env-v0", "_x"])
def test_ids_of_gymnasium_are_ids_of_environments(environment: str) -> None:
    assert ScriptLaunch("image", "name", environment, LIMITS, {}).environment_id == environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_limit_bytes", 0), ("cpu_count", 0.0), ("cpu_count", math.inf), ("pids", 1), ("seconds", 0.0),
        ("seconds", math.nan), ("log_limit_bytes", 10), ("log_limit_bytes", 1 << 20), ("nice", -1), ("nice", 20),
        ("ionice_class", 1), ("ionice_level", 3), ("open_files", 3), ("file_limit_bytes", -1), ("start_seconds", -1.0),
    ],
)  # fmt: skip
def test_limits_that_make_no_sense_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        ScriptLimits(**{name: value})  # type: ignore[arg-type]
