"""Proofs: of entries, ranges, whole sessions, absence, consistency and receipts; and a check of any of them."""

from __future__ import annotations

import base64
import json
from typing import Any, cast, get_args
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit import signer, verify
from audit.proofs.making import NoSuchEntry
from audit.tlog import canonical
from sessions.core.states import UnknownSession
from sessions.http.api import LAST, READING, SESSION, WRITING, answers, receipt_headers, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.proofs import commands as proofs_commands
from sessions.proofs import queries
from sessions.proofs import schemas as forms

_SEQ = OpenApiParameter("seq", {"type": "integer", "minimum": 0, "maximum": LAST}, OpenApiParameter.PATH)
_SIZE = {"type": "integer", "minimum": 1, "maximum": LAST}
CONTENTS = list(get_args(queries.Content))
_HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_CONTENT = OpenApiParameter(
    "content",
    str,
    enum=CONTENTS,
    default="masked",
    description="of the entries: `masked` shows what a masked export does and needs `read`; `full` opens them and needs"
    " `export` and `unmask`; `withheld` shows hashes and kinds alone",
)
_PROVING = (*READING, 409)


def document(data: bytes) -> HttpResponse:
    """A proof document as its exact bytes: written anew, it would be another file."""
    return HttpResponse(data, content_type="application/json")


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


def seq_of(text: str) -> int:
    """The number of an entry in a path. Raises NoSuchEntry."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        raise NoSuchEntry("want the number of an entry")
    return int(text)


def _content(given: Parameters) -> queries.Content:
    return cast(queries.Content, given.one_of("content", CONTENTS) or "masked")


class EntryProof(APIView):
    """That an entry is in a session."""

    @extend_schema(
        operation_id="prove_entry",
        description="With `fields`, only those values are shown, and the others stay closed; that needs `export` and"
        " `unmask`.",
        parameters=[
            SESSION,
            _SEQ,
            _CONTENT,
            OpenApiParameter("fields", str, description="JSON Pointers into the entry's data, with commas between"),
        ],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request, session: str, seq: str) -> HttpResponse:
        given = Parameters(request, "content", "fields")
        pointers = [each for each in given.text("fields").split(",") if each]
        found = _session(session)
        return document(queries.entry(request.user, found, seq_of(seq), content=_content(given), pointers=pointers))


class EntryTlogProof(APIView):
    """The same in formats that others read."""

    @extend_schema(
        operation_id="prove_entry_tlog", parameters=[SESSION, _SEQ], responses=answers(200, forms.TlogProof, *_PROVING)
    )
    def get(self, request: Request, session: str, seq: str) -> Response:
        found = queries.tlog_files(request.user, _session(session), seq_of(seq))
        receipt = base64.b64encode(found.receipt).decode()
        return Response({"entry": found.entry.decode(), "head": found.head.decode(), "receipt": receipt})


class RangeProof(APIView):
    """That entries stand one behind the other, with nothing missing."""

    @extend_schema(
        operation_id="prove_range",
        parameters=[
            SESSION,
            OpenApiParameter("first", {"type": "integer", "minimum": 0, "maximum": LAST}, required=True),
            OpenApiParameter("last", {"type": "integer", "minimum": 0, "maximum": LAST}, required=True),
            _CONTENT,
        ],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request, session: str) -> HttpResponse:
        given = Parameters(request, "first", "last", "content")
        first, last = given.whole("first", -1, 0, LAST), given.whole("last", -1, 0, LAST)
        return document(queries.extract(request.user, _session(session), first, last, content=_content(given)))


class SessionProof(APIView):
    """A whole session, and that nothing follows."""

    @extend_schema(
        operation_id="prove_session", parameters=[SESSION, _CONTENT], responses=answers(200, forms.Proof, *_PROVING)
    )
    def get(self, request: Request, session: str) -> HttpResponse:
        given = Parameters(request, "content")
        return document(queries.complete(request.user, _session(session), content=_content(given)))


class AbsenceProof(APIView):
    """That there is no such session."""

    @extend_schema(
        operation_id="prove_absence",
        description="For those who see the sessions of all teams; to others a session that is not there and one that"
        " they may not see are the same.",
        parameters=[SESSION],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request, session: str) -> HttpResponse:
        return document(queries.absence(request.user, _session(session)))


class ConsistencyProof(APIView):
    """That a session continues what it was."""

    @extend_schema(
        operation_id="prove_consistency",
        parameters=[SESSION, OpenApiParameter("size", _SIZE, required=True, description="of the older head")],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request, session: str) -> HttpResponse:
        size = Parameters(request, "size").whole("size", 0, 1, LAST)
        return document(queries.growth(request.user, _session(session), size))


class ReceiptProof(APIView):
    """That a session holds what a receipt says."""

    @extend_schema(
        operation_id="check_receipt",
        description="The receipt of a command, as its answer gave it. `receipt_not_kept` says in so many words that the"
        " log was cut off or altered since.",
        parameters=[
            SESSION,
            OpenApiParameter("size", _SIZE, required=True),
            OpenApiParameter("root", _HASH, required=True),
            OpenApiParameter("leaf", _HASH, required=True),
        ],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request, session: str) -> HttpResponse:
        given = Parameters(request, "size", "root", "leaf")
        size, root, leaf = given.whole("size", 0, 1, LAST), given.text("root"), given.text("leaf")
        return document(queries.receipt(request.user, _session(session), size, root, leaf))


class LogConsistencyProof(APIView):
    """That the installation's log continues what it was."""

    @extend_schema(
        operation_id="prove_log_consistency",
        parameters=[OpenApiParameter("size", _SIZE, required=True, description="of the older head")],
        responses=answers(200, forms.Proof, *_PROVING),
    )
    def get(self, request: Request) -> HttpResponse:
        size = Parameters(request, "size").whole("size", 0, 1, LAST)
        return document(queries.log_growth(request.user, size))


