"""The refusals that callers of a profile tell apart; what is no value of a preference is `values.BadValue`."""

from __future__ import annotations

from agentstate.errors import Invalid, Refused


class UnknownPreference(Invalid):
    """There is no such preference."""

    code = "unknown_preference"


class UnknownPurpose(Invalid):
    """There is no such purpose."""

    code = "unknown_purpose"


class NoConsent(Refused):
    """The customer has not agreed to be known for this purpose."""

    code = "no_consent"
    remedy = "Ask the customer, and give their consent first."


class PurposeRequired(Refused):
    """This purpose is part of the contract and rests on no consent."""

    code = "purpose_required"


class LearningRefused(Refused):
    """The customer has refused that this is learned."""

    code = "learning_refused"
    remedy = "Allow it again first."


class NothingHeld(Refused):
    """The profile holds nothing of the kind."""

    code = "nothing_held"


class TooManyRefusals(Refused):
    """The profile holds as many refusals as it can."""

    code = "too_many_refusals"
    remedy = "Refuse whole preferences instead of single values, or withdraw the consent."
