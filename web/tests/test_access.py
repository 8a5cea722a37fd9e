"""Who may do what, address by address: a new address belongs into these tables, or the tests fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from typing import cast as cast_to

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.core.cache import cache
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from pytest_django.fixtures import Settings

from core.models import AuditEntry, User
from core.monitoring.metrics import MOST_WORDS
from core.tests import factories
from core.tests.factories import Cast
from tests.databases import rolled_back
from web.tests.house import furnished
from web.tests.organised import one_of_each
from web.tests.test_attachments import FILES, SHOWN, TEXTS

pytestmark = pytest.mark.django_db
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
PEOPLE = ("anonymous", "owner", "other", "staff")
STAFF = PEOPLE.index("staff")
TABLE = """
GET    /                                                             200 200 200 200
GET    /favicon.ico                                                  302 302 302 302
GET    /robots.txt                                                   200 200 200 200
GET    /sitemap.xml                                                  200 200 200 200
GET    /create_account/                                             301 301 301 301
GET    /user/ada/                                                   301 301 301 301
GET    /environment/{slug}/                                         301 301 301 301
GET    /environment/{slug}/competitor/{agent}/                      301 301 301 301
GET    /environment/{slug}/tournament/{edition}/                    301 301 301 301
GET    /environment/{slug}/tournament/{edition}/competitor/{agent}/ 301 301 301 301
GET    /environment/{slug}/tournament/{edition}/duel/{agent}/rival/ 301 301 301 301
GET    /environment/{slug}/tournament/{edition}/duel/{agent}/rival/1/ 301 301 301 301
GET    /duel/1/logs/                                                301 301 301 301
GET    /duel/1/results/                                             301 301 301 301
GET    /how/                                                        200 200 200 200
GET    /docs                                                        301 301 301 301
GET    /docs/                                                       200 200 200 200
GET    /docs/quickstart/                                            200 200 200 200
GET    /search/?q=a                                                 200 200 200 200
GET    /tournaments/                                                200 200 200 200
GET    /live/                                                       200 200 200 200
GET    /environments/                                               302 302 302 302
GET    /environments/{slug}/rules/                                  200 200 200 200
GET    /environments/{slug}/write/                                  200 200 200 200
GET    /openapi.json                                                301 301 301 301
GET    /sign-up/                                                     200 302 302 302
GET    /login/                                                       200 302 302 302
GET    /login/code/                                                  302 302 302 302
GET    /login/first/                                                 200 200 200 200
POST   /login/first/                                                 200 200 200 200
GET    /logout/                                                      405 405 405 405
POST   /logout/                                                      302 302 302 302
GET    /password-reset/                                              200 200 200 200
GET    /password-reset/sent/                                         200 200 200 200
GET    /password-reset/{uid}/{reset}/                                302 302 302 302
GET    /password-reset/complete/                                     200 200 200 200
GET    /login/passkey/                                               302 302 302 302
POST   /login/passkey/                                               302 302 302 302
GET    /login/with/github/                                           404 404 404 404
GET    /login/with/github/back/                                      404 404 404 404
GET    /login/with/university/                                       404 404 404 404
GET    /login/with/university/back/                                  404 404 404 404
GET    /login/cancelled/                                             200 200 200 200
GET    /login/failed/                                                401 401 401 401
GET    /sign-up/with/                                                302 302 302 302
GET    /profile/                                                     302 200 200 200
GET    /profile/again/                                               302 200 200 200
POST   /profile/again/                                               302 200 200 200
GET    /profile/again/code/                                          302 302 302 302
GET    /profile/again/passkey/                                       302 302 302 302
GET    /profile/password/                                            302 200 200 200
GET    /profile/password/set/                                        302 302 302 302
GET    /profile/email/                                               302 200 200 200
POST   /profile/email/                                               302 302 302 302
GET    /profile/logins/                                              302 200 200 200
POST   /profile/logins/                                              302 200 200 200
GET    /profile/export/                                              405 405 405 405
POST   /profile/export/                                              302 302 302 302
GET    /profile/delete/                                              302 302 302 302
POST   /profile/delete/                                              302 302 302 302
GET    /confirm/{confirm}/                                           200 200 200 200
POST   /confirm/{confirm}/                                           302 302 302 302
GET    /profile/second-factor/                                       302 200 200 200
GET    /profile/second-factor/app/                                   302 302 302 302
POST   /profile/second-factor/app/                                   302 302 302 302
GET    /profile/second-factor/app/remove/                            302 404 404 404
GET    /profile/second-factor/codes/                                 302 404 404 404
GET    /profile/second-factor/codes/new/                             302 302 302 302
POST   /profile/second-factor/codes/new/                             302 302 302 302
GET    /profile/second-factor/passkeys/                              302 302 302 302
GET    /profile/second-factor/passkeys/add/                          302 302 302 302
POST   /profile/second-factor/passkeys/add/                          302 302 302 302
GET    /profile/second-factor/passkeys/1/                            302 302 302 302
GET    /profile/second-factor/passkeys/1/remove/                     302 302 302 302
POST   /profile/second-factor/passkeys/1/remove/                     302 302 302 302
GET    /profile/sessions/                                            302 200 200 200
GET    /profile/sessions/end/                                        405 405 405 405
POST   /profile/sessions/end/                                        302 302 302 302
GET    /profile/sessions/{session}/end/                              405 405 405 405
POST   /profile/sessions/{session}/end/                              302 302 404 404
GET    /profile/tokens/                                              302 200 200 200
POST   /profile/tokens/                                              302 302 302 302
GET    /profile/tokens/{token}/revoke/                               302 302 302 302
POST   /profile/tokens/{token}/revoke/                               302 302 404 404
GET    /profile/notices/                                             302 302 302 302
POST   /profile/notices/                                             302 302 302 302
GET    /inbox/                                                       302 200 200 200
GET    /inbox/read/                                                  405 405 405 405
POST   /inbox/read/                                                  302 302 302 302
GET    /inbox/{notice}/read/                                         405 405 405 405
POST   /inbox/{notice}/read/                                         302 302 404 404
GET    /demo/mail/                                                   404 404 404 404
GET    /unsubscribe/{unsubscribe}/                                   200 200 200 200
POST   /unsubscribe/{unsubscribe}/                                   200 200 200 200
GET    /users/alice/                                                 200 200 200 200
GET    /submit/                                                      302 200 200 200
POST   /submit/                                                      302 422 422 422
GET    /status/?id={public_id}                                       200 200 200 200
GET    /kit/                                                        200 200 200 200
GET    /kit/bundle.zip                                              404 404 404 404
GET    /schemas/tasks.json                                          200 200 200 200
GET    /kit/simple/                                                 200 200 200 200
GET    /kit/simple/arena-kit/                                       200 200 200 200
GET    /kit/files/{wheel_sha256}/{wheel}                            200 200 200 200
GET    /kit/{wheel}                                                 302 302 302 302
GET    /starter-kit/{kit}.zip                                        200 200 200 200
GET    /static/environments/{slug}/missing.svg                      404 404 404 404
GET    /static/environment-{slug}/missing.svg                       404 404 404 404
GET    /environments/{slug}/                                         200 200 200 200
GET    /environments/{slug}/kits/minimax.zip                         200 200 200 200
GET    /environments/{slug}/players/minimax.zip                      404 404 404 404
GET    /environments/{slug}/leaderboard.csv                          200 200 200 200
GET    /environments/{slug}/notebook.ipynb                          200 200 200 200
GET    /environments/{slug}/rules.zip                               200 200 200 200
GET    /environments/{slug}/head-to-head/                            200 200 200 200
GET    /environments/{slug}/lens/                                    200 200 200 200
GET    /environments/{slug}/calibration/                             200 200 200 200
GET    /environments/{task}/compare/?id={scored_id}                  200 200 200 200
GET    /environments/{slug}/compare/?id=anna&id=berta                200 200 200 200
GET    /environments/{slug}/agents/                                  302 302 302 302
POST   /environments/{slug}/agents/                                  302 422 422 422
GET    /environments/{slug}/check/                                  405 405 405 405
POST   /environments/{slug}/check/                                  302 200 200 200
GET    /environments/{slug}/check/{public_id}/                      405 405 405 405
POST   /environments/{slug}/check/{public_id}/                      302 404 404 404
GET    /environments/{slug}/cite/                                   302 302 302 302
GET    /environments/{slug}/cite/?as_of=2026-05-31                  200 200 200 200
GET    /environments/{slug}/cite/results.csv?as_of=2099-12-31       200 200 200 200
GET    /environments/{slug}/random-example/                         302 302 302 302
POST   /environments/{slug}/random-example/                         302 302 302 302
GET    /environments/{slug}/agents/{agent}/                          200 200 200 200
GET    /environments/{slug}/agents/{agent}/badge.svg                200 200 200 200
GET    /environments/{slug}/agents/{agent}/feed.atom                200 200 200 200
GET    /environments/{slug}/feed.atom                               200 200 200 200
GET    /environments/{slug}/agents/{agent}/rest/                     405 405 405 405
POST   /environments/{slug}/agents/{agent}/rest/                     302 302 403 302
GET    /environments/{slug}/agents/{agent}/blunders/                 302 200 404 200
GET    /environments/{slug}/agents/{agent}/test/                     302 302 302 302
POST   /environments/{slug}/agents/{agent}/test/                     302 422 403 403
GET    /environments/{slug}/agents/{agent}/play/                     405 405 405 405
POST   /environments/{slug}/agents/{agent}/play/                     302 302 403 302
GET    /environments/{slug}/agents/{agent}/sit/                     302 302 302 302
POST   /environments/{slug}/agents/{agent}/sit/                     422 302 302 302
GET    /environments/{slug}/agents/{agent}/opponents/               405 405 405 405
POST   /environments/{slug}/agents/{agent}/opponents/               302 302 403 403
GET    /environments/{slug}/agents/{agent}/description/             405 405 405 405
POST   /environments/{slug}/agents/{agent}/description/             302 302 403 403
GET    /environments/{slug}/agents/{agent}/delete/                   405 405 405 405
POST   /environments/{slug}/agents/{agent}/delete/                   302 302 403 403
GET    /environments/{slug}/agents/{agent}/name/                    405 405 405 405
POST   /environments/{slug}/agents/{agent}/name/                    302 302 403 403
GET    /environments/{slug}/agents/{agent}/versions/                 302 302 302 302
POST   /environments/{slug}/agents/{agent}/versions/                 302 422 403 403
GET    /environments/{slug}/agents/{agent}/versions/1/delete/        405 405 405 405
POST   /environments/{slug}/agents/{agent}/versions/1/delete/        302 302 403 403
GET    /environments/{slug}/agents/{agent}/versions/1/cancel/        405 405 405 405
POST   /environments/{slug}/agents/{agent}/versions/1/cancel/        302 302 403 403
GET    /environments/{slug}/agents/{agent}/versions/1/activate/      405 405 405 405
POST   /environments/{slug}/agents/{agent}/versions/1/activate/      302 302 403 403
GET    /environments/{slug}/agents/{agent}/versions/1/bench/         405 405 405 405
POST   /environments/{slug}/agents/{agent}/versions/1/bench/         302 302 403 403
GET    /environments/{slug}/editions/{edition}/                      200 200 200 200
GET    /environments/{slug}/editions/{cup_edition}/                  200 200 200 200
GET    /environments/{slug}/tournaments/                             200 200 200 200
GET    /environments/{slug}/editions/{edition}/agents/{agent}/       200 200 200 200
GET    /environments/{slug}/editions/{edition}/agents/{agent}/withdraw/ 405 405 405 405
POST   /environments/{slug}/editions/{edition}/agents/{agent}/withdraw/ 302 302 403 403
GET    /environments/{slug}/editions/{edition}/exchange/             405 405 405 405
POST   /environments/{slug}/editions/{edition}/exchange/             302 404 404 404
GET    /environments/{slug}/editions/{edition}/register/             405 405 405 405
POST   /environments/{slug}/editions/{edition}/register/             302 404 404 404
GET    /environments/{slug}/editions/{cup_edition}/picture/{picture}/ 200 200 200 200
GET    /environments/{slug}/editions/{cup_edition}/screen/           200 200 200 200
GET    /environments/{slug}/editions/{edition}/withdraw/             405 405 405 405
POST   /environments/{slug}/editions/{edition}/withdraw/             302 404 404 404
GET    /environments/{slug}/seasons/{season}/                        200 200 200 200
GET    /environments/{slug}/challenges/                              302 302 302 302
POST   /environments/{slug}/challenges/                              302 302 302 302
GET    /play/                                                       200 200 200 200
GET    /play/{agent}/                                               200 200 200 200
GET    /sittings/{sitting}/                                         200 200 200 200
GET    /sittings/{sitting}/move/                                    405 405 405 405
POST   /sittings/{sitting}/move/                                    403 302 403 403
GET    /sittings/{sitting}/help/                                    405 405 405 405
POST   /sittings/{sitting}/help/                                    403 200 403 403
GET    /sittings/{sitting}/analysis/                                409 409 409 409
GET    /sittings/{sitting}/analyse/                                 405 405 405 405
POST   /sittings/{sitting}/analyse/                                 302 409 409 409
GET    /sittings/{sitting}/from/2/                                  409 409 409 409
GET    /sittings/{sitting}/from/2/sit/                              405 405 405 405
POST   /sittings/{sitting}/from/2/sit/                              409 409 409 409
GET    /sittings/{sitting}/card.png                                 409 409 409 409
GET    /sittings/{sitting}/resign/                                  405 405 405 405
POST   /sittings/{sitting}/resign/                                  403 302 403 403
GET    /sittings/{sitting}/frames.json                              409 409 409 409
GET    /sittings/{sitting}/replay.json                              409 409 409 409
GET    /challenges/{challenge}/                                      200 200 200 200
GET    /challenges/{challenge}/cancel/                               405 405 405 405
POST   /challenges/{challenge}/cancel/                               302 302 403 403
GET    /environments/desk/                                           200 200 200 200
GET    /environments/desk/tasks/                                     200 200 200 200
POST   /environments/desk/tasks/                                     403 422 422 422
GET    /environments/desk/tasks/count/                               200 200 200 200
GET    /environments/desk/told/                                      200 200 200 200
GET    /environments/desk/batches/                                   200 200 200 200
GET    /environments/desk/batches/new/                               302 403 403 403
GET    /batches/compare/?first={batch}&second={batch}                200 200 200 200
GET    /batches/{batch}/                                             200 200 200 200
GET    /batches/{batch}/cancel/                                      405 405 405 405
POST   /batches/{batch}/cancel/                                      403 302 403 302
GET    /rollouts/compare/?first={rollout}&second={rollout}           200 200 200 200
GET    /rollouts/{rollout}/                                          200 200 200 200
GET    /rollouts/{rollout}/cancel/                                   405 405 405 405
POST   /rollouts/{rollout}/cancel/                                   403 302 403 302
GET    /rollouts/{rollout}/judge/                                    405 405 405 405
POST   /rollouts/{rollout}/judge/                                    403 403 403 302
GET    /rollouts/{rollout}/video/                                    404 404 404 404
GET    /rollouts/{rollout}/pictures/1.png                            404 404 404 404
GET    /models/                                                      302 302 302 302
GET    /courses/                                                    200 200 200 200
GET    /courses/add/                                                302 403 403 200
POST   /courses/add/                                                302 403 403 422
GET    /courses/join/{join}/                                        302 200 200 200
POST   /courses/join/{join}/                                        302 302 302 302
GET    /courses/{course}/                                           200 200 200 200
GET    /courses/{course}/settings/                                  302 200 403 200
POST   /courses/{course}/settings/                                  302 422 403 422
GET    /courses/{course}/news/                                      302 200 403 200
POST   /courses/{course}/news/                                      302 422 403 422
GET    /courses/{course}/people/                                    302 200 403 200
GET    /courses/{course}/people/add/                                302 200 403 200
POST   /courses/{course}/people/add/                                302 422 403 422
GET    /courses/{course}/people/remind/                             405 405 405 405
POST   /courses/{course}/people/remind/                             302 404 403 404
GET    /courses/{course}/people/link/                               405 405 405 405
POST   /courses/{course}/people/link/                               302 302 403 302
GET    /courses/{course}/people/{member}/                           405 405 405 405
POST   /courses/{course}/people/{member}/                           302 404 403 404
GET    /courses/{course}/people/{member}/code/                       405 405 405 405
POST   /courses/{course}/people/{member}/code/                       302 404 403 404
GET    /courses/{course}/people/extend/                             405 405 405 405
POST   /courses/{course}/people/extend/                             302 302 403 302
GET    /courses/{course}/people/team/                               405 405 405 405
POST   /courses/{course}/people/team/                               302 302 403 302
GET    /courses/{course}/teams/                                     302 200 403 200
GET    /courses/{course}/teams/add/                                 405 405 405 405
POST   /courses/{course}/teams/add/                                 302 302 403 302
GET    /courses/{course}/teams/{team}/                              405 405 405 405
POST   /courses/{course}/teams/{team}/                              302 404 403 404
GET    /courses/team/{team_link}/                                   302 200 404 404
POST   /courses/team/{team_link}/                                   302 302 404 404
GET    /courses/work-as/                                            405 405 405 405
POST   /courses/work-as/                                            302 302 302 302
GET    /courses/{course}/marks/                                     302 200 200 200
GET    /courses/{course}/marks.csv                                  302 200 403 200
GET    /courses/{course}/assignments/add/                           302 200 403 200
POST   /courses/{course}/assignments/add/                           302 422 403 422
GET    /courses/{course}/assignments/{assignment}/                  200 200 200 200
GET    /courses/{course}/assignments/{assignment}/settings/         302 200 403 200
POST   /courses/{course}/assignments/{assignment}/settings/         302 422 403 422
GET    /courses/{course}/assignments/{assignment}/copy/             405 405 405 405
POST   /courses/{course}/assignments/{assignment}/copy/             302 302 403 302
GET    /courses/{course}/assignments/{assignment}/delete/           405 405 405 405
POST   /courses/{course}/assignments/{assignment}/delete/           302 302 403 302
GET    /courses/{course}/assignments/{assignment}/people/{student}/ 302 200 403 200
GET    /courses/{course}/assignments/{assignment}/people/{student}/marks/ 405 405 405 405
POST   /courses/{course}/assignments/{assignment}/people/{student}/marks/ 302 422 403 422
GET    /courses/{course}/copy/{planned}/                            405 405 405 405
POST   /courses/{course}/copy/{planned}/                            302 404 403 404
GET    /operations/                                                  302 403 403 200
GET    /organise/                                                    302 403 403 200
GET    /organise/tournaments/                                        302 403 403 200
GET    /organise/tournaments/plan/                                   302 403 403 200
POST   /organise/tournaments/plan/                                   302 403 403 422
GET    /organise/tournaments/{planned}/                              302 403 403 200
POST   /organise/tournaments/{planned}/                              302 403 403 422
GET    /organise/people/                                             302 403 403 200
GET    /organise/people/links/                                       302 403 403 200
POST   /organise/people/links/                                       302 403 403 422
GET    /organise/people/class/                                       302 403 403 200
POST   /organise/people/class/                                       302 403 403 422
GET    /organise/people/{user}/                                      302 403 403 200
POST   /organise/people/{user}/                                      302 403 403 302
GET    /organise/agents/                                             302 403 403 200
GET    /organise/environments/                                       302 403 403 200
GET    /organise/workers/                                            302 403 403 200
GET    /organise/webhooks/                                           302 403 403 200
GET    /organise/webhooks/add/                                       302 403 403 200
POST   /organise/webhooks/add/                                       302 403 403 422
GET    /organise/webhooks/{webhook}/                                 302 403 403 200
POST   /organise/webhooks/{webhook}/                                 302 403 403 422
POST   /organise/people/{user}/code/                                302 403 403 404
GET    /organise/people/{user}/profile/                             302 403 403 200
POST   /organise/people/{user}/profile/                             302 403 403 422
GET    /organise/agents/{agent_id}/                                 302 403 403 200
POST   /organise/agents/{agent_id}/                                 302 403 403 422
GET    /organise/environments/{game}/                               302 403 403 200
POST   /organise/environments/{game}/                               302 403 403 422
GET    /organise/applications/                                      302 403 403 302
GET    /organise/jobs/                                              302 403 403 302
GET    /organise/versions/                                          302 403 403 200
GET    /organise/seeds/                                             302 403 403 200
GET    /organise/tokens/                                            302 403 403 200
GET    /organise/packages/                                          302 403 403 200
GET    /organise/tasks/                                             302 403 403 200
GET    /organise/batches/                                           302 403 403 200
GET    /organise/seasons/                                           302 403 403 200
GET    /organise/seasons/add/                                       302 403 403 200
POST   /organise/seasons/add/                                       302 403 403 422
GET    /organise/seasons/{season}/                                  302 403 403 200
POST   /organise/seasons/{season}/                                  302 403 403 422
GET    /organise/schedules/                                         302 403 403 200
GET    /organise/schedules/add/                                     302 403 403 200
POST   /organise/schedules/add/                                     302 403 403 422
GET    /organise/schedules/{schedule}/                              302 403 403 200
POST   /organise/schedules/{schedule}/                              302 403 403 422
GET    /organise/packages/add/                                      302 403 403 200
POST   /organise/packages/add/                                      302 403 403 422
GET    /organise/folders/add/                                       302 403 403 200
POST   /organise/folders/add/                                       302 403 403 422
GET    /organise/packages/{package}/                                302 403 403 200
POST   /organise/packages/{package}/                                302 403 403 302
GET    /organise/models/                                            302 403 403 200
GET    /organise/models/add/                                        302 403 403 200
POST   /organise/models/add/                                        302 403 403 422
GET    /organise/models/{model}/                                    302 403 403 200
POST   /organise/models/{model}/                                    302 403 403 422
GET    /organise/jobs/build/                                        302 403 403 200
GET    /organise/jobs/validation/                                   302 403 403 200
GET    /organise/jobs/duel/                                         302 403 403 200
GET    /organise/jobs/evaluation/                                   302 403 403 200
GET    /organise/jobs/recording/                                    302 403 403 200
GET    /organise/jobs/analysis/                                     302 403 403 200
GET    /organise/jobs/drill/                                        302 403 403 200
GET    /organise/jobs/sitting/                                      302 403 403 200
GET    /organise/jobs/packagebuild/                                 302 403 403 200
GET    /organise/jobs/rollout/                                      302 403 403 200
GET    /organise/jobs/environmenttrial/                             302 403 403 200
GET    /organise/jobs/publication/                                  302 403 403 200
GET    /organise/jobs/build/{build}/                                302 403 403 200
GET    /organise/do/duel/void/?row={duel}                           302 403 403 200
POST   /organise/do/duel/void/                                      302 403 403 302
GET    /organise/audit/                                              302 403 403 200
GET    /organise/do/duel/{duel}/void/                                302 403 403 200
POST   /organise/do/duel/{duel}/void/                                302 403 403 422
GET    /evaluations/{evaluation}/                                    200 200 200 200
GET    /evaluations/{evaluation}/records.zip                         403 403 403 200
GET    /evaluations/{evaluation}/logs/arena/                         200 200 200 200
GET    /evaluations/{evaluation}/logs/player/                        404 404 404 200
GET    /evaluations/{evaluation}/episodes/best/                      200 200 200 200
GET    /evaluations/{evaluation}/episodes/best/frames.json           200 200 200 200
GET    /evaluations/{evaluation}/episodes/best/video                 200 200 200 200
GET    /evaluations/{evaluation}/episodes/best/replay.json           404 404 404 404
GET    /evaluations/{evaluation}/episodes/best/replay.html           404 404 404 404
GET    /duels/{duel}/                                                200 200 200 200
GET    /duels/{duel}/matches/3/                                      200 200 200 200
GET    /duels/{duel}/matches/3/from/2/                              200 200 200 200
GET    /duels/{duel}/matches/3/from/2/sit/                          405 405 405 405
POST   /duels/{duel}/matches/3/from/2/sit/                          302 302 302 302
GET    /duels/{duel}/matches/3/from/2/play/                         405 405 405 405
POST   /duels/{duel}/matches/3/from/2/play/                         302 302 302 302
GET    /duels/{duel}/matches/3/frames.json                           200 200 200 200
GET    /duels/{duel}/matches/3/analysis/                             200 200 200 200
GET    /duels/{duel}/matches/3/analyse/                              405 405 405 405
POST   /duels/{duel}/matches/3/analyse/                              302 302 302 302
GET    /duels/{duel}/why/1/                                         405 405 405 405
POST   /duels/{duel}/why/1/                                         302 302 302 302
GET    /duels/{duel}/matches/3/playouts/                             200 200 200 200
GET    /duels/{duel}/matches/3/playouts/new/                         302 200 200 200
POST   /duels/{duel}/matches/3/playouts/new/                         302 422 422 422
GET    /duels/{duel}/results.json.gz                                 200 200 200 200
GET    /duels/{duel}/records.zip                                     200 200 200 200
GET    /duels/{duel}/logs/arena/                                     200 200 200 200
GET    /duels/{duel}/logs/player_1/                                  404 200 404 200
GET    /validations/{validation}/matches/1/                          404 200 404 200
GET    /duels/{duel}/matches/3/replay.json                           200 200 200 200
GET    /duels/{duel}/matches/3/replay.html                           200 200 200 200
GET    /embed/duels/{duel}/matches/3/                                200 200 200 200
GET    /embed/duels/{duel}/matches/3/card.png                        200 200 200 200
GET    /validations/{validation}/matches/1/replay.json               404 200 404 200
GET    /validations/{validation}/matches/1/frames.json               404 200 404 200
GET    /submissions/{submission}/source/                            404 404 404 404
GET    /submissions/{submission}/archive.zip                         404 200 404 200
GET    /submissions/{submission}/sbom.json                           404 200 404 200
GET    /submissions/{submission}/logs/build/                         404 200 404 200
GET    /submissions/{submission}/logs/player_1/                      404 200 404 200
GET    /api/submit/                                                  401 405 405 405
POST   /api/submit/                                                  401 400 400 400
GET    /api/results/{scored_id}                                      200 200 200 200
GET    /api/leaderboard/                                             400 400 400 400
GET    /api/leaderboard/environments                                 200 200 200 200
GET    /leaderboard/{env_id}                                         200 200 200 200
GET    /submissions/                                                 401 405 405 405
POST   /submissions/                                                 401 400 400 400
GET    /submissions/{scored_id}                                      200 200 200 200
DELETE /submissions/{scored_id}                                      401 204 403 204
GET    /health                                                       503 503 503 503
GET    /api/evaluation-metrics                                      200 200 200 200
GET    /health/live                                                  200 200 200 200
GET    /metrics                                                      403 403 403 403
GET    /api/v1/                                                     200 200 200 200
GET    /api/v1/tokens/                                               401 200 200 200
POST   /api/v1/tokens/                                               400 400 400 400
GET    /api/v1/tokens/{token}/                                       405 405 405 405
DELETE /api/v1/tokens/{token}/                                       401 204 404 404
GET    /api/v1/accounts/                                            405 405 405 405
POST   /api/v1/accounts/                                            415 415 415 415
GET    /api/v1/validate/                                            405 405 405 405
POST   /api/v1/validate/                                            401 400 400 400
GET    /api/v1/me/                                                   401 200 200 200
GET    /api/v1/me/quotas/                                            401 200 200 200
GET    /api/v1/me/inbox/                                             401 200 200 200
POST   /api/v1/me/inbox/                                             401 200 200 200
GET    /api/v1/me/inbox/{notice}/                                    405 405 405 405
POST   /api/v1/me/inbox/{notice}/                                    401 204 404 404
GET    /api/v1/environments/                                         200 200 200 200
GET    /api/v1/environments/{slug}/                                  200 200 200 200
GET    /api/v1/environments/{slug}/matches.jsonl                     200 200 200 200
GET    /api/v1/environments/{slug}/folder.zip                       200 200 200 200
GET    /api/v1/environments/{task}/board/                            200 200 200 200
GET    /api/v1/environments/{slug}/leaderboard/                      200 200 200 200
GET    /api/v1/environments/{task}/seeds/                            200 200 200 200
GET    /api/v1/environments/{slug}/head-to-head/                     200 200 200 200
GET    /api/v1/environments/{slug}/compare/                          400 400 400 400
GET    /api/v1/environments/{slug}/lens/                             200 200 200 200
GET    /api/v1/environments/{slug}/calibration/                      200 200 200 200
GET    /api/v1/agents/                                               200 200 200 200
POST   /api/v1/agents/                                               401 400 400 400
GET    /api/v1/agents/{agent_id}/                                    200 200 200 200
PATCH  /api/v1/agents/{agent_id}/                                   401 415 403 403
DELETE /api/v1/agents/{agent_id}/                                   401 400 403 403
GET    /api/v1/agents/{agent_id}/opponents/                         200 200 200 200
GET    /api/v1/agents/{agent_id}/blunders/                          401 200 403 200
GET    /api/v1/agents/{agent_id}/history/                           200 200 200 200
GET    /api/v1/agents/{agent_id}/submissions/                        405 405 405 405
POST   /api/v1/agents/{agent_id}/submissions/                        401 400 403 403
GET    /api/v1/agents/{agent_id}/rest/                               405 405 405 405
PUT    /api/v1/agents/{agent_id}/rest/                               401 200 403 200
DELETE /api/v1/agents/{agent_id}/rest/                               401 200 403 200
GET    /api/v1/submissions/                                          200 200 200 200
GET    /api/v1/submissions/{public_id}/                              200 200 200 200
DELETE /api/v1/submissions/{public_id}/                              401 204 403 204
GET    /api/v1/submissions/{public_id}/archive.zip                   403 200 403 200
GET    /api/v1/tournaments/                                          200 200 200 200
POST   /api/v1/tournaments/                                          401 415 415 415
GET    /api/v1/tournaments/{cup}/acts/pause/                         405 405 405 405
POST   /api/v1/tournaments/{cup}/acts/pause/                         401 403 403 415
GET    /api/v1/tournaments/{cup}/acts/picture/                       405 405 405 405
POST   /api/v1/tournaments/{cup}/acts/picture/                       401 403 403 400
GET    /api/v1/tournaments/{tournament}/                             200 200 200 200
GET    /api/v1/tournaments/{tournament}/participants/                200 200 200 200
GET    /api/v1/tournaments/{tournament}/standing/                    404 404 404 404
GET    /api/v1/tournaments/{cup}/standing/                           200 200 200 200
GET    /api/v1/tournaments/{tournament}/registrations/               200 200 200 200
POST   /api/v1/tournaments/{tournament}/registrations/               401 415 415 415
GET    /api/v1/tournaments/{tournament}/registrations/{agent_id}/    405 405 405 405
DELETE /api/v1/tournaments/{tournament}/registrations/{agent_id}/    401 400 403 403
PATCH  /api/v1/tournaments/{tournament}/registrations/{agent_id}/    401 415 403 403
GET    /api/v1/seasons/                                              200 200 200 200
GET    /api/v1/seasons/{season}/                                     200 200 200 200
GET    /api/v1/seasons/{season}/table/                               200 200 200 200
GET    /api/v1/ratings/                                              200 200 200 200
GET    /api/v1/challenges/                                           200 200 200 200
POST   /api/v1/challenges/                                           401 415 415 415
GET    /api/v1/challenges/{challenge}/                               200 200 200 200
GET    /api/v1/challenges/{challenge}/cancel/                        405 405 405 405
POST   /api/v1/challenges/{challenge}/cancel/                        401 400 403 403
GET    /api/v1/runs/                                                 401 200 200 200
POST   /api/v1/runs/                                                 401 415 415 415
GET    /api/v1/runs/1/                                               401 404 404 404
GET    /api/v1/runs/1/cancel/                                        405 405 405 405
POST   /api/v1/runs/1/cancel/                                        401 404 404 404
GET    /api/v1/runs/1/records/                                       401 404 404 404
GET    /api/v1/sittings/                                             401 200 200 200
POST   /api/v1/sittings/                                             401 415 415 415
GET    /api/v1/sittings/{sitting}/                                   200 200 200 200
GET    /api/v1/sittings/{sitting}/moves/                             405 405 405 405
POST   /api/v1/sittings/{sitting}/moves/                             401 415 403 403
GET    /api/v1/sittings/{sitting}/resign/                            405 405 405 405
POST   /api/v1/sittings/{sitting}/resign/                            401 200 403 403
GET    /api/v1/duels/                                                200 200 200 200
GET    /api/v1/duels/{duel}/                                         200 200 200 200
GET    /api/v1/duels/{duel}/matches/                                 200 200 200 200
GET    /api/v1/duels/{duel}/matches/3/                               200 200 200 200
GET    /api/v1/evaluations/{evaluation}/recordings/best/replay/      404 404 404 404
GET    /api/v1/duels/{duel}/matches/3/replay/                        200 200 200 200
GET    /api/v1/validations/{validation}/matches/1/replay/            404 200 404 200
GET    /api/v1/evaluations/                                          200 200 200 200
GET    /api/v1/evaluations/{evaluation}/                             200 200 200 200
GET    /api/v1/evaluations/{evaluation}/episodes/                    403 403 403 200
GET    /api/v1/evaluations/{evaluation}/episodes/1/                  403 403 403 200
GET    /api/v1/jobs/                                                 200 200 200 200
GET    /api/v1/jobs/build/                                           200 200 200 200
GET    /api/v1/jobs/build/{build}/                                   200 200 200 200
GET    /api/v1/jobs/build/{build}/log/                               403 200 403 200
GET    /api/v1/jobs/build/{build}/cancel/                            405 405 405 405
POST   /api/v1/jobs/build/{build}/cancel/                            401 400 403 403
GET    /api/v1/jobs/build/{build}/priority/                          405 405 405 405
PUT    /api/v1/jobs/build/{build}/priority/                          401 403 403 415
GET    /api/tasks/upload                                            405 405 405 405
POST   /api/tasks/upload                                            401 400 400 400
GET    /api/tasks                                                   200 200 200 200
GET    /api/tasks/count                                             200 200 200 200
GET    /api/tasks/count/jobs                                        200 200 200 200
GET    /api/rollouts                                                200 200 200 200
POST   /api/rollouts                                                401 415 415 415
GET    /api/rollouts/{rollout}                                      200 200 200 200
DELETE /api/rollouts/{rollout}                                      401 200 403 200
GET    /api/jobs/{batch}                                            200 200 200 200
DELETE /api/jobs/{batch}                                            401 200 403 200
GET    /api/compute/stats                                           200 200 200 200
GET    /api/v1/applications/                                        200 200 200 200
GET    /api/v1/applications/desk/board/                             200 200 200 200
POST   /api/v1/applications/desk/board/                             401 415 415 415
GET    /api/v1/applications/desk/tasks/count/                       200 200 200 200
PATCH  /api/v1/applications/desk/tasks/count/                       401 415 415 415
DELETE /api/v1/applications/desk/tasks/count/                       401 400 400 400
GET    /api/v1/applications/desk/analytics/                         200 200 200 200
GET    /api/v1/environment-folders/                                 200 200 200 200
POST   /api/v1/environment-folders/                                 401 400 400 400
GET    /api/v1/environment-folders/{folder}/                        404 404 404 200
GET    /api/v1/packages/                                            200 200 200 200
POST   /api/v1/packages/                                            401 400 400 400
GET    /api/v1/tasks/                                               200 200 200 200
POST   /api/v1/tasks/                                               401 400 400 400
GET    /api/v1/tasks/tests/                                         405 405 405 405
POST   /api/v1/tasks/tests/                                         401 415 415 415
GET    /api/v1/batches/                                             200 200 200 200
POST   /api/v1/batches/                                             401 415 415 415
GET    /api/v1/batches/{batch}/                                     200 200 200 200
GET    /api/v1/batches/{batch}/events/                              200 200 200 200
GET    /api/v1/batches/{batch}/export/                              200 200 200 200
GET    /api/v1/batches/{batch}/cancel/                              405 405 405 405
POST   /api/v1/batches/{batch}/cancel/                              401 200 403 200
GET    /api/v1/models/                                              200 200 200 200
GET    /api/v1/rollouts/                                            200 200 200 200
GET    /api/v1/rollouts/export.csv                                  200 200 200 200
GET    /api/v1/rollouts/{rollout}/                                  200 200 200 200
DELETE /api/v1/rollouts/{rollout}/                                  401 200 403 200
GET    /api/v1/rollouts/{rollout}/steps/                            200 200 200 200
GET    /api/v1/rollouts/{rollout}/verdicts/                         200 200 200 200
GET    /api/v1/rollouts/{rollout}/export/                           200 200 200 200
GET    /api/v1/rollouts/{rollout}/events/                           200 200 200 200
GET    /api/v1/rollouts/{rollout}/files/har/                        404 404 404 404
GET    /api/docs                                                     200 200 200 200
GET    /api/schema                                                   200 200 200 200
GET    /api/v1/courses/{course}/marks/                              401 200 404 200
GET    /api/v1/courses/{course}/assignments/{assignment}/board/     401 404 404 404
GET    /api/nothing                                                  404 404 404 404
GET    /nothing/                                                     404 404 404 404
"""
"""Method, address, and what these four get: a visitor, alice, charlie, olga who organises.

