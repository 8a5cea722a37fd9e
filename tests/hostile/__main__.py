"""Plays the hostile suite and prints what it came to: `make hostile`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.hostile.arena import Arena, Report, offered
from tests.hostile.cases import SANDBOXES, Case, read_cases
from tests.hostile.uploads import NOWHERE, judge_upload


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 when a verdict is not as the manifest says, or something is left on the host."""
    options = _parser().parse_args(arguments)
    cases = [case for case in read_cases() if options.category in (None, case.category) if options.case in case.name]
    reports = []
    for report in judge(cases, options.sandbox or offered()):
        reports.append(report)
        mark = "ok " if report.as_expected else "BAD"
        print(f"{mark} {report.sandbox:8} {report.case.category:13} {report.case.name:45} {report.got} "
              f"({report.seconds:.1f} s)", flush=True)  # fmt: skip
        for problem in (*report.problems, *report.dirt):
            print(f"        {problem}")
    summary = summarise(reports)
    print("\n" + table(reports))
    print("\n" + ", ".join(f"{key}: {value}" for key, value in summary.items() if key != "table"))
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n")
    return 0 if reports and all(report.as_expected for report in reports) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--sandbox", choices=SANDBOXES, action="append", help="default: all that this machine offers")
    parser.add_argument("--category", help="only this category of the manifest")
    parser.add_argument("--case", default="", help="only cases with this in their names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    return parser


def set_up_django() -> None:
    """Forms and pages need the site's settings; no database is asked."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
    os.environ.setdefault("DEBUG", "true")
    django.setup()


def judge(cases: Sequence[Case], sandboxes: Sequence[str]) -> Iterator[Report]:
    """Uploads and texts once, players on every sandbox that promises something."""
    yield from (judge_upload(case) for case in cases if case.kind != "player")
    for sandbox in sandboxes:
        here = [promised for case in cases if case.kind == "player" and (promised := case.on(sandbox))]
        if here:
            with Arena(sandbox) as arena:
                yield from map(arena.judge, here)


def summarise(reports: Sequence[Report]) -> dict[str, object]:
    """cases: distinct ones. judged: those times the sandboxes. as_expected, host_clean: whether all were."""
    rows = defaultdict(list)
    for report in reports:
        rows[f"{report.case.category} / {report.sandbox}"].append(report)
    return {
        "cases": len({report.case.name for report in reports}),
        "judged": len(reports),
        "as_expected": all(not report.problems for report in reports),
        "host_clean": all(not report.dirt for report in reports),
        "table": {key: f"{sum(r.as_expected for r in found)}/{len(found)}" for key, found in rows.items()},
    }


def table(reports: Sequence[Report]) -> str:
    """Category by sandbox: how often each verdict was given, and what was not as expected."""
    found: dict[tuple[str, str], list[Report]] = defaultdict(list)
    for report in reports:
        found[report.case.category, report.sandbox].append(report)
    lines = [f"{'category':13} {'sandbox':8} {'as expected':>11}  verdicts"]
    for (category, sandbox), group in found.items():
        verdicts: dict[str, int] = defaultdict(int)
        for report in group:
            verdicts[report.got] += 1
        good = f"{sum(report.as_expected for report in group)}/{len(group)}"
        said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items(), key=lambda v: -v[1]))
        place = "any" if sandbox == NOWHERE else sandbox
        lines.append(f"{category:13} {place:8} {good:>11}  {said}")
    return "\n".join(lines)


if __name__ == "__main__":
    set_up_django()
    sys.exit(main())
