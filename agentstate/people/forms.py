"""The sign-in form: Django's own, with the name in one spelling before anybody counts attempts on it."""

from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm

from agentstate.people.models import User

LONGEST = 150  # characters; nobody has a longer name, see User.username


class SignInForm(AuthenticationForm):
    """`ALICE` and `alice ` are the same account, so they share one count of failures."""

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": "User name and password do not match an account that may sign in."
    }

    def clean_username(self) -> str:
        name = User.normalize_username(self.cleaned_data["username"])
        if len(name) > LONGEST:
            raise self.get_invalid_login_error()
        return name
