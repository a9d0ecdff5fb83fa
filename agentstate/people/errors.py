"""What this app refuses, each with a code. PermissionDenied lives beside the question, in permissions.py."""

from __future__ import annotations

from agentstate.errors import Invalid, Refused


class NameTaken(Refused):
    """Somebody already has this user name."""

    code = "name_taken"
    remedy = "Choose another user name."


class WeakPassword(Invalid):
    """This password is too easy to guess."""

    code = "weak_password"
    remedy = "Choose a longer one that is neither common nor close to the name."


class OwnAccount(Refused):
    """Nobody changes their own roles or disables themselves."""

    code = "own_account"
    status = 403
    remedy = "Ask another admin, or use manage.py on the machine itself."


class AccountDisabled(Refused):
    """This account is disabled."""

    code = "account_disabled"
    remedy = "Enable it first."


class NoAuditor(Refused):
    """A grant is for somebody who has the role auditor in the team."""

    code = "no_auditor"
    remedy = "Give the role first."
