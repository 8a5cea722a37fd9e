"""`arena new`: make the folder of a new agent from a starter kit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arena_kit.cli.common import BadArgument, print_json, run_command
from arena_kit.cli.environments import add_environment_options, chosen_spec
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.kits import KITS, kit_write
from arena_kit.starter_notebook import ENDING, notebook_write

MADE = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a starter kit into a new folder; return 0, or 2 for wrong arguments."""
    return run_command(_parser(), arguments, lambda options, _: _new(options))


def _parser() -> argparse.ArgumentParser:
    kits = "; ".join(f"{kit.name}: {kit.about}" for kit in KITS)
    parser = argparse.ArgumentParser(
        prog="arena new",
        description="Make the folder of a new agent, which plays at once, and whose README says what comes next.",
        epilog="Exit code: 0 the folder is there, 2 wrong arguments or the folder exists already.",
    )
    parser.add_argument("folder", type=Path, help="the new folder, named as the agent")
    parser.add_argument("--notebook", action="store_true", help="make FOLDER.ipynb instead, which writes the folder")
    add_environment_options(parser, (spec.slug for spec in all_specs()))
    parser.add_argument("--kit", default="random", metavar="KIT", help=f"{kits} (default random)")
    return parser


def _new(options: argparse.Namespace) -> int:
    spec = chosen_spec(options)
    # Without the final slash that a shell completes, and with a name for "."
    folder = Path(options.folder)
    if options.notebook:
        return _new_notebook(folder.with_name(folder.name.removesuffix(ENDING) + ENDING), spec, options)
    try:
        paths = kit_write(folder, spec, options.kit, str(options.environments or ""))
    except FileExistsError:
        raise BadArgument(f"{folder} exists already, and nothing in it was changed. Choose another name.") from None
    except OSError as error:
        raise BadArgument(f"The folder {folder} cannot be made: {error.strerror}.") from None
    lines = (folder / "README.md").read_text(encoding="utf-8").split("```")[-2].strip().split("\n")
    if options.json:
        files = [path.name for path in paths]
        made = {"folder": str(folder), "environment": spec.id, "kit": options.kit, "files": files, "next": lines}
        print_json(made)
        return MADE
    print(f"{folder} is ready for {spec.name}. Its README.md says what comes next:", file=sys.stderr)
    print("\n".join(f"  {line}" for line in lines), file=sys.stderr)
    return MADE


def _new_notebook(path: Path, spec: EnvironmentSpec, options: argparse.Namespace) -> int:
    try:
        notebook_write(path, spec, str(options.environments or ""))
    except FileExistsError:
        raise BadArgument(f"{path} exists already and was not changed. Choose another name.") from None
    except OSError as error:
        raise BadArgument(f"{path} cannot be made: {error.strerror}.") from None
    if options.json:
        print_json({"notebook": str(path), "environment": spec.id})
    else:
        print(f"{path} is ready for {spec.name}. Open it in Jupyter, VS Code or Colab.", file=sys.stderr)
    return MADE
