"""The sign-in form: Django's own, with names in one spelling and attempts counted before a password is read."""

from __future__ import annotations

import math
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from agentstate.people import attempts, known_browsers
from agentstate.people.models import User
from agentstate.people.sign_ins import address_of
from agentstate.proxies import network_of

LONGEST = 150  # characters; nobody has a longer name, see User.username


class SignInForm(AuthenticationForm):
    """`ALICE` and `alice ` are the same account, so they share one count of wrong passwords."""

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": "User name and password do not match an account that may sign in."
    }
    attempt: attempts.Attempt | None = None

    def clean_username(self) -> str:
        name = User.normalize_username(self.cleaned_data["username"])
        if len(name) > LONGEST:
            raise self.get_invalid_login_error()
        return name

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name and password and self.request is not None:
            browser = known_browsers.browser_of(self.request, name)
            self.attempt = attempts.begin(name, network_of(address_of(self.request)), browser)
            if self.attempt.wait:
                raise ValidationError(f"Too many wrong passwords. {again_in(self.attempt.wait)}", code="wait")
        return super().clean()

    def get_invalid_login_error(self) -> ValidationError:
        wrong = super().get_invalid_login_error()
        wait = self.attempt.next if self.attempt is not None else 0.0
        return ValidationError(f"{wrong.message} {again_in(wait)}", code=wrong.code) if wait else wrong


def again_in(seconds: float) -> str:
    """When the next attempt is read, in whole seconds, rounded up."""
    whole = math.ceil(seconds)
    return f"Try again in {whole} second{'s' if whole != 1 else ''}."
