"""Envelopes put together by hand, against what the encoder writes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from audit.envelopes import Shared
from audit.reading import ENVELOPE_VERSION, Bound, Envelope, associated_data, canonical, parse_envelope
from audit.tlog import canonical as strict

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['"', "\\", "\n", "é", "\u2028"]
)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)
HASHES = st.binary(min_size=32, max_size=32)


@given(WORDS, WORDS, WORDS, st.uuids(), st.uuids(), st.uuids(), NUMBERS, NUMBERS, NUMBERS, st.tuples(*[HASHES] * 4))
def test_they_are_byte_for_byte_what_the_encoder_writes(actor, at, kind, command, log, kid, epoch, ref, seq, hashes):
    ct, kc, pc, salt = hashes
    shared = Shared(actor=actor, at=at, command=str(command), epoch=epoch, log=str(log))
    bound = shared.bound(kid=str(kid), kind=kind, pc=pc, ref=ref, salt=salt[:16], seq=seq)
    facts = {"actor": actor, "at": at, "cmd": str(command), "epoch": epoch, "kid": str(kid), "kind": kind}
    facts |= {"log": str(log), "pc": pc.hex(), "ref": ref, "salt": salt[:16].hex(), "seq": seq, "v": ENVELOPE_VERSION}
    whole = Envelope(**facts, ct=ct.hex(), kc=kc.hex())
    assert bound == canonical.encode(Bound(**facts)) == associated_data(whole)
    assert shared.envelope(bound, ct=ct, kc=kc) == canonical.encode(whole) == strict.dumps(msgspec.to_builtins(whole))
    assert parse_envelope(shared.envelope(bound, ct=ct, kc=kc)) == whole
