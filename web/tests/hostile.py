"""What an attacker would write into every field to see whether it is taken for something else than text."""

from __future__ import annotations

from typing import Any

from core.models import (
    Agent,
    Alarm,
    ApiToken,
    Build,
    Duel,
    Environment,
    Evaluation,
    JobState,
    LedgerVoid,
    Submission,
    Tournament,
    User,
)
from core.tests.factories import NOON, Cast
from core.tournaments.plans import plan_save
from web.tests import drawn, scored
from web.tests.house import furnished

SHORT = (
    'javascript:alert(1)//"\'><script>alert(1)</script><img src=x onerror=alert(2)> onmouseover="alert(1)',
    "</title></textarea></pre><svg/onload=alert(1)>{{7*7}}{% debug %}",
    "javascript:alert(1)//'-alert(1)-'\" onmouseover=\"alert(1)",
    "&lt;script&gt;alert(1)&#60;/script&#x3E;<!--<iframe srcdoc=x>",
    "\u202etxt.exe\u2066\u200b\u200d\ufeff\u00ad\u2028=cmd()|+1 and a long tail of plain words",
)
"""At most 100 characters each; the first leaves texts, quotes and addresses."""
LONG = "\n".join((
    *SHORT,
    "<math><mtext></p><style><a title='</style><img src onerror=alert(1)>'>",
    "<form action=javascript:alert(1)><button formaction=javascript:alert(2)>x</button></form>",
    "<object data=data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==></object><embed src=//evil.example>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//evil.example'><link rel=stylesheet href=//x>",
    "\x1b[31mred\x07 \u0336\u0336\u0336\u0336 " + "x" * 5000,
))  # fmt: skip
MARKDOWN = "\n\n".join((
    LONG,
    "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1)) [c](data:text/html,<script>alert(1)</script>)",
    "[d](<java\nscript:alert(1)>) [e](vbscript:x) <javascript:alert(1)> ![f](javascript:alert(1)) [g](//evil.example)",
    "[h]: javascript:alert(1)\n\n[h] [i](https://a.example \"onclick='alert(1)'\" )",
    "# <a name=x onclick=alert(1)>x</a>\n\n```html onload=alert(1)\n<script>alert(1)</script>\n```",
    "|<script>|\n|-|\n|`<img src=x onerror=alert(1)>`|",
))  # fmt: skip
PAGES = (
    "/", "/users/alice/", "/environments/{slug}/", "/environments/{slug}/agents/{agent}/",
    "/environments/{slug}/editions/{edition}/", "/environments/{slug}/editions/{edition}/agents/{agent}/",
    "/environments/{slug}/tournaments/", "/environments/{slug}/editions/{cup_edition}/",
    "/embed/duels/{duel}/matches/3/",
    "/duels/{duel}/", "/duels/{duel}/matches/3/", "/environments/{task}/", "/environments/{task}/agents/mine/",
    "/environments/{task}/agents/script/", "/environments/{task}/compare/?id={scored_id}", "/evaluations/{evaluation}/",
    "/evaluations/{script}/", "/evaluations/{failed}/", "/evaluations/{evaluation}/episodes/best/",
    "/status/?id={public_id}", "/status/?id=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/profile/",
    "/profile/second-factor/", "/validations/{validation}/matches/1/", "/login/?next=javascript:alert(1)",
    "/environments/{task}/?user=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&algorithm=%3Cimg%20src%3Dx%3E",
    "/environments/{slug}/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&team=%3Cimg%20src%3Dx%3E&matches_min=%22%3E",
    "/environments/{slug}/head-to-head/?top=%22%3E%3Cscript%3E", "/environments/{slug}/lens/",
    "/environments/{slug}/calibration/", "/nowhere-%3Cscript%3E/",
    "/environments/{slug}/compare/?id=%22%3E%3Cscript%3E&id={agent}",
    "/organise/", "/organise/tournaments/", "/organise/people/?q=%22%3E%3Cscript%3E", "/organise/people/{user}/",
    "/organise/versions/?q=%22%3E%3Cscript%3E", "/organise/jobs/build/{build}/", "/organise/seasons/",
    "/organise/tokens/",
        "/organise/agents/{agent_id}/", "/organise/people/{user}/profile/",
    "/organise/agents/", "/organise/environments/", "/organise/webhooks/", "/organise/audit/?person=%22%3E%3Cscript%3E",
    "/organise/do/duel/{duel}/void/?next=javascript:alert(1)",
    "/admin/", "/admin/core/submission/", "/admin/core/duel/",
    "/admin/core/build/{build}/change/", "/admin/core/evaluation/{failed}/change/",
    "/admin/core/agent/{agent_id}/change/",
    "/admin/core/alarm/", "/admin/core/apitoken/", "/admin/core/environment/", "/admin/core/ledgervoid/",
    "/admin/core/submission/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
)  # fmt: skip
"""Every kind of page that shows words of others."""


def infested(cast: Cast, short: str, long: str, markdown: str) -> dict[str, Any]:
    """A house in which every free text is one of these."""
    house = furnished(cast)
    task = Environment.objects.get(slug=house["task"])
    script = scored.script(cast.alice, task, "script", 50.0, metrics={short: 1.5})
    failed = scored.evaluation(scored.submission(cast.alice, task, "failed"), [1.0], JobState.FAILED)
    Submission.objects.update(algorithm=short, user_label=short, warnings=[short, long])
    Submission.objects.filter(agent__name="script").update(user_label="")
    User.objects.update(team=short)
    Agent.objects.filter(pk=house["agent_id"]).update(is_disabled=True, disabled_reason=short)
    Environment.objects.update(description=markdown)
    Build.objects.filter(pk=house["build"]).update(log=long)
    Evaluation.objects.update(
        log=long, error=long, runtime=short, verification=short, verdict="MISMATCH", verified_at=NOON
    )
    Evaluation.objects.filter(pk=failed.pk).update(error_code=short[:40])
    Duel.objects.update(log=long, error=long, verification=long, verdict="MISMATCH", verified_at=NOON)
    ApiToken.objects.update(name=short[:50])
    duel = Duel.objects.get(pk=house["duel"])
    LedgerVoid.objects.create(duel=duel, reason=short, created_by=cast.olga)
    Alarm.objects.create(key=short, message=long, raised_at=duel.created_at)
    cup = Tournament.objects.get(pk=house["cup"])
    players = list(cup.participants.order_by("seeding").values_list("submission", flat=True))
    Tournament.objects.filter(pk=cup.pk).update(name=short)
    plan_save(tournament=cup, planned=drawn.standing(players, short))
    return {**house, "script": script.pk, "failed": failed.pk}
