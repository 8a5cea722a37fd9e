"""Commands with several parts: `manage.py COMMAND PART ...`."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandParser


class CommandOfParts(BaseCommand):
    """Runs the part named first; each part is a command class that has no name of its own on the command line."""

    parts: ClassVar[dict[str, type[BaseCommand]]]

    def add_arguments(self, parser: CommandParser) -> None:
        choices = parser.add_subparsers(dest="part", required=True, metavar="PART")
        for name, part in self.parts.items():
            first_sentence = re.split(r"\. (?=[A-Z])", part.help)[0].rstrip(".") + "."
            part().add_arguments(choices.add_parser(name, help=first_sentence, description=part.help))

    def handle(self, *args: Any, **options: Any) -> str | None:
        part = self.parts[options.pop("part")]()
        part.stdout, part.stderr, part.style = self.stdout, self.stderr, self.style
        return part.handle(*args, **options)
