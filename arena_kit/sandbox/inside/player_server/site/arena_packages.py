"""Where Python finds the packages that a submission asked for, in players and in scripts."""

import sys


def add(folder: str) -> None:
    """Let the submission's packages win over those of the image, but never over the standard library.

    A plain entry, no site folder: what `.pth` files say is not done.
    """
    if folder:
        sites = (i for i, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
        sys.path.insert(next(sites, len(sys.path)), folder)
