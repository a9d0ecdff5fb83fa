"""The pages about exports of many sessions, as a browser without script sees them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from audit import signer, verify
from sessions.exports import builder
from sessions.models.sessions import Export
from tests import cast
from tests.shell.bank_world import opened

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),  # the test's client knows no other way
]


def read(user, name: str, *args) -> tuple[int, str, str]:
    answer = cast.browser(user).get(reverse(name, args=args))
    return answer.status_code, " ".join(answer.content.decode().split()), answer.get("Refresh", "")


def begin(user, **fields) -> Export:
    answer = cast.browser(user).post(reverse("audit_export_new"), fields)
    assert answer.status_code == 302, answer.content.decode()
    return Export.objects.latest("asked_at")


def test_an_export_is_asked_for_watched_and_downloaded_without_a_script(tmp_path):
    opened()
    alice = cast.alice()
    made = begin(alice, team=str(cast.retail().pk), agent="bank")
    assert made.masked
    status, page, refresh = read(alice, "audit_exports")
    assert (status, refresh) == (200, "2")
    assert "Waits, 0/1" in page
    assert builder.build_due() == 1
    _, page, refresh = read(alice, "audit_exports")
    assert refresh == ""
    assert "Ready" in page
    answer = cast.browser(alice).post(reverse("audit_export_download", args=[made.pk]))
    out = tmp_path / "many.zip"
    out.write_bytes(b"".join(answer))
    assert int(answer["Content-Length"]) == out.stat().st_size
    assert verify.verify(out, signer.vkey()).ok


def test_what_is_typed_wrong_is_said_above_the_form_and_kept_in_it():
    opened()
    for fields in ({"customer": "C-nobody"}, {"from": "soon"}, {"agent": "x", "unmask": "on", "reason": ""}):
        answer = cast.browser(cast.alice()).post(reverse("audit_export_new"), fields)
        assert answer.status_code in (400, 422)
        assert 'role="alert"' in answer.content.decode()
    assert not Export.objects.exists()


def test_cancelling_says_so_and_leaves_the_line():
    opened()
    made = begin(cast.alice())
    cast.browser(cast.alice()).post(reverse("audit_export_cancel", args=[made.pk]))
    assert "Cancelled" in read(cast.alice(), "audit_exports")[1]


def test_who_may_not_export_is_refused_and_anothers_export_is_unknown():
    opened()
    made = begin(cast.alice())
    assert [read(cast.vera(), name)[0] for name in ("audit_exports", "audit_export_new")] == [403, 403]
    assert cast.browser(cast.vera()).post(reverse("audit_export_new"), {}).status_code == 403
    for name in ("audit_export_cancel", "audit_export_download"):
        assert cast.browser(cast.bob()).post(reverse(name, args=[made.pk])).status_code == 404


def test_a_customer_is_named_nowhere_on_the_page():
    opened("C-1001")
    begin(cast.alice(), customer="C-1001")
    page = read(cast.alice(), "audit_exports")[1]
    assert "one customer" in page
    assert "C-1001" not in page
