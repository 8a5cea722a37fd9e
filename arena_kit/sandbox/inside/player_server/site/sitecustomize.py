"""Read by every Python that a script is run by: gives it the submission's packages, as players get them."""

import os

import arena_packages  # type: ignore[import-not-found]  # beside this file

arena_packages.add(os.environ["ARENA_PACKAGES"])