class ValueProof(APIView):
    """A value of the state."""

    @extend_schema(
        operation_id="prove_value",
        description="The value becomes an entry of the session (`value.proved`); the answer is the proof of that entry,"
        " which shows this value and nothing else.",
        parameters=[SESSION],
        request=forms.ProveValue,
        responses=answers(201, forms.Proof, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> HttpResponse:
        committed, proof = proofs_commands.prove_value(
            request.user, _session(session), **valid(forms.ProveValue, request)
        )
        response = document(proof)
        response.status_code = 201
        for name, value in receipt_headers(committed).items():
            response.headers[name] = value
        return response


class ProofCheck(APIView):
    """What a proof proves."""

    @extend_schema(
        operation_id="check_proof",
        description="By the same verifier that everybody can run offline. A proof that does not hold is an answer, not"
        " an error.",
        request=forms.CheckProof,
        responses=answers(200, forms.Checked, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.CheckProof, request)
        session = str(identifier(wanted["session"], UnknownSession)) if "session" in wanted else ""
        key = wanted.get("vkey") or signer.vkey()
        return Response(checked(_bytes(wanted["proof"]), key, session))


def _bytes(proof: Any) -> bytes:
    try:
        return proof.encode() if isinstance(proof, str) else canonical.dumps(proof)
    except (canonical.NotCanonical, UnicodeEncodeError):
        return b""  # no proof is written so, and the verifier says that it is none


def checked(data: bytes, key: str, session: str) -> dict[str, Any]:
    """The verdict on a proof."""
    verdict = verify.verify_proof(data, key, demand=verify.Demand(session=session))
    head = verdict.head or {}
    said = json.loads(json.dumps(verdict.proof))  # numbers that are no integers are text
    failures = [shown(forms.CheckFailure, each) for each in verdict.failures]
    about = {"session": head.get("log", ""), "size": head.get("size", 0)}
    return {"ok": verdict.ok, "failures": failures, "key": key, **about, "proof": said if verdict.ok else None}
