"""The door: sign in, sign out, sign in by a one-time link. Plain forms; nothing here needs JavaScript."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.helpers import get_cool_off
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

from agentstate.people.commands import use_sign_in_link
from agentstate.people.forms import SignInForm
from agentstate.people.queries import open_link
from agentstate.people.throttles import SignInFailures

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(LoginView):
    """Name and password. `next` is followed only within this host (Django's check)."""

    template_name = "people/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        failures = SignInFailures()
        if failures.spent(request):
            return too_many(request, seconds=int(failures.duration))
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        SignInFailures().count(self.request)
        return self.render_to_response(self.get_context_data(form=form), status=422)


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
    login(request, user, backend=BACKEND)
    return redirect(settings.LOGIN_REDIRECT_URL)


def locked_out(request: HttpRequest, *_: Any) -> HttpResponse:
    """What django-axes answers with (AXES_LOCKOUT_CALLABLE): this name failed too often from this address."""
    cool_off = get_cool_off(request) or timedelta(minutes=1)
    return too_many(request, seconds=int(cool_off.total_seconds()))


def too_many(request: HttpRequest, *, seconds: int) -> HttpResponse:
    minutes = max(1, -(-seconds // 60))
    response = render(request, "people/too_many.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(seconds)
    return response
