"""English as far as references go: closed lists of words. Nothing of any domain is in here; see `ontology` for that.

Lists hold lower-case words as `tokens.tokens` cuts them (`don't` is `don` and `'t`).
"""

from __future__ import annotations

from collections.abc import Mapping


def listed(text: str) -> frozenset[str]:
    """Returns the words of `text`, as a set."""
    return frozenset(text.split())


POINTING = listed("that this")
ARTICLES = listed("a an")  # of an agent: it tells of what is known
_OF_STAFF = listed("the your our that this a an")
DETERMINERS: Mapping[str, frozenset[str]] = {
    "customer": listed("the my our that this"),
    "agent": _OF_STAFF,
    "staff": _OF_STAFF,
}
ORDINALS: Mapping[str, int] = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "7th": 7, "8th": 8, "9th": 9, "10th": 10,
    "last": -1,
}  # fmt: skip
DIRECTIONS = listed("to into from onto")  # "from my savings account to checking": the phrase is over
PREPOSITIONS = DIRECTIONS | listed(
    "in on at for of with by over under above below about than via through before after since until till between within"
    " around as like out off up down near during per toward towards against across behind"
)
BEFORE_CODES = listed("ending ends in with number no")  # "the account ending in 2207"
NEGATIONS = listed("not 't never except excluding without besides")
# What may follow a whole phrase. Anything else may belong to it, and then it is not understood.
CLOSING = NEGATIONS | listed(
    "and or but so because if when while then please too also instead now again though yes no ok okay thanks thank"
    " is 's was isn wasn has had hasn hadn will 'll would 'd won can could cannot may might should must do does did"
)
PRONOUNS = listed(
    "i me you we us he him she her it its they them their his my our your who whom which what this that these those"
    " there here one ones"
)
# Words of a label that name nothing.
STOP = CLOSING | PREPOSITIONS | PRONOUNS | listed("the a an any some every each all are were be been being am have")
