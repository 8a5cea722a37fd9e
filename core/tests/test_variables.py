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
