"""Addresses of people: pages, the API, and those of accounts, whose names django-allauth looks up."""

from __future__ import annotations

from collections.abc import Callable

from allauth.socialaccount.providers.github import views as github
from allauth.socialaccount.providers.openid_connect import views as openid
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import RedirectView

from web.api.routing import native
from web.people import access_views as access
from web.people import account_api, quota_api, token_api
from web.people import email_views as emails
from web.people import leaving_views as leaving
from web.people import login_views as logins
from web.people import password_views as passwords
from web.people import provider_views as providers
from web.people import second_factor_views as factors
from web.people import views as profiles
from web.people.provider_views import with_provider

factor = "profile/second-factor/"


def page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
    """Return an address; nothing of a form sent there is in a mail about an error."""
    return path(route, sensitive_post_parameters()(view), name=name)


accounts = [
    page("login/", logins.Login.as_view(), name="account_login"),
    page("login/code/", factors.LoginCode.as_view(), name="mfa_authenticate"),
    page("login/passkey/", logins.PasskeyLogin.as_view(), name="mfa_login_webauthn"),
    page("login/with/github/", with_provider(github.oauth2_login), name="github_login"),
    page("login/with/github/back/", with_provider(github.oauth2_callback), name="github_callback"),
    page("login/with/<slug:provider_id>/", with_provider(openid.login), name="openid_connect_login"),
    page("login/with/<slug:provider_id>/back/", with_provider(openid.callback), name="openid_connect_callback"),
    page("login/cancelled/", providers.Cancelled.as_view(), name="socialaccount_login_cancelled"),
    page("login/failed/", providers.Failed.as_view(), name="socialaccount_login_error"),
    page("logout/", logins.Logout.as_view(), name="account_logout"),
    page("sign-up/", logins.SignUp.as_view(), name="account_signup"),
    page("sign-up/with/", logins.ProviderSignUp.as_view(), name="socialaccount_signup"),
    page("login/first/", passwords.FirstLogin.as_view(), name="first_login"),
    page("password-reset/", passwords.PasswordReset.as_view(), name="account_reset_password"),
    page("password-reset/sent/", passwords.PasswordResetSent.as_view(), name="account_reset_password_done"),
    page(
        "password-reset/complete/",
        passwords.PasswordResetComplete.as_view(),
        name="account_reset_password_from_key_done",
    ),
    page(
        "password-reset/<str:uidb36>/<str:key>/",
        passwords.PasswordResetConfirm.as_view(),
        name="account_reset_password_from_key",
    ),
    page("confirm/<str:key>/", emails.EmailConfirm.as_view(), name="account_confirm_email"),
    page("profile/again/", passwords.Reauthenticate.as_view(), name="account_reauthenticate"),
    page("profile/again/code/", factors.CodeAgain.as_view(), name="mfa_reauthenticate"),
    page("profile/again/passkey/", factors.PasskeyAgain.as_view(), name="mfa_reauthenticate_webauthn"),
    page("profile/password/", passwords.PasswordChange.as_view(), name="account_change_password"),
    page("profile/password/set/", passwords.PasswordSet.as_view(), name="account_set_password"),
    page("profile/email/", emails.Email.as_view(), name="account_email"),
    page("profile/logins/", providers.Connections.as_view(), name="socialaccount_connections"),
    page(factor, factors.SecondFactor.as_view(), name="mfa_index"),
    page(factor + "app/", factors.AppAdd.as_view(), name="mfa_activate_totp"),
    page(factor + "app/remove/", factors.AppRemove.as_view(), name="mfa_deactivate_totp"),
    page(factor + "codes/", factors.RecoveryCodes.as_view(), name="mfa_view_recovery_codes"),
    page(factor + "codes/new/", factors.RecoveryCodesRenew.as_view(), name="mfa_generate_recovery_codes"),
    page(factor + "passkeys/", RedirectView.as_view(pattern_name="mfa_index"), name="mfa_list_webauthn"),
    page(factor + "passkeys/add/", factors.PasskeyAdd.as_view(), name="mfa_add_webauthn"),
    page(factor + "passkeys/<int:pk>/", factors.PasskeyRename.as_view(), name="mfa_edit_webauthn"),
    page(factor + "passkeys/<int:pk>/remove/", factors.PasskeyRemove.as_view(), name="mfa_remove_webauthn"),
]

pages = [
    path("profile/", profiles.profile, name="profile"),
    path("profile/sessions/", access.sessions, name="sessions"),
    path("profile/sessions/end/", access.sessions_close, name="sessions_close"),
    path("profile/sessions/<int:session_id>/end/", access.session_close, name="session_close"),
    path("profile/tokens/", access.tokens, name="tokens"),
    path("profile/tokens/<int:token_id>/revoke/", access.token_revoke, name="token_revoke"),
    path("profile/export/", leaving.export, name="account_export"),
    path("profile/delete/", leaving.delete, name="account_delete"),
    path("users/<str:username>/", profiles.user, name="user"),
]

routes = [
    *native("accounts/", account_api.Accounts, "accounts"),
    *native("tokens/", token_api.TokenList, "tokens"),
    *native("tokens/<int:pk>/", token_api.TokenShown, "token"),
    *native("me/", token_api.Me, "me"),
    *native("me/quotas/", quota_api.MyQuotas, "my_quotas"),
]
