"""Time stamps by a real authority (openssl ts) behind a small server on the loopback."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.test import Client

from agentstate.clock import now
from audit import asking, globallog, restamping, sequencer, timestamps, verify
from tests import cast
from tests.core import tlog_world as world
from tests.processes import eventually
from tests.shell.test_ledger import TENANT, new_log

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed: no authority to ask")

CONFIG = """
[ ca ]
[ req ]
distinguished_name = name
[ name ]
[ root ]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ authority ]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ tsa ]
default_tsa = it
[ it ]
serial = serial
default_policy = 1.2.3.4
digests = sha256, sha384, sha512
signer_digest = sha256
ordering = yes
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def openssl(folder: Path, *words: str) -> bytes:
    return subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True).stdout


class Authority:
    """A certificate authority with a time-stamp authority below it, in a folder."""

    def __init__(self, folder: Path, days: int = 2) -> None:
        folder.mkdir()
        self.folder, self.broken = folder, lambda answer: answer
        (folder / "c").write_text(CONFIG)
        (folder / "serial").write_text("01")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl(folder, "req", "-x509", *curve, "-keyout", "r.key", "-out", "root.pem", "-subj", "/CN=Root",
                "-config", "c", "-extensions", "root", "-days", "2")  # fmt: skip
        openssl(folder, "req", *curve, "-keyout", "t.key", "-out", "t.csr", "-subj", "/CN=TSA", "-config", "c")
        openssl(folder, "x509", "-req", "-in", "t.csr", "-CA", "root.pem", "-CAkey", "r.key", "-out", "t.pem",
                "-extfile", "c", "-extensions", "authority", "-days", str(days), "-CAcreateserial")  # fmt: skip

    def answer(self, question: bytes) -> bytes:
        (self.folder / "q").write_bytes(question)
        openssl(self.folder, "ts", "-reply", "-config", "c", "-section", "it", "-queryfile", "q", "-signer", "t.pem",
                "-inkey", "t.key", "-out", "a")  # fmt: skip
        return self.broken((self.folder / "a").read_bytes())


