"""The pages of triggers: list, one with its history, switching, changing."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from sessions.automation.triggers import repository as keeping
from sessions.models.triggers import Trigger
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened, say
from tests.shell.pages import read
from tests.shell.test_triggers import ON_ENTRY, SAID, kept, pass_on

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>"


def text(answer) -> str:
    return read(answer.content.decode()).text()


def test_the_history_says_what_a_trigger_did_and_why_not(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Look'"}})
    say(opened(), "I have a complaint.")
    pass_on()
    page = cast.browser(cast.adam()).get(reverse("trigger", args=[trigger.pk]))
    assert "Fired" in text(page)
    assert "the condition was false" in text(page)
    assert "complaints" in text(cast.browser(cast.adam()).get(reverse("triggers")))


def test_the_page_of_a_trigger_holds_nothing_of_what_was_heard(bank):
    """Planted in what is said, known and asked for: in what fires, what passes and what is refused."""
    marker = "zq-planted-7731"
    says = {"say": "'about: ' + event.data.text", "to": {"customer": "event.data.text"}}
    made = [
        kept("tells", on=ON_ENTRY, when=SAID, do={"tell": {"say": "event.data.text"}}),
        kept("passes", on=ON_ENTRY, when="false", do={"run": {}}),
        kept("refuses", on=ON_ENTRY, when=SAID, do={"tell": says}),
        kept("breaks", on=ON_ENTRY, when="event.data.text.nothing == 'x'", do={"run": {}}),
    ]
    session = opened(f"C-{marker}", alias=f"alias-{marker}", topic=marker)
    say(session, f"I have a complaint, {marker}.")
    pass_on()
    browser, api = cast.browser(cast.adam()), Api(cast.adam())
    for trigger in made:
        told = browser.get(reverse("trigger", args=[trigger.pk])).content.decode()
        listed = api.get(f"/triggers/{trigger.pk}/firings").content.decode()
        assert str(session) in listed
        assert marker not in told + listed


def test_a_trigger_is_made_changed_and_switched_by_forms_alone():
    browser = cast.browser(cast.adam())
    definition = {"on": ON_ENTRY, "do": {"run": {}}}
    made = browser.post(reverse("trigger_keep"), {"name": "look", "definition": json.dumps(definition)})
    row = Trigger.objects.get()
    assert made.url == reverse("trigger", args=[row.pk])
    changed = {"trigger": row.pk, "name": "look", "seen": "1", "definition": json.dumps({**definition, "depth": 1})}
    assert browser.post(reverse("trigger_keep"), changed).status_code == 302
    assert keeping.version_of(row.pk, 2).depth == 1
    browser.post(reverse("trigger_switch", args=[row.pk]), {"on": "0"})
    page = text(browser.get(reverse("trigger", args=[row.pk])))
    assert "Off: by hand." in page
    assert "Adam" in page


def test_what_is_refused_is_told_beside_what_was_typed():
    browser = cast.browser(cast.adam())
    for wrong in ("{", '{"on": {}, "do": {}}', json.dumps({"on": ON_ENTRY, "do": {"run": {}}, "when": HOSTILE})):
        answer = browser.post(reverse("trigger_keep"), {"name": "look", "definition": wrong})
        assert answer.status_code == 400
        assert HOSTILE.encode() not in answer.content
        assert read(answer.content.decode()).all("textarea").__next__().text() == " ".join(wrong.split())
    row = kept("look", on=ON_ENTRY, do={"run": {}})
    stale = {
        "trigger": row.pk,
        "name": "look",
        "seen": "0",
        "definition": json.dumps({"on": ON_ENTRY, "do": {"run": {}}}),
    }
    assert browser.post(reverse("trigger_keep"), stale).status_code == 409


@pytest.mark.parametrize("person", [cast.alice, cast.vera, cast.cleo, cast.anna, cast.charlie])
def test_only_who_configures_the_team_sees_or_changes_its_triggers(person):
    row = kept("look", on=ON_ENTRY, do={"run": {}})
    browser = cast.browser(person())
    answers = [
        browser.get(reverse("triggers")),
        browser.get(reverse("trigger", args=[row.pk])),
        browser.post(reverse("trigger_switch", args=[row.pk]), {"on": "0"}),
        browser.post(
            reverse("trigger_keep"), {"name": "b", "definition": json.dumps({"on": ON_ENTRY, "do": {"run": {}}})}
        ),
    ]
    assert {answer.status_code for answer in answers} <= {403, 404}
    row.refresh_from_db()
    assert (row.on, Trigger.objects.count()) == (True, 1)
