"""What auditors look at: who read what, what staff did, random samples, and when the log was not kept up.

It needs the permission `audit`, by role or by a grant, and shows what concerns the teams or the sessions of that. To
look here is an entry of the access log too.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Q, QuerySet

from agentstate.errors import Invalid
from agentstate.people.models import Membership, Team, User
from agentstate.people.permissions import PermissionDenied, narrow_grants, teams_with
from agentstate.people.queries import programs
from agentstate.people.roles import Permission
from audit import access as log
from audit import condition, globallog, keys, ledger, sampling, staff
from audit.condition import Condition, WitnessSeen
from audit.keys import teams as team_keys
from audit.models import Gap
from audit.proofs.drawn import Found, Standing, look
from audit.retention import Schedule
from audit.scrub import schedule
from sessions.auditing import alterations
from sessions.auditing.alterations import AlterationLine
from sessions.core import access, reach
from sessions.core.access import Kind, Seen
from sessions.core.session_lines import PAGE, Person
from sessions.http.bodies import About, Words
from sessions.models.sessions import AccessLine, AgentSession

MOST_SAMPLED = 200  # entries
MOST_SESSIONS = 5_000  # sessions that a sample is drawn from
MAX_SEED = 100  # characters
READERS = ("people", "programs", "links")  # kinds of readers; `links` are those to whom something was disclosed
READER = re.compile(r"user:[0-9a-f-]{36}")
_CURSOR = re.compile(r"([0-9T:.+-]{19,40})/([0-9a-f-]{36})/([0-9]{1,18})")
ACCESS_KIND = [kind.value for kind in Kind]
ENTRY_STANDING = [each.value for each in Standing]


class ReadLine(msgspec.Struct, frozen=True):
    """One entry of somebody's access log. `about` holds what the asker may see of it; `facts` is None once its reader
    was erased.
    """

    log: Annotated[UUID, About("the reader's log of that day")]
    seq: int
    at: datetime
    reader: Annotated[str, About("`user:<id>`")]
    kind: Annotated[str, Words(ACCESS_KIND)]
    about: Annotated[tuple[UUID, ...], About("sessions, and customers by their id")]
    hidden: Annotated[int, About("how many more, which you may not see")]
    what: tuple[str, ...]
    door: Annotated[str, About("method and address; empty outside of a request")]
    facts: Annotated[
        dict[str, Any] | None,
        About("`reads` with the entries from first to last of each; null once the reader is erased"),
    ]

    @property
    def cursor(self) -> str:
        """Where the next page goes on."""
        return f"{self.at.isoformat()}/{self.log}/{self.seq}"


class StaffLine(msgspec.Struct, frozen=True):
    """One entry of the staff log of a day. `facts` is None once its subject was erased."""

    seq: int
    at: str
    kind: str
    actor: str
    subject: str
    facts: Annotated[dict[str, Any] | None, About("null once its subject is erased")]


class SampledLine(msgspec.Struct, frozen=True):
    """A drawn entry: where it stands, what it is, the hash of its bytes, and the one by which the log holds it. What is
    not there, or cannot be read, is drawn like any other, and `standing` says so.
    """

    session: UUID
    seq: int
    kind: Annotated[str, About("empty where the entry is missing or unreadable")]
    at: Annotated[str, About("empty likewise")]
    leaf: Annotated[str, About("SHA-256 of the leaf that is stored, in hexadecimal; empty when none is")]
    standing: Annotated[str, Words(ENTRY_STANDING, "whether the log's tree, under the signed head, has this leaf here")]
    held: Annotated[str, About("the leaf that the tree has here; empty where it can no longer be told")]


class Sample(msgspec.Struct, frozen=True):
    """Random entries, and all that is needed to draw them again: seed, sizes as they stand in the global log, digest.

    `signed` is the size of the newest signed head; `waiting` how many sessions no signed head covers yet: nothing is
    drawn from those.
    """

    seed: str
    digest: str
    population: tuple[tuple[UUID, int], ...]
    total: int
    signed: int
    root: str
    waiting: int
    entries: tuple[SampledLine, ...]


class GapLine(msgspec.Struct, frozen=True):
    """A time in which a part did not run; the leaf `index` of the global log says the same."""

    index: Annotated[int, About("leaf of the global log")]
    part: Annotated[str, About("`sequencer` or `signer`")]
    since: datetime
    until: datetime


def may_audit(user: Person) -> bool:
    """Whether there is anything of this for `user`."""
    return bool(teams_with(user, Permission.AUDIT)) or any(
        Permission.AUDIT.value in grant.kinds for grant in narrow_grants(user)
    )


def _must_audit(user: Person) -> User:
    if not isinstance(user, User) or not may_audit(user):
        needed = Permission.AUDIT.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return user


def reads(
    user: Person,
    *,
    reader: str = "",
    session: UUID | None = None,
    day: date | None = None,
    kind: str = "",
    by: str = "",
    after: str = "",
    limit: int = PAGE,
) -> list[ReadLine]:
    """Entries of access logs, newest first, those behind the cursor `after`; `by` one of READERS, or whoever it was.
    Raises PermissionDenied, Invalid.
    """
    auditor = _must_audit(user)
    rows = AccessLine.objects.filter(_concerned(auditor), tenant=auditor.tenant_id)
    if reader:
        rows = rows.filter(reader=_reader(reader))
    if session is not None:
        rows = rows.filter(about__contains=[session])
    if day is not None:
        begins = datetime.combine(day, time(), UTC)
        rows = rows.filter(at__gte=begins, at__lt=begins + timedelta(days=1))
    if kind:
        rows = rows.filter(kind=_kind(kind))
    if by:
        rows = rows.filter(_by(auditor, by))
    found = list(_behind(rows, after).order_by("-at", "log", "seq")[:limit])
    facts = log.opened([(row.log, row.seq) for row in found])
    visible = _visible(auditor, {each for row in found for each in row.about})
    asked = {"reader": reader, "session": str(session or ""), "day": str(day or ""), "kind": kind, "by": by}
    access.note(auditor, "access log", _of_teams(auditor), **asked)
    return [_read_line(row, facts.get((row.log, row.seq)), visible) for row in found]


def _concerned(auditor: User) -> Q:
    """Rows about sessions of the teams, or about the single sessions, that this person audits."""
    found = Q(teams__overlap=teams_with(auditor, Permission.AUDIT))
    if narrow_grants(auditor):
        single = AgentSession.objects.filter(access.within(auditor, Permission.AUDIT)).values("pk")
        found |= Q(about__overlap=ArraySubquery(single))
    return found


def _visible(auditor: User, about: set[UUID]) -> set[UUID]:
    allowed = access.within(auditor, Permission.AUDIT)
    rows = AgentSession.objects.filter(allowed).filter(Q(pk__in=about) | Q(kid__in=about)).values_list("pk", "kid")
    return {each for row in rows for each in row} & about


def _read_line(row: AccessLine, facts: Mapping[str, Any] | None, visible: set[UUID]) -> ReadLine:
    about = tuple(each for each in row.about if each in visible)
    names = {str(each["what"]) for each in (facts or {}).get("reads", ())}
    what = names or ({str(facts["what"])} if facts and "what" in facts else set())
    return ReadLine(
        log=row.log,
        seq=row.seq,
        at=row.at,
        reader=row.reader,
        kind=row.kind,
        about=about,
        hidden=0 if row.kind == Kind.LOG_READ else len(row.about) - len(about),
        what=tuple(sorted(what)),
        door=str((facts or {}).get("door", "")),
        facts=None if facts is None else _shown(facts, visible),
    )


def _shown(facts: Mapping[str, Any], visible: set[UUID]) -> dict[str, Any]:
    """The facts, without what they say of sessions that are not the asker's."""
    names = {str(each) for each in visible}

    def kept(part: Mapping[str, Any]) -> dict[str, Any]:
        about = {name: span for name, span in part.get("about", {}).items() if name in names}
        return {name: value for name, value in part.items() if name != "request"} | {"about": about}

    shown = {name: value for name, value in facts.items() if name not in ("reads", "about", "kind")}
    if "reads" in facts:
        shown["reads"] = [kept(each) for each in facts["reads"]]
    if "about" in facts:
        shown |= {"about": kept(facts)["about"]}
    return shown


