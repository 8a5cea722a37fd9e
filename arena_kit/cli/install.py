"""Install what a submission requires, as the site's builder does, before anything of the submission starts."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from arena_kit.cli.common import NotInstalled
from arena_kit.cli.needed import PREFIX, check_installed
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.local import cache_folder, package_folder
from arena_kit.image.wheels import Log
from arena_kit.sandbox.base import SandboxUnavailable
from arena_kit.text import plain_text
from arena_kit.upload.requirements import Requirements

INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "HTTPS_PROXY", "NO_PROXY")
"""How containers reach the package index. The site reads the same variables."""
CERTIFICATES_VARIABLE = "PIP_CERT"
DEFAULT_REQUIREMENTS = ("gymnasium",)
"""The packages of a script without requirements, on a site whose operator has named no others."""
LAST_LINES = 10


def add_install_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--no-install`."""
    parser.add_argument("--no-install", action="store_true", help="only name what is missing")


def of_script(required: Requirements, options: argparse.Namespace) -> Requirements:
    """Return the requirements of a script as a site installs them: if it names none, those that it gives every script.

    With `--no-install` they are its own.
    """
    return required if required.lines or options.no_install else replace(required, lines=DEFAULT_REQUIREMENTS)


def install(name: str, required: Requirements, options: argparse.Namespace) -> str:
    """Install the requirements of a submission, or reuse what an earlier command installed.

    name: what the user calls the submission. Returns what `Launch.packages` takes. With `--no-install` it only checks.
    Raises NotInstalled if the submission must change and SandboxUnavailable for other trouble.
    """
    if options.no_install:
        check_installed(name, required, sandbox=options.sandbox, base_image=options.base_image)
        return ""
    if not required.lines:
        return ""
    is_quiet = getattr(options, "quiet", False)
    output: deque[str] = deque(maxlen=LAST_LINES)

    def log(line: str) -> None:
        # Nothing is logged if all of it is there anyway.
        if not output and not is_quiet:
            print(f"arena: {name} requires {', '.join(required.lines)}.", file=sys.stderr)
        output.append(line)

    with _failures(name, output):
        if options.sandbox == "docker":
            packages, warnings = _image(required.lines, options.base_image, log)
        else:
            packages, warnings = _folder(required.lines, log)
    if not is_quiet:
        for warning in (*required.notes, *warnings):
            print(plain_text(f"arena: {name}: {warning}"), file=sys.stderr)
    return packages


def _folder(lines: tuple[str, ...], log: Log) -> tuple[str, tuple[str, ...]]:
    made = package_folder(lines, cache=cache_folder(), log=log)
    return ("", ()) if made is None else (str(made.path), made.warnings)


def _image(lines: tuple[str, ...], base_image: str, log: Log) -> tuple[str, tuple[str, ...]]:
    # Late: Docker's client and the reading of zips take long to load.
    from arena_kit.image.calls import base_image_id, engine
    from arena_kit.image.inventory import inventory
    from arena_kit.image.packages import Network, package_image

    variables = {name: os.environ[name] for name in INDEX_VARIABLES if os.environ.get(name)}
    network = Network(variables, os.environ.get(CERTIFICATES_VARIABLE, ""))
    with engine() as client:
        base_id = base_image_id(client, base_image)
        base = inventory(client, base_id, PREFIX).python
        made = package_image(client, base_id, lines, base=base, prefix=PREFIX, network=network, log=log)
    return made.image_id, made.warnings


@contextlib.contextmanager
def _failures(name: str, output: deque[str]) -> Iterator[None]:
    """Add the last lines of the installer to its errors, which become those of the command line."""
    try:
        yield
    except BuildFailed as failed:
        raise NotInstalled("\n".join([f"{name}: {failed}", *_last_words(output)]), code=failed.code) from None
    except BuilderUnavailable as trouble:
        message = "\n".join([f"{name}: {trouble}", *_last_words(output)])
        raise SandboxUnavailable(message, code=trouble.code) from None


def _last_words(output: deque[str]) -> list[str]:
    return [f"  | {line}" for line in output if line]
