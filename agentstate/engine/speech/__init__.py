"""What rules read of words that an agent is about to say: amounts of money, links, private values and promises in them.

Pure. A rule that names the tool `say` judges an agent's words as the call `say` with the argument `text`; what else it
reads is worked out here, from the text and the session's values, each time it is judged. The extractor reads more
rather than less: what it cannot read is None, which makes a rule that asks about it ask a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentstate.engine.speech.amounts import amounts_in, in_words
from agentstate.engine.speech.links import links_in
from agentstate.engine.speech.plain import cleaned, plain_of, without_lookalikes
from agentstate.engine.speech.private import Views, private_in
from agentstate.engine.speech.promises import promises_in

SAY = "say"  # the tool that an agent's words are judged as; no model is offered it
MAX_TEXT = 16_384  # characters of one message
MAX_FOUND = 50  # of each kind; with more, none of them can be read


def read(text: str, views: Iterable[Views] = (), private: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the arguments of `say` as rules read them. `views`: the session's values by the first name of their
    paths, one for the session and one for each of its instances; `private`: the paths that are private in them.
    """
    clean = cleaned(text)
    shown = without_lookalikes(clean)
    plain = plain_of(shown)
    amounts = amounts_in(shown)
    return {
        "text": text,
        "plain": plain,
        "amounts": _bounded(amounts),
        "links": _bounded(links_in(clean)),
        "private": _bounded(private_in(plain, amounts or [], views, private)),
        "promises": _bounded(promises_in(plain)),
    }


def findings(said: Mapping[str, Any]) -> str:
    """Returns what was found in the words, as a sentence for the reviewer. It names paths of private values, never the
    values; empty: nothing was found.
    """
    found = [f"{name}: {_listed(said[field])}" for field, name in _NAMES.items() if said[field] != []]
    return f"Found in the words: {'; '.join(found)}." if found else ""


_NAMES = {"amounts": "amounts", "links": "links", "private": "private values at", "promises": "promises"}
MAX_LISTED = 5  # of each kind, in the sentence


def _listed(found: list[Any] | None) -> str:
    if found is None:
        return "not readable"
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return ", ".join(_in_words(each) for each in found[:MAX_LISTED]) + more


def _in_words(found: Any) -> str:
    if isinstance(found, dict):
        return in_words(found["minor"], found["currency"])
    return str(found)


def _bounded(found: list[Any] | None) -> list[Any] | None:
    return None if found is None or len(found) > MAX_FOUND else found
