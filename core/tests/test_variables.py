from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.variables import Variables


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
    assert Variables({"SECONDS": word}).decimal("SECONDS", 2.5) == value
    assert Variables({}).decimal("SECONDS", 2.5) == 2.5


@pytest.mark.parametrize("word", ["", "soon", "-1", "nan", "inf"])
def test_what_is_no_decimal_is_refused_with_what_was_given(word: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"^SECONDS must be a number, not below 0, not '{word}'\.$"):
        Variables({"SECONDS": word}).decimal("SECONDS", 2.5)
