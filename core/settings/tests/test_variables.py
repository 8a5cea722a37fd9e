from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from core.settings.variables import Variables, decimal, whole_number, yes_or_no


@pytest.mark.parametrize(("word", "value"), [("0", 0.0), ("0.05", 0.05), ("1", 1.0)])
def test_a_share_is_a_number_from_0_to_1(word: str, value: float) -> None:
    assert Variables({"SHARE": word}).share("SHARE", 0.5) == value
    assert Variables({}).share("SHARE", 0.5) == 0.5


@pytest.mark.parametrize("word", ["5%", "", "1.01", "-0.1", "nan"])
def test_anything_else_is_refused(word: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"SHARE must be a number from 0 to 1, not "):
        Variables({"SHARE": word}).share("SHARE", 0.5)


@pytest.mark.parametrize(("word", "value"), [("0", 0.0), ("0.5", 0.5), ("300", 300.0), ("1e3", 1000.0)])
def test_a_decimal_is_a_number_not_below_0(word: str, value: float) -> None:
    assert Variables({"LIMITS": f"seconds={word}"}).pairs("LIMITS", "seconds=2.5", decimal) == {"seconds": value}
    assert Variables({}).pairs("LIMITS", "seconds=2.5", decimal) == {"seconds": 2.5}


@pytest.mark.parametrize("word", ["", "soon", "-1", "nan", "inf"])
def test_what_is_no_decimal_is_refused_with_what_was_given(word: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"^LIMITS: seconds must be a number, not below 0, not '{word}'\.$"):
        Variables({"LIMITS": f"seconds={word}"}).pairs("LIMITS", "seconds=2.5", decimal)


def test_a_secret_comes_from_the_environment_or_from_the_file_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from the file\n")
    assert Variables({"KEY": "given"}).secret("KEY") == "given"
    assert Variables({"KEY": "", "KEY_FILE": str(file)}).secret("KEY") == "from the file"
    assert Variables({"KEY_FILE": ""}).secret("KEY", "default") == "default"


def test_a_secret_whose_file_is_missing_is_refused_by_the_name_of_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="^KEY_FILE cannot be read: .*No such file"):
        Variables({"KEY": "given", "KEY_FILE": str(tmp_path / "none")}).secret("KEY")


def test_only_the_settings_read_the_environment_for_a_secret() -> None:
    secrets = settings.VARIABLES.secrets
    assert {"SECRET_KEY", "INVITATION_CODE", "DATABASE_URL", "POSTGRES_PASSWORD", "REDIS_URL"} <= secrets
    # Whatever sounds like a secret is one.
    words = ("SECRET", "PASSWORD", "TOKEN", "DSN", "_URL", "INVITATION", "REMOTE")
    public = {"EVENTS_URL", "PUBLISHER_WEB_URL", "SITE_URL", "SOURCE_URL"}
    assert {name for name in settings.VARIABLES.names if any(word in name for word in words)} - public <= secrets


def test_pairs_change_those_that_they_name() -> None:
    default = "uploads=20,agents=10"
    assert Variables({}).pairs("LIMITS", default, whole_number) == {"uploads": 20, "agents": 10}
    assert Variables({"LIMITS": " agents = 0 ,"}).pairs("LIMITS", default, whole_number) == {"uploads": 20, "agents": 0}
    assert Variables({"LIMITS": "agents=3"}).pairs("LIMITS", default, whole_number, unset=0) == {
        "uploads": 0,
        "agents": 3,
    }
    assert Variables({}).pairs("LIMITS", default, whole_number, unset=0) == {"uploads": 0, "agents": 0}


def test_some_pairs_are_read_apart() -> None:
    default = "runtime=runc,warm=32"
    with pytest.raises(ImproperlyConfigured, match="warm must be yes or no, not 'maybe'"):
        Variables({"PLAYERS": "warm=maybe"}).pairs("PLAYERS", "warm=yes", str, apart={"warm": yes_or_no})
    for word, value in (("No", False), ("yes", True)):
        given = Variables({"PLAYERS": f"warm={word}"}).pairs("PLAYERS", "warm=yes", str, apart={"warm": yes_or_no})
        assert given == {"warm": value}
    read = Variables({"PLAYERS": "warm=0"}).pairs("PLAYERS", default, str, apart={"warm": whole_number})
    assert read == {"runtime": "runc", "warm": 0}
    with pytest.raises(ImproperlyConfigured, match=r"^PLAYERS: warm must be a whole number, not 'few'\.$"):
        Variables({"PLAYERS": "warm=few"}).pairs("PLAYERS", default, str, apart={"warm": whole_number})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("agent=3", r"LIMITS has no 'agent'. It has agents, uploads\."),
        ("agents=many", r"LIMITS: agents must be a whole number, not 'many'\."),
        ("agents", r"LIMITS must be a comma-separated list of NAME=VALUE; 'agents' is not NAME=VALUE\."),
        ("agents=1,agents=2", r".*'agents' is in it twice\."),
    ],
)
def test_pairs_that_make_no_sense_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{sentence}$"):
        Variables({"LIMITS": text}).pairs("LIMITS", "uploads=20,agents=10", whole_number)


def test_images_are_named_by_versions_of_python_in_their_order() -> None:
    for source, image in (({}, "own"), ({"BASES": ""}, "own"), ({"BASES": "host:5000/other:1"}, "host:5000/other:1")):
        assert Variables(source).images("BASES", "own") == {sys.version_info[:2]: image}
    found = Variables({"BASES": "3.12=new:1, 3.9=old"}).images("BASES", "own")
    assert list(found.items()) == [((3, 12), "new:1"), ((3, 9), "old")]


@pytest.mark.parametrize(
    "text", ["3=base", "3.x=base", "3.11=", "base,other", "base,3.11=a", "3.11=a,3.11=b", "3.11.2=base"]
)
def test_images_without_a_version_are_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="^BASES must be a "):
        Variables({"BASES": text}).images("BASES", "own")
