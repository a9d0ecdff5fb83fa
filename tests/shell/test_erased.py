"""A data subject whose key was destroyed: their words are gone everywhere, nothing breaks, and the next call works."""

from __future__ import annotations

import pytest
from django.db import connections

from audit import keys
from sessions.core import states
from sessions.models.sessions import AgentSession
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import CUSTOMER, opened

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


def destroy(kid) -> None:
    with connections["erase"].cursor() as cursor:
        cursor.execute("UPDATE audit_subjectkey SET wrapped = NULL, destroyed_at = now() WHERE kid = %s", [kid])


def erased():
    """A session whose customer's key the erasing role has destroyed."""
    session = opened()
    kid = AgentSession.objects.get(pk=session).kid
    destroy(kid)
    keys.forget_all()
    states.forget_all()
    return session, kid


def test_who_was_erased_and_calls_again_gets_a_new_key():
    _, kid = erased()
    assert keys.subject_kid(cast.tenant().pk, CUSTOMER) != kid
    assert AgentSession.objects.get(pk=opened()).kid != kid


def test_lists_show_an_erased_session_and_its_pages_say_so():
    session, _ = erased()
    browser = cast.browser(cast.alice())
    assert [browser.get(page).status_code for page in ("/live/", "/sessions/")] == [200, 200]
    assert browser.get(f"/sessions/{session}/").status_code == 410
    assert b"destroyed" in browser.get(f"/sessions/{session}/").content
    assert browser.get(f"/sessions/{session}/audit/").status_code == 200


def test_the_api_says_that_an_erased_session_is_gone():
    session, _ = erased()
    answer = cast.browser().get(f"/api/v1/sessions/{session}/entries", headers=cast.bearer(cast.alice()))
    assert [entry["data"] for entry in answer.json()["entries"]] == [None]
    said = cast.browser().post(
        f"/api/v1/sessions/{session}/messages", {"text": "Hello?"}, "application/json", headers=cast.bearer(cast.cleo())
    )
    assert (said.status_code, said.json()["code"]) == (410, "erased")


def test_a_process_that_remembers_the_session_forgets_it_with_the_key():
    session = opened()
    remembered = states.recall(session)
    destroy(AgentSession.objects.get(pk=session).kid)
    keys.forget_all()  # as after CACHE_SECONDS
    states.remember(remembered)
    with pytest.raises(keys.Erased):
        states.load(session)
    assert states.recall(session) is None


def test_the_check_of_projections_passes_over_what_cannot_be_folded():
    session, _ = erased()
    assert rebuild.check(session) == []
