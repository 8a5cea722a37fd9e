"""Makes the zip of arena-kit and its packages that `/kit/` offers to rooms without internet."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.errors import Refused
from web.kit.bundle import PLATFORMS, PYTHONS, bundle_make
from web.kit.parts import wheel_served


class Command(BaseCommand):
    help = "Fetch arena-kit's packages for other systems, and offer them with it on /kit/ as one zip."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--systems", nargs="+", choices=PLATFORMS, default=list(PLATFORMS))
        parser.add_argument("--pythons", nargs="+", metavar="VERSION", default=list(PYTHONS))

    def handle(self, *args: Any, **options: Any) -> None:
        served = wheel_served()
        try:
            size = bundle_make(served=served, systems=options["systems"], pythons=options["pythons"])
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"/kit/bundle.zip has arena-kit {served.version} and its packages: {size / 1e6:.0f} MB.")