@contextmanager
def answering(held: Authority) -> Iterator[str]:
    """While inside, the authority answers at this URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            body = held.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def authority(tmp_path, settings) -> Iterator[Authority]:
    held = Authority(tmp_path / "authority")
    with answering(held) as settings.TIMESTAMP_URL:
        settings.TIMESTAMP_ROOT = str(held.folder / "root.pem")
        yield held


@pytest.mark.django_db
def test_the_newest_head_is_stamped_and_openssl_verifies_it(authority):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    stamped = timestamps.stamp(TENANT)
    assert timestamps.latest(TENANT) == stamped
    assert stamped.checkpoint == globallog.signed_head(TENANT).checkpoint
    (authority.folder / "checkpoint").write_bytes(stamped.checkpoint)
    (authority.folder / "checkpoint.tsr").write_bytes(stamped.token)
    words = ("ts", "-verify", "-data", "checkpoint", "-in", "checkpoint.tsr", "-CAfile", "root.pem")
    openssl(authority.folder, *words)
    (authority.folder / "checkpoint").write_bytes(stamped.checkpoint + b"x")
    with pytest.raises(subprocess.CalledProcessError):
        openssl(authority.folder, *words)


@pytest.mark.django_db
def test_an_answer_over_other_bytes_or_of_another_authority_is_not_kept(authority, tmp_path, settings):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    first = timestamps.request(b"other bytes")
    authority.broken = lambda _: first
    with pytest.raises(timestamps.NoTimestamp):
        timestamps.stamp(TENANT)
    authority.broken = lambda answer: answer
    settings.TIMESTAMP_ROOT = str(Authority(tmp_path / "stranger").folder / "root.pem")
    with pytest.raises(timestamps.NoTimestamp):
        timestamps.stamp(TENANT)
    assert timestamps.latest(TENANT) is None


@pytest.mark.django_db
@pytest.mark.parametrize("broken", [b"", b"nonsense", b"0" * 200_000])
def test_an_answer_that_is_none_is_not_kept(broken, authority):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    authority.broken = lambda _: broken
    with pytest.raises(timestamps.NoTimestamp):
        timestamps.stamp(TENANT)


@pytest.mark.django_db
def test_an_answer_with_one_changed_byte_is_not_kept(authority):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    length = len(authority.answer(_question()))
    for at in range(20, length, 97):
        authority.broken = lambda answer, at=at: answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :]
        with pytest.raises(timestamps.NoTimestamp):
            timestamps.stamp(TENANT)


def _question() -> bytes:
    from rfc3161_client import TimestampRequestBuilder

    return TimestampRequestBuilder().data(b"x").nonce(nonce=True).build().as_bytes()


@pytest.mark.django_db
def test_an_authority_that_is_away_is_said_in_one_line(authority, settings):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    settings.TIMESTAMP_URL = "http://127.0.0.1:9/"
    with pytest.raises(timestamps.NoTimestamp) as refused:
        timestamps.stamp(TENANT)
    assert "\n" not in str(refused.value)


@pytest.mark.django_db
def test_without_a_root_certificate_nothing_is_asked(authority, settings):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    settings.TIMESTAMP_ROOT = ""
    with pytest.raises(ImproperlyConfigured, match="TIMESTAMP_ROOT"):
        timestamps.stamp(TENANT)


@contextmanager
def longer(folder: Path, settings) -> Iterator[Authority]:
    """An authority whose certificates end later, in the place of the one before."""
    held = Authority(folder / "successor", days=400)
    with answering(held) as settings.TIMESTAMP_URL:
        settings.TIMESTAMP_ROOT = str(held.folder / "root.pem")
        yield held


@pytest.mark.django_db
def test_stamps_that_end_soon_are_renewed_by_one_newer_that_openssl_verifies(authority, tmp_path, settings, capsys):
    bundles, tenant = [], cast.tenant().pk
    for size in (1, 2):
        sequencer.run_once(tenant, extra=[bytes([size])])
        bundles.append(timestamps.stamp(tenant))
    with longer(tmp_path, settings) as successor:
        call_command("restamp")
        assert capsys.readouterr().out == "2 time stamps renewed\n"
        assert restamping.restamp(tenant) == 0  # they are, and the newer one lasts
        assert timestamps.latest(tenant) == bundles[1]
        for stamped in bundles:
            found = restamping.renewals(tenant, hashlib.sha256(stamped.token).hexdigest())
            newer, until = verify.check_restamps(found, stamped.token)
            assert (newer, until[:4]) == (1, f"{now() + timedelta(days=400):%Y}")
        (held,) = json.loads(found)["restamps"]
        (successor.folder / "list").write_text(held["document"])
        (successor.folder / "list.tsr").write_bytes(base64.b64decode(held["token"]))
        openssl(successor.folder, "ts", "-verify", "-data", "list", "-in", "list.tsr", "-CAfile", "root.pem")
        answer = Client().get(f"/log/restamps/{hashlib.sha256(bundles[0].token).hexdigest()}")
        assert (answer.status_code, Client().get(f"/log/restamps/{'0' * 64}").status_code) == (200, 404)


@pytest.mark.django_db
def test_a_stamp_is_not_renewed_by_one_that_ends_no_later(authority):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    timestamps.stamp(TENANT)
    with pytest.raises(timestamps.NoTimestamp, match="ends no later"):
        restamping.restamp(TENANT)
    assert restamping.renewals(TENANT, hashlib.sha256(timestamps.latest(TENANT).token).hexdigest()) is None


@pytest.mark.django_db
def test_the_verifier_says_until_when_a_stamp_can_be_believed_and_follows_newer_ones(authority, tmp_path, settings):
    ledger = world.chatter(2)
    plain = world.in_a_log(ledger)
    token = timestamps.request(plain.checkpoint)
    data = world.export(ledger, evidence=dataclasses.replace(plain, timestamp=token))
    said = "\n".join(verify.in_words(world.check(data, tmp_path)))
    assert f"can be believed until {now() + timedelta(days=2):%Y%m%d}" in said
    later = verify.Demand()
    assert "WARNING: its authority's" in "\n".join(
        verify.in_words(world.check(data, tmp_path, now=now() + timedelta(days=3), demand=later))
    )
    with longer(tmp_path, settings):
        text = f"{verify.RESTAMP_TITLE}\nlog.example/test\n{hashlib.sha256(token).hexdigest()}\n"
        newer = {"document": text, "token": base64.b64encode(timestamps.request(text.encode())).decode()}
    altered = text[:-2] + ("1\n" if text[-2] == "0" else "0\n")
    for renewed, holds in ((newer, True), (newer | {"document": altered}, False)):
        file = world.plain({"format": verify.RESTAMPS_FORMAT, "restamps": [renewed]})
        verdict = world.check(data, tmp_path, demand=verify.Demand(restamps=file))
        assert verdict.ok is holds
    assert verdict.timestamp["until"][:8] == f"{now() + timedelta(days=2):%Y%m%d}"


@pytest.mark.django_db(transaction=True)
def test_the_seal_of_a_log_is_stamped_at_once(authority, settings, monkeypatch):
    monkeypatch.setattr(asking, "LOOK", 0.02)
    with asking.outside_parties(TENANT) as sealed:
        sequencer.run_once(TENANT, extra=[b"leaf"])
        eventually(lambda: timestamps.latest(TENANT, 1), what="stamped")
        log = new_log()
        connection.cursor().execute("UPDATE audit_head SET sealed = true WHERE log = %s", [log.log])
        assert sequencer.run_once(TENANT).sealed
        sealed.set()
        eventually(lambda: timestamps.latest(TENANT, 2), what="stamped within the hour")


@pytest.mark.django_db(transaction=True)
def test_the_sequencers_companion_has_heads_stamped_by_itself(authority, settings, monkeypatch):
    settings.TIMESTAMP_EVERY = 0.1
    monkeypatch.setattr(asking, "LOOK", 0.02)
    with asking.outside_parties(TENANT):
        for size in (1, 2):
            sequencer.run_once(TENANT, extra=[bytes([size])])
            eventually(lambda size=size: timestamps.latest(TENANT, size), what="stamped")
