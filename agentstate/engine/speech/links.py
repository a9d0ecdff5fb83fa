"""Hosts of the links in a text, also of bare domains and of those that are written so that only a person reads them:
"bank[.]example", "bank dot com", full-width letters, dots of other scripts.

Anything between two points that could be a domain counts as one ("end.Next"): a rule asks once too often rather than
once too rarely. A host is in lower case; one with other letters than ASCII is in its IDNA form, so that it equals no
host that it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_HIDDEN_DOT = re.compile(r" ?[\[({<] ?(?:\.|dot|punkt|punto) ?[\])}>] ?", re.IGNORECASE)
_SPOKEN_DOT = re.compile(r" (?:dot|punkt|punto) (?=(?:com|org|net|info|biz|io|co|app|xyz|de|uk|eu)\b)", re.IGNORECASE)
_SPACED_DOT = re.compile(r"(?<=\w) ?\. ?(?=(?:com|org|net)\b)")
_TOKEN = re.compile(r"[\w.\-@:/%+]+")
_MARKS = re.compile(r"[.:].")  # every link has a point or a colon within
_SCHEME = re.compile(r"(?:https?|hxxps?|ftps?|wss?):/*|[a-z][a-z0-9+.\-]{0,19}://+")
_WITHOUT_HOST = re.compile(r"(?:javascript|vbscript|data|file|blob|mailto|tel|sms|intent|whatsapp|tg|market):(?=.)")
_LABEL = re.compile(r"[\w-]{1,63}")
_TOP = re.compile(r"[^\W\d_]{2,63}|xn--[a-z0-9-]{1,59}")


def links_in(clean: str) -> list[str]:
    """Returns the hosts of links in cleaned text, each once, in order. A link without a host is its scheme, `tel:`."""
    text = clean.replace("\\", "/")
    for dot in (_HIDDEN_DOT, _SPOKEN_DOT, _SPACED_DOT):
        text = dot.sub(".", text)
    found = (link for token in _TOKEN.findall(text.lower()) if _MARKS.search(token) for link in _links(token))
    return list(dict.fromkeys(found))


def _links(token: str) -> Iterator[str]:
    """Yields the links of a token: text without spaces, brackets and quotes."""
    if (scheme := _WITHOUT_HOST.search(token)) is not None:
        yield scheme[0]
    if (scheme := _SCHEME.search(token)) is not None:
        authority = unquote(token[scheme.end() :].split("/")[0]).rpartition("@")[2]
        yield _ascii(authority.split(":")[0].strip(".")) or scheme[0]
        return
    for segment in token.split("/"):
        hosts = (each.split(":")[0].strip(".") for each in reversed(segment.split("@")))
        if (host := next(filter(_is_host, hosts), None)) is not None:
            yield _ascii(host)
            return  # what follows is its path


def _is_host(name: str) -> bool:
    labels = name.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        return False
    if len(labels) == 4 and all(label.isdecimal() and int(label) < 256 for label in labels):
        return True
    return len(labels) > 1 and _TOP.fullmatch(labels[-1]) is not None


def _ascii(host: str) -> str:
    """Returns the host in its IDNA form; as it is written where it has none."""
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host