def _reader(text: str) -> str:
    actor = text if text.startswith("user:") else f"user:{text}"
    if not READER.fullmatch(actor):
        raise Invalid(f"got {text[:50]!r}, want the id of a person", field="reader")
    return actor


def _by(auditor: User, text: str) -> Q:
    """Rows of readers of a kind: people sign in, programs come with a token and cannot."""
    if text not in READERS:
        raise Invalid(f"got {text[:40]!r}, want one of {', '.join(READERS)}", field="by")
    if text == "links":
        return Q(reader__startswith="link:")
    of_programs = Q(reader__in=programs(auditor.tenant))
    return of_programs if text == "programs" else Q(reader__startswith="user:") & ~of_programs


def _kind(text: str) -> str:
    if text not in {each.value for each in Kind}:
        raise Invalid(f"got {text[:40]!r}, want one of {', '.join(Kind)}", field="kind")
    return text


def _behind(rows: QuerySet[AccessLine], cursor: str) -> QuerySet[AccessLine]:
    if not cursor:
        return rows
    at, name, seq = _place(cursor)
    return rows.filter(Q(at__lt=at) | Q(at=at, log__gt=name) | Q(at=at, log=name, seq__gt=seq))


def _place(cursor: str) -> tuple[datetime, UUID, int]:
    found = _CURSOR.fullmatch(cursor)
    try:
        if found is not None and (at := datetime.fromisoformat(found[1])).tzinfo is not None:
            return at, UUID(found[2]), int(found[3])
    except ValueError:
        pass
    raise Invalid("want the `next` of the page before", field="after")


