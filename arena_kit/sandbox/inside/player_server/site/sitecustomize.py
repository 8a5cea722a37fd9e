"""Read by every Python that a script is run by: packages and sources of the submission are found as by players."""

import os

import arena_packages  # type: ignore[import-not-found]  # beside this file
import arena_sources  # type: ignore[import-not-found]  # beside this file

arena_packages.add(os.environ["ARENA_PACKAGES"])
arena_sources.only_sources(*os.environ["ARENA_SOURCES"].split(os.pathsep))
