"""Who answers must hold a certificate for the name that was called, from an authority that is trusted."""

from __future__ import annotations

import ssl
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentstate.clock import now
from sessions.outside import client, refusals
from sessions.outside.addresses import network


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_said):
        pass


def certificate(folder: Path, name: str) -> Path:
    """A file with a key and a certificate of its own for `name`."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, *plain))
    return file


@pytest.fixture
def served(tmp_path):
    """Serves a certificate for a name on a port of the loopback."""
    running = []

    def serve(name: str) -> tuple[int, Path]:
        file = certificate(tmp_path, name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        server = HTTPServer(("127.0.0.1", 0), Answers)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return server.server_port, file

    yield serve
    for server in running:
        server.shutdown()


def ask(port: int, host: str = "localhost") -> int:
    reach = client.Reach((host,), (network("127.0.0.1"), network("::1")))
    return client.ask(client.Wanted("GET", f"https://{host}:{port}/"), reach, client.Bounds()).status


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(served, settings):
    port, _ = served("localhost")
    settings.OUTSIDE_CA_FILE = ""
    with pytest.raises(refusals.NotTrusted):
        ask(port)


def test_an_installations_own_authority_is_trusted(served, settings):
    """The connection goes to an address, the certificate is for the name."""
    port, file = served("localhost")
    settings.OUTSIDE_CA_FILE = str(file)
    assert ask(port) == 200


def test_a_trusted_certificate_for_another_name_is_not_taken(served, settings):
    port, file = served("elsewhere.example")
    settings.OUTSIDE_CA_FILE = str(file)
    with pytest.raises(refusals.NotTrusted):
        ask(port)
