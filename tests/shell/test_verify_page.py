"""The page that verifies in the browser, as the server gives it: for everybody, and unable to send anything."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import cast
from tests.shell.pages import read

pytestmark = pytest.mark.django_db


def directives(answer) -> dict[str, str]:
    each = (part.strip().partition(" ") for part in answer.headers["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in each}


def test_a_stranger_may_verify_and_the_page_may_connect_to_nothing():
    answer = Client().get("/verify/")
    assert answer.status_code == 200
    said = directives(answer)
    assert (said["default-src"], said["connect-src"], said["form-action"]) == ("'none'", "'none'", "'none'")
    assert (said["script-src"], said["worker-src"]) == ("'self'", "'self'")


def test_the_worker_has_a_policy_of_its_own_that_lets_it_load_modules_and_nothing_else():
    answer = Client().get("/static/audit/verify/worker.js")
    assert directives(answer) == {"default-src": "'none'", "script-src": "'self'"}
    assert "Content-Security-Policy" not in Client().get("/static/agentstate/theme.js").headers


def test_the_page_holds_nothing_inline_and_every_field_has_a_name():
    tree = read(Client().get("/verify/").content)
    assert not list(tree.all("style"))
    for node in tree.all():
        assert "style" not in node.attrs
        assert not [name for name in node.attrs if name.startswith("on")]
    fields = [field.attrs["id"] for field in tree.all() if field.tag in ("input", "textarea")]
    labelled = [field.attrs["id"] for label in tree.all("label") for field in label.all() if "id" in field.attrs]
    assert fields == labelled != []


def test_the_door_and_the_audit_pages_lead_to_it(bank):
    assert b'href="/verify/"' in Client().get("/sign-in/").content
    assert b'href="/verify/"' in cast.browser(cast.alice()).get("/audit/").content
