"""What a person saw of a request when they decided it: data that is recorded with the decision, and read again later.

A page sends back, signed, what it showed; a program is taken at its word by the digest that it names. What was said is
cited by its entries, which stay under the keys of whom they concern; so is a value too long to be written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import msgspec
from django.core import signing

from agentstate.engine import events as ev
from agentstate.engine.state.session import Request
from agentstate.errors import Invalid

Surface = Literal["page", "api"]
LONGEST_VALUE = 1_000  # bytes of one argument or value of evidence; a longer one is cited
LONGEST = 16_000  # bytes of the whole; then all arguments and evidence are cited
MASKED = "masked"  # stands in the place of a value that was not shown
_SALT = "agentstate.shown"
_json = msgspec.json.Encoder(decimal_format="number")
_exact = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def view(
    request: Request,
    digest: str,
    *,
    surface: Surface,
    said: Iterable[int] = (),
    told: Iterable[int] = (),
    masked: Sequence[str] = (),
    differences: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """What stands before a person who decides `request` on a page or over the API. `digest`: the one that a decision
    names as seen; `said` and `told`: the entries of the conversation and of the history that are shown with it;
    `masked`: paths of the evidence whose values are not; `differences`: as `differences.as_data` gives them.
    """
    asked = request.asked
    evidence = [(each.path, MASKED if each.path in masked else each.value) for each in asked.basis]
    whole = {
        "surface": surface,
        "digest": digest,
        "asked": request.seq,
        "preview": asked.preview,
        "why": asked.why,
        "rule": asked.rule,
        "policy": asked.policy,
        "tier": asked.tier,
        "quorum": asked.quorum,
        "approvals": list(request.approvals),
        "expires_at": request.expires_at,
        "held_until": request.held_until,
        "reviewers": [list(group) for group in request.reviewers],
        "tool": asked.tool,
        "tool_version": asked.tool_version,
        "arguments": {name: _or_cited(value) for name, value in request.arguments.items()},
        "evidence": [{"path": path, "value": _or_cited(value)} for path, value in evidence],
        "masked": list(masked),
        "said": list(said),
        "told": list(told),
        "differences": list(differences),
    }
    if len(_json.encode(whole)) <= LONGEST:
        return whole
    return {**whole, "arguments": _cited(request.arguments), "evidence": _cited([each.value for each in asked.basis])}


def _or_cited(value: Any) -> Any:
    return value if len(_json.encode(value)) <= LONGEST_VALUE else _cited(value)


def _cited(value: Any) -> dict[str, Any]:
    """What stands for a long value. The entry that asked holds it or, of what somebody edited, the entry of their edit:
    its digest says which.
    """
    return {"sha256": ev.digest(value), "bytes": len(_json.encode(value))}


def shown(data: dict[str, Any]) -> ev.View:
    """`data` as it is recorded."""
    return ev.View(ev.digest(data), data)


class _Exact:
    """Numbers keep the text in which they arrived."""

    def dumps(self, obj: Any) -> bytes:
        return _json.encode(obj)

    def loads(self, data: bytes) -> Any:
        return _exact.decode(data)


def signed(actor: str, request: UUID, data: dict[str, Any]) -> str:
    """What a page shows, for the page to send back with the decision: of this person and request alone."""
    return signing.dumps(data, salt=_salt(actor, request), serializer=_Exact, compress=True)


def read(actor: str, request: UUID, text: str) -> ev.View:
    """The inverse of `signed`, as it is recorded. Raises Invalid for what no page of ours has shown them."""
    try:
        data = signing.loads(text, salt=_salt(actor, request), serializer=_Exact)
    except (signing.BadSignature, ValueError, msgspec.MsgspecError):
        raise Invalid("the page did not say what it showed: look at it again", field="view") from None
    return shown(data)


def _salt(actor: str, request: UUID) -> str:
    return f"{_SALT}/{actor}/{request}"
