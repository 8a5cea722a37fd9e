"""Values of JSON for properties: any that a document may hold without flaws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

C1 = "".join(map(chr, range(0x7F, 0xA0)))
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters=C1), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e9, 1e9, allow_nan=False)
    | TEXTS
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