def _of_teams(auditor: User) -> list[Seen]:
    """What a look into the logs is entered as being about: the teams whose people and sessions they show."""
    narrow = (grant.team_id for grant in narrow_grants(auditor) if Permission.AUDIT.value in grant.kinds)
    return [Seen(team, team) for team in sorted({*teams_with(auditor, Permission.AUDIT), *narrow})]


def staff_entries(user: Person, day: date, *, before: int | None = None, limit: int = PAGE) -> list[StaffLine]:
    """Returns what staff and accounts did on a day (UTC), newest first, as far as it concerns the teams that `user`
    audits, or people of theirs. Entries that concern the whole organization, and the names of other teams, are for a
    reader who audits all teams. It needs `audit` on whole teams. Raises PermissionDenied.
    """
    auditor = _must_audit(user)
    teams = teams_with(auditor, Permission.AUDIT)
    name = staff.log_of(auditor.tenant_id, datetime.combine(day, time(), UTC))
    lines = _staff_lines(name) if teams else []
    if Team.objects.filter(tenant=auditor.tenant_id).exclude(pk__in=teams).exists():
        members = Membership.objects.filter(team__in=teams).values_list("user_id", flat=True)
        theirs = frozenset(f"user:{each}" for each in members)
        lines = [seen for each in lines if (seen := _seen_by(each, frozenset(teams), theirs)) is not None]
    access.note(auditor, "staff log", _of_teams(auditor), day=str(day))
    newest = [line for line in reversed(lines) if before is None or line.seq < before]
    return newest[:limit]


def _seen_by(line: StaffLine, own: frozenset[UUID], people: frozenset[str]) -> StaffLine | None:
    """Returns an entry as auditors of these teams see it; None where it concerns none of their teams and people."""
    if line.subject in people:
        return line
    concerned = _teams_concerned(line.facts or {})
    if not concerned & own:
        return None
    facts = dict(line.facts or {})
    if "teams" in facts:
        facts["teams"] = sorted(str(team) for team in concerned & own)
    if "schedule" in facts:
        facts["schedule"] = msgspec.to_builtins(msgspec.convert(facts["schedule"], Schedule).seen_by(own))
    return msgspec.structs.replace(line, facts=facts)


def _teams_concerned(facts: Mapping[str, Any]) -> frozenset[UUID]:
    """Returns the teams that an entry names: by id, by a session, or by a data subject."""
    found = {UUID(str(team)) for team in (facts.get("team"), *facts.get("teams", ())) if team}
    sessions = [UUID(str(facts[name])) for name in ("session", "log") if facts.get(name)]
    if sessions:
        found |= set(AgentSession.objects.filter(pk__in=sessions).values_list("team_id", flat=True))
    elif facts.get("subject_key") and not found:
        found |= reach.of_subject(UUID(str(facts["subject_key"])))
    return frozenset(found)


def _staff_lines(name: UUID) -> list[StaffLine]:
    found = []
    for row in ledger.read_rows(name):
        envelope = ledger.parse_envelope(row.envelope)
        facts: dict[str, Any] | None = None
        subject = ""
        try:
            facts = msgspec.json.decode(ledger.open_row(row)[1])
        except keys.Erased:
            pass
        else:
            subject = str(facts.pop("subject", ""))
            facts.pop("kind", None)
            if sealed := facts.pop("sealed_reason", ""):
                facts["reason"] = team_keys.opened(b64decode(sealed))
        found.append(StaffLine(row.seq, envelope.at, envelope.kind, envelope.actor, subject, facts))
    return found


