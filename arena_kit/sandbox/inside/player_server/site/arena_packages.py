"""Makes the packages that a submission requires importable, in players and in scripts."""

import sys


def add(folder: str) -> None:
    """Put the folder before the image's packages on Python's path, but behind the standard library.

    It is a plain entry and not a site folder, so that `.pth` files in it have no effect.
    """
    if folder:
        sites = (i for i, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
        sys.path.insert(next(sites, len(sys.path)), folder)
