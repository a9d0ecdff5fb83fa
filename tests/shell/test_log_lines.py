"""No secret of a link reaches the log: in messages, tracebacks and mistyped addresses."""

from __future__ import annotations

import io
import logging
import logging.config

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agentstate import log_lines
from agentstate.people import secret
from tests import cast
from tests.shell.api_world import UNKNOWN

pytestmark = pytest.mark.django_db
SECRETS = {"token"}  # names of the parts of routes that are secrets


@pytest.fixture
def log(monkeypatch):
    """What the installation's own logging writes."""
    written, root = io.StringIO(), logging.getLogger()
    (handler,) = settings.LOGGING["handlers"].values()
    formatter = dict(settings.LOGGING["formatters"][handler["formatter"]])
    ours = logging.StreamHandler(written)
    ours.setFormatter(logging.config.DictConfigurator({}).configure_formatter(formatter))
    root.addHandler(ours)
    yield written
    root.removeHandler(ours)


def routes(resolver: URLResolver, prefix: str = "") -> list[tuple[str, set[str]]]:
    """Every route with the names of its parts."""
    found = []
    for each in resolver.url_patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLPattern):
            found.append((route, set(each.pattern.converters)))
        else:
            found += routes(each, route)
    return found


def test_each_route_with_a_secret_is_named():
    named = [route for route, parts in routes(get_resolver()) if parts & SECRETS]
    assert len(named) == 3
    for route in named:
        address = "/" + route.replace("<str:token>", "short")
        assert "short" not in log_lines.without_secrets(address), address


@pytest.mark.parametrize(
    "address",
    ["/shared/{}/", "/shared/{}/proof.json", "/sign-in/link/{}/", "/x//shared//{}", "/SHARED/{}x", "/x/{}/", "/{}"],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_refused_request_names_no_secret(log, address, method):
    token = secret.new_link()
    client = Client(REMOTE_ADDR=cast.address(), enforce_csrf_checks=True)
    answer = getattr(client, method)(address.format(token))
    assert answer.status_code >= 400
    assert token not in log.getvalue()
    assert log_lines.REPLACED in log.getvalue()


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/customers/C-1001/", "/customers/[typed]/"),
        ("/sessions/Jane Doe/audit/", "/sessions/[typed]/audit/"),
        ("/api/v1/customers/jane/profile", "/api/v1/customers/[typed]/profile"),
        ("/api/v1/sessions/Łucja/entries", "/api/v1/sessions/[typed]/entries"),
        (f"/sessions/{UNKNOWN}/nowhere/", f"/sessions/{UNKNOWN}/nowhere/"),
    ],
)
def test_a_refused_request_names_no_word_that_a_caller_put_into_its_address(log, address, named):
    headers = cast.bearer(cast.alice())
    assert Client(REMOTE_ADDR=cast.address()).get(address, {"q": "Jane"}, headers=headers).status_code in (400, 404)
    assert log.getvalue().endswith(f": {named}\n")


def test_a_traceback_names_no_secret(log):
    token = secret.new_link()
    wrong = ValueError(f"/shared/{token}/")
    try:
        raise wrong
    except ValueError:
        logging.getLogger("django.request").exception("Internal Server Error: %s", f"/sign-in/link/{token}/")
    assert token not in log.getvalue()
    assert log.getvalue().count(log_lines.REPLACED) == 2


def test_what_is_no_secret_stays():
    line = "Not Found: /sessions/0190163d-8694-739b-aea5-966c26f8ad91/shared/ " + "a" * 64 + " " + "b" * 42
    assert log_lines.without_secrets(line) == line


def test_no_logger_writes_by_a_handler_of_its_own():
    configured = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    own = {each.name for each in configured if each.name.partition(".")[0] == "django" and each.handlers}
    assert own <= {"django.server"}  # of Django's development server, which nothing here starts
