"""Proofs: of entries, ranges, whole sessions, absence, consistency and receipts; and a check of any of them."""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any, get_args

from django.http import HttpResponse

from agentstate.people.models import User
from audit import signer, verify
from audit.proofs.making import NoSuchEntry
from audit.tlog import canonical
from sessions.core.states import UnknownSession
from sessions.http.answers import filled, receipt_headers
from sessions.http.bodies import arguments
from sessions.http.operations import READING, WRITING, get, post
from sessions.http.parameters import LAST, OneOf, Seq, SessionId, Text, Whole, identifier
from sessions.proofs import commands, queries
from sessions.proofs import schemas as forms

EntrySeq = Annotated[int, Seq(NoSuchEntry, LAST)]
Size = Annotated[int, Whole(1, required=True)]
Older = Annotated[int, Whole(1, about="of the older head", required=True)]
Hash = Annotated[str, Text(pattern="^[0-9a-f]{64}$", required=True)]
Content = Annotated[
    queries.Content,
    OneOf(
        get_args(queries.Content),
        "of the entries: `masked` shows what a masked export does and needs `read`; `full` opens them and needs"
        " `export` and `unmask`; `withheld` shows hashes and kinds alone",
    ),
]
proof = get(codes=(*READING, 409), shape=forms.Proof)


def document(data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
    """A proof document as its exact bytes: written anew, it would be another file."""
    return HttpResponse(data, content_type="application/json", status=status, headers=headers)


@proof
def prove_entry(
    user: User,
    session: SessionId,
    seq: EntrySeq,
    *,
    content: Content = "masked",
    fields: Annotated[str, Text("JSON Pointers into the entry's data, with commas between")] = "",
) -> HttpResponse:
    """With `fields`, only those values are shown, and the others stay closed; that needs `export` and `unmask`."""
    pointers = [each for each in fields.split(",") if each]
    return document(queries.entry(user, session, seq, content=content, pointers=pointers))


@get(codes=(*READING, 409))
def prove_entry_tlog(user: User, session: SessionId, seq: EntrySeq) -> forms.TlogProof:
    """The same in formats that others read."""
    found = queries.tlog_files(user, session, seq)
    return forms.TlogProof(found.entry.decode(), found.head.decode(), base64.b64encode(found.receipt).decode())


@proof
def prove_range(
    user: User,
    session: SessionId,
    *,
    first: Annotated[int, Whole(0, required=True)] = -1,
    last: Annotated[int, Whole(0, required=True)] = -1,
    content: Content = "masked",
) -> HttpResponse:
    """That entries stand one behind the other, with nothing missing."""
    return document(queries.extract(user, session, first, last, content=content))


@proof
def prove_session(user: User, session: SessionId, *, content: Content = "masked") -> HttpResponse:
    """A whole session, and that nothing follows."""
    return document(queries.complete(user, session, content=content))


@proof
def prove_absence(user: User, session: SessionId) -> HttpResponse:
    """For those who see the sessions of all teams; to others a session that is not there and one that they may not see
    are the same.
    """
    return document(queries.absence(user, session))


@proof
def prove_consistency(user: User, session: SessionId, *, size: Older = 0) -> HttpResponse:
    """That a session continues what it was."""
    return document(queries.growth(user, session, size))


@proof
def check_receipt(user: User, session: SessionId, *, size: Size = 0, root: Hash = "", leaf: Hash = "") -> HttpResponse:
    """The receipt of a command, as its answer gave it. `receipt_not_kept` says in so many words that the log was cut
    off or altered since.
    """
    return document(queries.receipt(user, session, size, root, leaf))


@proof
def prove_log_consistency(user: User, *, size: Older = 0) -> HttpResponse:
    """That the installation's log continues what it was."""
    return document(queries.log_growth(user, size))


@post(codes=(*WRITING, 410), shape=forms.Proof)
def prove_value(user: User, session: SessionId, body: forms.ProveValue) -> HttpResponse:
    """The value becomes an entry of the session (`value.proved`); the answer is the proof of that entry, which shows
    this value and nothing else.
    """
    committed, made = commands.prove_value(user, session, **arguments(body))
    return document(made, 201, receipt_headers(committed))


@post(200)
def check_proof(user: User, body: forms.CheckProof) -> forms.Checked:
    """By the same verifier that everybody can run offline. A proof that does not hold is an answer, not an error."""
    session = str(identifier(body.session, UnknownSession)) if body.session else ""
    return checked(_bytes(body.proof), body.vkey or signer.vkey(), session)


def _bytes(given: Any) -> bytes:
    try:
        return given.encode() if isinstance(given, str) else canonical.dumps(given)
    except (canonical.NotCanonical, UnicodeEncodeError):
        return b""  # no proof is written so, and the verifier says that it is none


def checked(data: bytes, key: str, session: str) -> forms.Checked:
    """The verdict on a proof."""
    verdict = verify.verify_proof(data, key, demand=verify.Demand(session=session))
    head = verdict.head or {}
    said = json.loads(json.dumps(verdict.proof))  # numbers that are no integers are text
    return filled(
        forms.Checked,
        verdict,
        key=key,
        session=head.get("log", ""),
        size=head.get("size", 0),
        proof=said if verdict.ok else None,
    )
