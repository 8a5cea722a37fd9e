"""Sets up imports as for players; every Python process of a script runs this file when it starts."""

import os

import arena_packages  # type: ignore[import-not-found]  # beside this file
import arena_sources  # type: ignore[import-not-found]  # beside this file

arena_packages.add(os.environ["ARENA_PACKAGES"])
arena_sources.only_sources(*os.environ["ARENA_SOURCES"].split(os.pathsep))
