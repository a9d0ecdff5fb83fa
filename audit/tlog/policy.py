"""Trust policies (C2SP tlog-policy): which logs are believed, and whose cosignatures a head needs.

    log <vkey> [<url>]
    witness <name> <vkey> [<url>]
    group <name> all|any|<k> <name>...
    quorum <name>|none

A name is defined before it is used, once, and is a member of at most one group, so every witness counts in one way
only. Names mean nothing outside the file. An auditor's policy comes from the auditor, never from the bundle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from audit.tlog import checkpoint, cosignature, note
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.note import BadNote, VerifierKey

MAX_POLICY = 2**18  #: bytes
MAX_NAMES = 1_000
NONE = "none"

_ALLOWED = re.compile(rb"[\t\n\x20-\x7e\x80-\xff]*")
_COUNT = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


class BadPolicy(ValueError):
    """The file is no policy; the text says which line."""


class NotTrusted(ValueError):
    """The head is not of a known log, or too few witnesses saw it."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log whose heads are believed; `url` is empty where none was given."""

    key: VerifierKey
    url: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """A cosigner and where it answers."""

    key: VerifierKey
    url: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Has seen a head if at least `threshold` of its members have."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A head that satisfies the policy: by which log, and which witnesses (by their name here) cosigned it when."""

    head: Checkpoint
    log: VerifierKey
    cosigned: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy; `quorum` is the name of a witness or group, or `none`."""

    logs: tuple[Log, ...] = ()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    quorum: str = NONE

    def write(self) -> bytes:
        """The file, in one order: logs, witnesses, groups, quorum."""
        lines = [["log", str(log.key), log.url] for log in self.logs]
        lines += [["witness", name, str(witness.key), witness.url] for name, witness in self.witnesses.items()]
        lines += [["group", name, str(each.threshold), *each.members] for name, each in self.groups.items()]
        lines.append(["quorum", self.quorum])
        text = "".join(" ".join(item for item in line if item) + "\n" for line in lines)
        return text.encode("utf-8", "surrogateescape")

    def is_met(self, witnesses: set[str]) -> bool:
        """Whether cosignatures of these witnesses (their names here) suffice."""
        met = set(witnesses) & set(self.witnesses)
        for name, group in self.groups.items():  # members stand before the group that names them
            if sum(member in met for member in group.members) >= group.threshold:
                met.add(name)
        return self.quorum == NONE or self.quorum in met

    def check(self, data: bytes, *, since: int = 0, until: int = cosignature.MAX_TIME) -> Seen:
        """The head in the signed note `data`, if a known log signed it and the quorum saw it from `since` to `until`.

        Times are POSIX seconds; cosignatures of other times do not count. Raises NotTrusted, BadNote where a known
        key's signature is wrong, or BadCheckpoint.
        """
        signed = note.parse(data)
        head = checkpoint.parse(signed.text)
        by = [key for log in self.logs if (key := log.key).name == head.origin and _signed_by(key, signed)]
        if not by:
            raise NotTrusted(f"no signature by a known log of the name {head.origin[:200]!r}")
        names = {witness.key: name for name, witness in self.witnesses.items()}
        times = {names[key]: at for key, at in cosignature.cosigned(data, list(names)).items() if since <= at <= until}
        if not self.is_met(set(times)):
            seen = ", ".join(sorted(times)) or "nobody"
            raise NotTrusted(f"the quorum {self.quorum!r} has not seen this head: {seen} cosigned it in time")
        return Seen(head, by[0], times)

    def open_head(self, data: bytes) -> Checkpoint:
        """`check`, whenever it was cosigned: the head alone."""
        return self.check(data).head


def parse(data: bytes) -> Policy:
    """Read a policy. Raises BadPolicy."""
    if len(data) > MAX_POLICY or not _ALLOWED.fullmatch(data):
        raise BadPolicy(f"policy: want at most {MAX_POLICY} bytes and no control characters but tab and newline")
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines.pop() != "":
        raise BadPolicy("policy: the last line does not end")
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        if not words or words[0].startswith("#"):
            continue
        try:
            reader.read(words)
        except (BadPolicy, BadNote, UnicodeEncodeError) as error:
            raise BadPolicy(f"policy, line {number}: {error}") from None
    if reader.quorum is None:
        raise BadPolicy("policy: no quorum line")
    return Policy(tuple(reader.logs), reader.witnesses, reader.groups, reader.quorum)


class _Reader:
    """What was read so far."""

    def __init__(self) -> None:
        self.logs: list[Log] = []
        self.witnesses: dict[str, Witness] = {}
        self.groups: dict[str, Group] = {}
        self.quorum: str | None = None
        self._members: set[str] = set()

    def read(self, words: Sequence[str]) -> None:
        """One line."""
        readers: dict[str, Callable[[Sequence[str]], None]] = {
            "log": self._log,
            "witness": self._witness,
            "group": self._group,
            "quorum": self._quorum,
        }
        if words[0] not in readers:
            raise BadPolicy(f"unknown keyword {words[0][:40]!r}")
        if len(self.logs) + len(self.witnesses) + len(self.groups) >= MAX_NAMES:
            raise BadPolicy(f"more than {MAX_NAMES} definitions")
        readers[words[0]](words[1:])

    def _log(self, words: Sequence[str]) -> None:
        if not 1 <= len(words) <= 2:
            raise BadPolicy("want: log <vkey> [<url>]")
        key = note.parse_vkey(words[0], (note.ED25519, note.ML_DSA_44))
        if any(log.key.public == key.public for log in self.logs):
            raise BadPolicy("this log's key stands here twice")
        self.logs.append(Log(key, *words[1:]))

    def _witness(self, words: Sequence[str]) -> None:
        if not 2 <= len(words) <= 3:
            raise BadPolicy("want: witness <name> <vkey> [<url>]")
        key = note.parse_vkey(words[1], cosignature.KINDS)
        if any(witness.key.public == key.public for witness in self.witnesses.values()):
            raise BadPolicy("this witness's key stands here twice")
        self.witnesses[self._fresh(words[0])] = Witness(key, *words[2:])

    def _group(self, words: Sequence[str]) -> None:
        if len(words) < 3:
            raise BadPolicy("want: group <name> all|any|<k> <name>...")
        name, rule, *members = words
        for member in members:
            self._known(member)
            if member in self._members:
                raise BadPolicy(f"{member!r} is a member of a group already")
            self._members.add(member)
        count = {"all": len(members), "any": 1}.get(rule) or (int(rule) if _COUNT.fullmatch(rule) else 0)
        if not 1 <= count <= len(members):
            raise BadPolicy(f"got the threshold {rule[:40]!r}, want all, any or 1 to {len(members)}")
        self.groups[self._fresh(name)] = Group(count, tuple(members))

    def _quorum(self, words: Sequence[str]) -> None:
        if len(words) != 1 or self.quorum is not None:
            raise BadPolicy("want one line: quorum <name>|none")
        if words[0] != NONE:
            self._known(words[0])
        self.quorum = words[0]

    def _fresh(self, name: str) -> str:
        if name == NONE or name in self.witnesses or name in self.groups:
            raise BadPolicy(f"the name {name!r} is taken")
        return name

    def _known(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise BadPolicy(f"{name!r} is not defined above")


def _signed_by(key: VerifierKey, signed: note.Note) -> bool:
    """Whether the log signed the note. Raises BadNote where it has a signature that is wrong."""
    lines = [line for line in signed.signatures if line.is_by(key)]
    for line in lines:
        if key.kind == note.ED25519:
            note.verify(key, line, signed.text)
        else:
            cosignature.verify(key, line, signed.text)
    return bool(lines)