def sample(
    user: Person,
    *,
    seed: str,
    wanted: int,
    sessions: tuple[UUID, ...] = (),
    opened_from: datetime | None = None,
    opened_to: datetime | None = None,
) -> Sample:
    """Random entries of the sessions that `user` may read (of these, or of those opened in a time), drawn from the
    sizes that stand under the newest signed head. The same seed and sizes give the same entries. Raises Invalid,
    PermissionDenied.
    """
    auditor = _must_audit(user)
    if not 1 <= wanted <= MOST_SAMPLED:
        raise Invalid(f"want 1 to {MOST_SAMPLED} entries", field="n")
    if not seed or len(seed) > MAX_SEED or not seed.isprintable():
        raise Invalid(f"want 1 to {MAX_SEED} printable characters", field="seed")
    rows = AgentSession.objects.filter(access.within(auditor, Permission.READ))
    rows = rows.filter(access.within(auditor, Permission.AUDIT))
    if sessions:
        rows = rows.filter(pk__in=sessions)
    if opened_from is not None:
        rows = rows.filter(opened_at__gte=opened_from)
    if opened_to is not None:
        rows = rows.filter(opened_at__lt=opened_to)
    teams = dict(rows.order_by("pk").values_list("pk", "team_id")[: MOST_SESSIONS + 1])
    if len(teams) > MOST_SESSIONS:
        raise Invalid(f"these are more than {MOST_SESSIONS} sessions: want a shorter time", field="opened_from")
    head = globallog.signed_head(auditor.tenant_id)
    signed = head.size if head is not None else 0
    places = _places(list(teams), signed)
    population = tuple((log, size) for log, (_, size) in places.items())
    lines = tuple(_sampled(auditor.tenant_id, sampling.drawn(population, seed, wanted), places))
    spans = [Seen(line.session, teams[line.session], line.seq, line.seq) for line in lines]
    access.note(auditor, "sample", spans, seed=seed, digest=sampling.digest_of(population))
    return Sample(
        seed=seed,
        digest=sampling.digest_of(population),
        population=population,
        total=sum(size for _, size in population),
        signed=signed,
        root=head.root.hex() if head is not None else "",
        waiting=len(teams) - len(population),
        entries=lines,
    )


def _places(logs: list[UUID], signed: int) -> dict[UUID, tuple[int, int]]:
    """Index and size of the head of each log that stands under a signed head, by log id."""
    rows = ledger.run(
        'SELECT log, "index", size FROM audit_place WHERE log = ANY(%(logs)s) AND "index" < %(signed)s ORDER BY log',
        {"logs": logs, "signed": signed},
    )
    return {log: (index, size) for log, index, size in rows}


def _sampled(tenant: UUID, drawn: list[tuple[UUID, int]], places: dict[UUID, tuple[int, int]]) -> list[SampledLine]:
    seqs: dict[UUID, list[int]] = {}
    for name, seq in drawn:
        seqs.setdefault(name, []).append(seq)
    found = {name: look(tenant, name, wanted, *places[name]) for name, wanted in seqs.items()}
    return [_sampled_line(found[name][seq]) for name, seq in drawn]


def _sampled_line(found: Found) -> SampledLine:
    leaf, held = found.leaf.hex(), found.held.hex()
    return SampledLine(found.log, found.seq, found.kind, found.at, leaf, found.standing.value, held)


def gaps(user: Person, *, before: int | None = None, limit: int = PAGE) -> list[GapLine]:
    """When sequencer or signer did not run, newest first, from before a leaf of the global log. Raises
    PermissionDenied.
    """
    auditor = _must_audit(user)
    rows = Gap.objects.filter(tenant=auditor.tenant_id)
    if before is not None:
        rows = rows.filter(index__lt=before)
    return [GapLine(row.index, row.part, row.since, row.until) for row in rows.order_by("-index")[:limit]]


def scrubbed(user: Person) -> tuple[schedule.Standing, list[AlterationLine]]:
    """How far the scrubber is, and what it found altered. Raises PermissionDenied."""
    auditor = _must_audit(user)
    return schedule.standing(auditor.tenant_id), alterations.lines(auditor, [seen.team for seen in _of_teams(auditor)])


def keeping(user: Person) -> tuple[Condition, list[WitnessSeen]]:
    """How the log is kept up now, and what the configured witnesses cosigned last. Raises PermissionDenied."""
    auditor = _must_audit(user)
    return condition.read(auditor.tenant_id), condition.witnesses_seen(auditor.tenant_id)


def readers(user: Person) -> list[User]:
    """The people whose reading this person may look into, by name."""
    auditor = _must_audit(user)
    teams = {seen.team for seen in _of_teams(auditor)}
    return list(User.objects.filter(memberships__team__in=teams).distinct().order_by("display_name")[:500])
