"""docs/api.md: every example in it, run in its order as a reader would run it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.http import HttpResponse

from sessions.models.sessions import AgentSession
from tests import cast
from tests.processes import eventually
from tests.shell.api_world import Api, document
from tests.shell.bank_world import work

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
NAMED_BY = {"ERASURE": "basis", "HOLD": "set_by", "EXPORT": "masked"}  # an id's name, by a field beside it
EXAMPLES = re.findall(r"```sh\n# (\d{3})\n(.*?)```", PAGE, re.DOTALL)


def run(example: str, names: dict[str, str]) -> HttpResponse:
    """The answer to one curl command."""
    command = re.sub(r"\$([A-Z]+)", lambda found: names[found[1]], example)
    method, headers, body, url = "GET", {}, b"", ""
    words = iter(shlex.split(command.replace("\\\n", " "))[1:])
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words).encode()
        elif word != "-sS":
            url = word
    kind = headers.pop("Content-Type", "")
    return Api(None).ask(method, url.removeprefix("http://host"), data=body, headers=headers, content_type=kind)


def rests() -> bool:
    """Work; whether nothing is left that the agent would do, not even a call that is tried again in a moment."""
    work()
    return not AgentSession.objects.filter(waiting_for__in=("agent", "retry"), ready_at__isnull=False).exists()


@pytest.mark.django_db(transaction=True)
def test_every_example_of_the_api_page_works_in_its_order(bank) -> None:
    names = {"HOST": "http://host", "CALLER": cast.token(cast.cleo()), "SUPERVISOR": cast.token(cast.alice())}
    names["PRIVACY"] = cast.token(cast.petra())
    assert len(EXAMPLES) >= 11
    for status, example in EXAMPLES:
        answer = run(example, names)
        assert answer.status_code == int(status), (example, answer.content)
        eventually(rests, what="nothing is left to do")
        body = answer.json()
        if "SESSION" not in names:
            names["SESSION"], names["CUSTOMER"] = body["id"], body["customer"]
        if body.get("requests"):
            names["REQUEST"] = body["requests"][0]["id"]
        names |= {name: body["id"] for name, field in NAMED_BY.items() if field in body}


def test_the_page_names_every_address_and_every_refusal() -> None:
    paths = document()["paths"]
    for path in paths:
        assert re.sub(r"{(\w+?)(_id)?}", lambda found: f"${found[1].upper()}", path) in PAGE, path
    statuses = {code for methods in paths.values() for each in methods.values() for code in each["responses"]}
    table = PAGE.partition("| status |")[2].partition("\n\n")[0]
    assert {code for code in statuses if int(code) >= 400} | {"405"} == set(re.findall(r"\b\d{3}\b", table))
