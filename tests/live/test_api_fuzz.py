"""The API under cases that schemathesis makes from its own OpenAPI document, in-process, on a real database.

Whatever is sent, the answer is one that the document describes, never a 5xx (`Api` checks both), and what breaks the
document is refused. FULL=1 tries more, as `make test-all` does.
"""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests import cast
from tests.searching import FULL
from tests.shell.api_world import Api, document, new_session

pytestmark = pytest.mark.django_db
EXAMPLES, SECONDS = (200, 10.0) if FULL else (12, 1.5)  # of each operation, the sooner ends it
LEAST = 10  # examples, however slow the machine
SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = [(method.upper(), path) for path, methods in document()["paths"].items() for method in methods]
REFUSED = (400, 403, 404, 413, 415)
within = settings(
    max_examples=EXAMPLES,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


class Fuzzed:
    """An API client for each kind of person, sessions to aim at, and a time after which no more is tried."""

    def __init__(self) -> None:
        self.everybody = [Api(person()) for person in (cast.cleo, cast.alice, cast.vera)] + [Api(None)]
        self.apis = self.everybody
        self.sessions = [new_session() for _ in range(3)]
        customer = self.everybody[0].get(f"/sessions/{self.sessions[0]}").json()["customer"]
        self.known = {"customer": [customer], "agent": ["bank"], "name": ["bank-transfer"], "session": self.sessions}
        self.begin()

    def begin(self, callers: int = 4) -> None:
        """The time of a test begins, for so many of the people."""
        self.apis = self.everybody[:callers]
        self.until = time.monotonic() + SECONDS
        self.tried = 0

    def send(self, case: Any, choice: int) -> int | None:
        """The status of the answer to `case`, asked by one of the people, three times in four of a real session
        (or customer, agent, chart)."""
        if self.tried >= LEAST and time.monotonic() > self.until:
            return None
        self.tried += 1
        path = case.path
        for name, value in case.path_parameters.items():
            there = self.known.get(name, [])
            real = there[choice % len(there)] if there and choice % 4 else value
            path = path.replace(f"{{{name}}}", str(real))
        api = self.apis[choice % len(self.apis)]
        answer = api.ask(case.method, _printable(path), data=_bytes(case.body), query_params=_query(case.query))
        return int(answer.status_code)


@pytest.fixture(scope="module")
def fuzzed(rolled_back: None) -> Fuzzed:
    return Fuzzed()


def _printable(path: str) -> str:
    """A path as it can stand in a request line."""
    return path.encode("utf-8", "surrogatepass").decode("latin-1").replace("?", "%3F").replace("#", "%23")


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if type(body).__name__ == "NotSet" else json.dumps(body).encode()


def _query(query: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, list) else _text(value) for key, value in (query or {}).items()}


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


def cases(method: str, path: str, mode: GenerationMode) -> st.SearchStrategy[Any]:
    return SCHEMA[path][method].as_strategy(generation_mode=mode)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_what_the_document_allows_is_answered_as_it_says(fuzzed: Fuzzed, method: str, path: str) -> None:
    fuzzed.begin()

    @within
    @given(cases(method, path, GenerationMode.POSITIVE), st.integers(0, 23))
    def run(case: Any, choice: int) -> None:
        fuzzed.send(case, choice)

    run()
    assert fuzzed.tried >= LEAST


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[0] in ("POST", "PUT", "PATCH")])
def test_what_breaks_the_document_is_refused(fuzzed: Fuzzed, method: str, path: str) -> None:
    fuzzed.begin(callers=1)

    @within
    @given(cases(method, path, GenerationMode.NEGATIVE), st.integers(0, 23))
    def run(case: Any, choice: int) -> None:
        status = fuzzed.send(case, choice)
        assert status in (None, *REFUSED) or _allowed(method, path, case.body)

    run()
    assert fuzzed.tried >= LEAST


def _allowed(method: str, path: str, body: Any) -> bool:
    """Whether the document allows this body; a case may break it elsewhere, in a header that we do not read."""
    body = {} if type(body).__name__ == "NotSet" else body  # no body is taken for an empty one
    described = document()["paths"][path][method.lower()].get("requestBody")
    if described is None:  # nothing is asked, so there is nothing to break but by saying something
        return body == {}
    shape = {"$ref": described["content"]["application/json"]["schema"]["$ref"], "components": document()["components"]}
    return not isinstance(body, bytes) and jsonschema.Draft202012Validator(shape).is_valid(body)


JSON_BITS = st.sampled_from(
    [
        '{"text":',
        '"x"',
        "}",
        "{",
        "[",
        "]",
        ",",
        ":",
        "null",
        "1e9",
        "-",
        "\\u0000",
        "\\ud83d",
        '"',
        "NaN",
        "\x00",
        "0.1",
    ]
)


BODIES = st.one_of(st.binary(max_size=200), st.lists(JSON_BITS, max_size=30).map(lambda bits: "".join(bits).encode()))


def test_any_bytes_at_all_are_a_message_or_a_400() -> None:
    cleo, session = Api(cast.cleo()), new_session()

    @within
    @given(BODIES)
    def run(data: bytes) -> None:
        assert cleo.post(f"/sessions/{session}/messages", data).status_code in (201, 400)

    run()


def test_any_text_that_is_accepted_comes_back_as_it_was_sent() -> None:
    cleo, session = Api(cast.cleo()), new_session()

    @within
    @given(st.text(min_size=1, max_size=300))
    def run(text: str) -> None:
        answer = cleo.post(f"/sessions/{session}/messages", {"text": text})
        if answer.status_code == 400:
            assert "\x00" in text or not text.strip() or not _encodable(text)
            return
        page = cleo.get(f"/sessions/{session}/entries", after=answer.json()["first"] - 1).json()
        assert page["entries"][0]["data"]["text"] == text.strip()

    run()


def _encodable(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False
