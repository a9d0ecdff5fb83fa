"""The door: sign in, sign out, sign in by a one-time link. Plain forms; nothing here needs JavaScript."""

from __future__ import annotations

import math

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from agentstate.people import attempts, known_browsers, sign_ins
from agentstate.people.commands import use_sign_in_link
from agentstate.people.forms import SignInForm
from agentstate.people.queries import open_link


class SignIn(LoginView):
    """Name and password. `next` is followed only within this host (Django's check).

    An attempt that has to wait is refused with 429 before its password is read.
    """

    template_name = "people/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        assert isinstance(form, SignInForm)
        if form.attempt is not None:
            attempts.succeeded(form.attempt)
        response = super().form_valid(form)
        known_browsers.remember(self.request, response, form.get_user())
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        attempt = form.attempt if isinstance(form, SignInForm) else None
        response = self.render_to_response(self.get_context_data(form=form), status=422)
        if attempt is None:
            return response
        if attempt.wait:
            response.status_code = 429
        elif attempt.began:
            sign_ins.slowed(self.request, attempt.account)
        if attempt.wait or attempt.next:
            response["Retry-After"] = str(math.ceil(attempt.wait or attempt.next))
        return response


@method_decorator(never_cache, name="dispatch")
class SignOut(LogoutView):
    """POST only, so that no foreign page can sign anybody out."""

    def get_default_redirect_url(self) -> str:
        return reverse("people:sign_in")


@never_cache
@csrf_protect
@sensitive_variables("token")
@require_http_methods(["GET", "HEAD", "POST"])
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST signs in and uses the link up: a preview that fetches the page spends nothing."""
    link = open_link(token)
    if link is None:
        return render(request, "people/link_refused.html", status=410)
    if request.method != "POST":
        return render(request, "people/sign_in_link.html", {"person": link.user})
    user = use_sign_in_link(token)
    if user is None:
        return render(request, "people/link_refused.html", status=410)
    login(request, user)
    response = redirect(settings.LOGIN_REDIRECT_URL)
    known_browsers.remember(request, response, user)
    return response
