"""Progress bars for notebooks and terminals; what takes less than a second shows none."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def bar(total: int, unit: str, *, form: str | None = None, quiet: bool = False) -> Any:
    """Return a bar of tqdm: a widget where the notebook has widgets, otherwise text. form: tqdm's `bar_format`."""
    with warnings.catch_warnings():
        # Without widgets, tqdm advises to install them.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return tqdm(total=total, unit=f" {unit}", disable=quiet, leave=False, delay=1, bar_format=form)


@contextlib.contextmanager
def progress(total: int, unit: str, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many are done."""
    with bar(total, unit, quiet=quiet) as shown:

        def show(done: int) -> None:
            shown.update(done - shown.n)

        yield show