What the braces stand for is alice's and private (`house.py`). Forms are sent empty: those let through to them are
told what is wrong (200, 422, 400, 415). No worker lives in tests, and /health says so (503). A method that is not named
here gets what GET gets, or 405.
"""
ADMIN = """
auth.group                200 200 200 200 200 200 200
axes.accessattempt        200 403 200 403 200 200 200
core.accountevent         200 403 200 403 403 403 200
core.agent                200 403 200 200 403 403 200
core.alarm                200 403 200 403 403 403 200
core.apitoken             200 403 200 403 403 403 200
core.auditentry           200 403 200 403 403 403 200
core.batch                200 403 200 403 403 403 200
core.blunder              200 403 200 403 403 403 200
core.build                200 403 200 403 403 403 200
core.challenge            200 403 200 403 403 403 200
core.assignment           200 403 200 403 403 403 200
core.baseline             200 403 200 403 403 403 200
core.extension            200 403 200 403 403 403 200
core.markbyhand           200 403 200 403 403 403 200
core.delivery             200 403 200 403 403 403 200
core.drill                200 403 200 403 403 403 200
core.drillmove            200 403 200 403 403 403 200
core.duel                 200 403 200 403 403 403 200
core.duty                 200 403 200 403 403 403 200
core.environment          200 403 200 200 403 403 200
core.evaluation           200 403 200 403 403 403 200
core.formername           200 403 200 403 403 403 200
core.invitelink           200 403 200 403 403 403 200
core.languagemodel        200 200 200 200 403 403 200
core.ledgerentry          200 403 200 403 403 403 200
core.ledgervoid           200 403 200 403 403 403 200
core.lens                 200 403 200 403 403 403 200
core.notice               200 403 200 403 403 403 200
core.noticechoice         200 403 200 403 403 403 200
core.course               200 403 200 403 403 403 200
core.errormail            200 403 200 403 403 403 200
core.letter               200 403 200 403 403 403 200
core.formerteam           200 403 200 403 403 403 200
core.member               200 403 200 403 403 403 200
core.announcement         200 403 200 403 403 403 200
core.package              200 200 200 302 403 403 200
core.packagebuild         200 403 200 403 403 403 200
core.environmenttrial     200 200 200 403 403 403 200
core.participant          200 403 200 403 403 403 200
core.promotion            200 403 200 403 403 403 200
core.publication          200 403 200 403 403 403 200
core.rating               200 403 200 403 403 403 200
core.ratingpoint          200 403 200 403 403 403 200
core.ratingpool           200 403 200 403 403 403 200
core.run                  200 403 200 403 403 403 200
core.recording            200 403 200 403 403 403 200
core.analysis             200 403 200 403 403 403 200
core.registration         200 403 200 403 403 403 200
core.rollout              200 403 200 403 403 403 200
core.rolloutverdict       200 403 200 403 403 403 200
core.season               200 200 200 200 403 403 200
core.seedlist             200 403 200 403 403 403 200
core.sitting              200 403 200 403 403 403 200
core.submission           200 403 200 403 403 403 200
core.task                 200 403 200 403 403 403 200
core.taskfile             200 403 200 403 403 403 200
core.taskset              200 403 200 403 403 403 200
core.team                 200 403 200 403 403 403 200
core.tournament           200 403 200 403 403 403 200
core.tournamentschedule   200 200 200 200 403 403 200
core.user                 200 200 200 302 403 403 200
core.validation           200 403 200 403 403 403 200
core.webhook              200 200 200 200 403 403 200
core.worldlease           200 403 200 403 403 403 200
core.worker                    200 403 200 403 403 403 200
core.workerhost                200 403 200 403 403 403 200
django_q.failure          200 403 200 302 200 200 200
django_q.ormq             200 403 200 200 200 200 200
django_q.schedule         200 200 200 200 200 200 200
django_q.success          200 403 200 302 200 200 200
mfa.authenticator         200 403 200 403 200 200 200
socialaccount.socialaccount 200 403 200 403 200 200 200
"""
"""Kind of row, and what a superuser gets: its list, the form for a new one, one row, that one saved with an empty form,
deleting it, deleting it without having confirmed, and its history. All others are sent to the login.
"""
ADMIN_OTHERS = {
    "admin:index": 200,
    "admin:password_change": 302,
    "admin:password_change_done": 200,
    "admin:autocomplete": 403,
    "admin:jsi18n": 200,
}
"""Its other pages."""
LOGGED_OUT_OF = {"admin:login", "admin:logout"}
"""Addresses of the admin that are for all."""


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Every route of the site, as Django writes it."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            # As `resolve` says it.
            yield route.replace("^", "")
        else:
            yield from routes(pattern, route)


def route_of(address: str) -> str:
    return resolve(address).route.replace("^", "")


def lines() -> Iterator[tuple[str, str, list[int]]]:
    for line in TABLE.strip().splitlines():
        method, address, *statuses = line.split()
        yield method, address, [int(status) for status in statuses]


@pytest.fixture(scope="module")
def sessions(shared_cast: Cast) -> list[str]:
    """The session of each of the four."""
    cast = shared_cast
    return [session_of(person) for person in (None, cast.alice, cast.charlie, cast.olga)]


@pytest.fixture(scope="module")
def house(shared_cast: Cast, sessions: list[str]) -> dict[str, Any]:
    # Afterwards: a link to reset a password is good until the next login.
    return furnished(shared_cast)


def session_of(person: User | None) -> str:
    client = Client()
    if person is not None:
        client.force_login(person)
    return client.cookies[django_settings.SESSION_COOKIE_NAME].value if person else ""


def ask(session: str, method: str, address: str, *, csrf: bool = False) -> int:
    """Send a request whose effects are undone; return the status."""
    return int(answer(session, method, address, csrf=csrf).status_code)


def answer(session: str, method: str, address: str, *, csrf: bool = False) -> HttpResponseBase:
    """Send a request whose effects are undone."""
    client = Client(enforce_csrf_checks=csrf)
    if session:
        client.cookies[django_settings.SESSION_COOKIE_NAME] = session
    with rolled_back():
        response: Any = getattr(client, method.lower())(address, {})
        if response.streaming:
            response.read = b"".join(response)
    if method != "GET":
        # What was read at one address is good for the next, but not after a change.
        cache.clear()
    return cast_to(HttpResponseBase, response)


def test_metrics_have_a_name_for_every_route() -> None:
    assert 2 * len(list(routes())) <= MOST_WORDS


def test_every_route_is_in_the_tables(house: dict[str, Any]) -> None:
    named = {route_of(address.format(**house).partition("?")[0]) for _, address, _ in lines()}
    for label in (line.split()[0] for line in ADMIN.strip().splitlines()):
        place = f"admin/{label.replace('.', '/')}/"
        named |= {place, *(f"{place}{view}/" for view in ("add",)), f"{place}<path:object_id>/"}
        named |= {f"{place}<path:object_id>/{view}/" for view in ("change", "delete", "history")}
    named |= {route_of(reverse(name)) for name in (*ADMIN_OTHERS, *LOGGED_OUT_OF)}
    # Pages that lead to others of the table, and the password of an account.
    named |= {route_of(f"/admin/{page}/") for page in ("core", "r/1/1", "nothing", "core/user/1/password")}

    # Each address of the API is good with and without a slash.
    twins = {route.removesuffix("/") if route.endswith("/") else f"{route}/" for route in named}
    assert [route for route in routes() if route not in named and route not in twins] == []


@pytest.mark.slow
def test_every_address_answers_everybody_as_the_table_says(house: dict[str, Any], sessions: list[str]) -> None:
    """All four are asked where the table tells them apart. Elsewhere it is a visitor, or one of the others by turns."""
    wrong = []
    files = set()
    for number, (method, address, expected) in enumerate(lines()):
        asking = range(4) if len(set(expected)) > 1 else [number % 4]
        for who in asking:
            response = answer(sessions[who], method, address.format(**house))
            if response.status_code != expected[who]:
                wrong.append(f"{method} {address}: {PEOPLE[who]} gets {response.status_code}, not {expected[who]}")
            elif method == "GET" and is_file(response):
                files.add(address)
    assert wrong == []
    # A new download that is not named there would escape the tests of files.
    assert files == {*FILES, *SHOWN, *TEXTS}


@pytest.mark.nightly
def test_addresses_that_are_the_same_for_all_answer_each_of_them(house: dict[str, Any], sessions: list[str]) -> None:
    alike = [(method, address.format(**house), statuses) for method, address, statuses in lines()]
    wrong = [
        (method, address, who)
        for method, address, statuses in alike
        for who, session in zip(PEOPLE, sessions, strict=True)
        if len(set(statuses)) == 1 and ask(session, method, address) != statuses[0]
    ]
    assert wrong == []


def is_file(response: HttpResponseBase) -> bool:
    """Return whether an answer is neither a page nor JSON."""
    kind = response.get("Content-Type", "").partition(";")[0]
    is_page = kind in ("text/html", "application/json", "application/vnd.oai.openapi+json", "")
    return isinstance(response, FileResponse) or "Content-Disposition" in response or not is_page


@pytest.mark.nightly
def test_a_method_that_is_not_in_the_table_does_nothing(house: dict[str, Any], sessions: list[str]) -> None:
    """It gets what GET gets, or 405; it is asked by the person who may do most."""
    pages = {address: statuses for method, address, statuses in lines() if method == "GET"}
    # A form is sent without what its page has in the query.
    named = {(method, address.partition("?")[0]) for method, address, _ in lines()}
    wrong = []
    for address, statuses in pages.items():
        allowed = {statuses[STAFF], 405}
        for method in UNSAFE:
            if (method, address.partition("?")[0]) not in named:
                status = ask(sessions[STAFF], method, address.format(**house))
                if status not in allowed:
                    wrong.append(f"{method} {address}: {status}, not {sorted(allowed)}")
    assert wrong == []


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.slow
def test_every_page_of_the_admin_is_open_to_organisers_alone(cast: Cast, sessions: list[str], is_whole: bool) -> None:
    """On a push what staff may is left to `web/admin/tests/test_pages.py` and `test_audit.py`, but for some pages."""
    rows = {type(row)._meta.label_lower: row for row in one_of_each(cast, factories.environment("quarto")).values()}
    table = {label: [int(status) for status in given] for label, *given in map(str.split, ADMIN.strip().splitlines())}
    assert set(table) == {model._meta.label_lower for model in admin.site._registry}
    wrong = []
    for number, (label, expected) in enumerate(table.items()):
        name = f"admin:{label.replace('.', '_')}"
        one = [str(rows[label].pk)]
        asked = [
            ("GET", reverse(f"{name}_changelist")), ("GET", reverse(f"{name}_add")),
            ("GET", reverse(f"{name}_change", args=one)), ("POST", reverse(f"{name}_change", args=one)),
            ("GET", reverse(f"{name}_delete", args=one)), ("POST", reverse(f"{name}_delete", args=one)),
            ("GET", reverse(f"{name}_history", args=one)),
        ]  # fmt: skip
        places = range(7) if is_whole else [*([] if label.startswith("core.") else [0, 2]), (1, 3, 4, 5, 6)[number % 5]]
        found = {place: ask(sessions[STAFF], *asked[place]) for place in places}
        if any(expected[place] != status for place, status in found.items()):
            wrong.append(f"{label}: staff gets {found}")
        # The admin's own check is the same for every page.
        asking = sessions[:STAFF] if is_whole else [sessions[number % STAFF]]
        others = {ask(session, *one) for session in asking for one in (asked[0], asked[3])}
        if others != {302}:
            wrong.append(f"{label}: others get {others}")
    for name, status in ADMIN_OTHERS.items():
        given = [ask(session, "GET", reverse(name)) for session in sessions]
        if given != [302, 302, 302, status]:
            wrong.append(f"{name}: {given}")
    password = reverse("admin:auth_user_password_change", args=[cast.alice.pk])
    assert [ask(session, "POST", password) for session in sessions] == [302, 302, 302, 403]
    assert [ask(session, "GET", reverse("admin:login")) for session in sessions] == [302, 403, 403, 302]
    assert wrong == []


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.slow
def test_staff_without_a_right_may_do_nothing_in_the_admin(cast: Cast, is_whole: bool) -> None:
    """On a push every list is asked for, and one of the other pages by turns."""
    session = session_of(factories.user("dora", is_staff=True))
    rows = one_of_each(cast, factories.environment("quarto"))
    open_to_dora = []
    for number, (model, row) in enumerate(rows.items()):
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        others = [
            reverse(f"{name}_add"),
            *(reverse(f"{name}_{view}", args=[row.pk]) for view in ("change", "delete", "history")),
        ]
        addresses = [reverse(f"{name}_changelist"), *(others if is_whole else [others[number % 4]])]
        open_to_dora += [address for address in addresses if ask(session, "GET", address) != 403]
    assert open_to_dora == []


def test_nothing_is_done_for_a_form_of_another_site(house: dict[str, Any], sessions: list[str]) -> None:
    """A session alone is not enough: without the token of our own pages every form is refused."""
    done = []
    for method, address, statuses in lines():
        # 405 is nothing, and who is not let in has nothing to lose. The link in a mail is its own permission.
        if method == "GET" or statuses[1] in (401, 403, 404, 405) or address.startswith("/unsubscribe/"):
            continue
        status = ask(sessions[1], method, address.format(**house), csrf=True)
        if status != 403:
            done.append(f"{method} {address}: {status}")
    assert done == []


@pytest.mark.slow
def test_organisers_without_the_second_factor_that_they_need_reach_nothing(
    house: dict[str, Any], sessions: list[str], settings: Settings
) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    first = {address: method for method, address, _ in reversed([*lines()])}
    open_to_olga = {
        address
        for address, method in first.items()
        if ask(sessions[STAFF], method, address.format(**house)) not in (302, 403, 405)
    }
    # The way in, and what machines ask, which knows no session.
    assert open_to_olga == {"/profile/again/", "/profile/second-factor/", "/health", "/health/live"}
    assert ask(sessions[STAFF], "GET", reverse("admin:index")) == 302
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {"log_in"}
