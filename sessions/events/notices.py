"""Taking in what happened: one row for each rule and occurrence, however often the source tells of it.

Entries are taken in before the outbox of commits forgets them (`sessions.tasks.followed`), and what is no entry in the
transaction in which it happens: so nothing is lost, whoever dies when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID, uuid5

import msgspec

from audit import ledger
from sessions.core.announcements import Announced
from sessions.events import entries
from sessions.models.notifications import NoticeRule

NOTICES = UUID("6d5f8c1e-2f0b-5f5e-9a53-9d0f6f1c7e21")  # namespace of notices' ids
MAX_NEW = 20_000  # notices of one rule that wait to be judged; what is over it is refused by name
QUEUE_FULL = "queue_full"


class Happened(msgspec.Struct, frozen=True):
    """Something that happened, by the name that its source has for it: an entry, or a thing by its id."""

    occurrence: str
    kind: str
    about: UUID | None = None
    about_seq: int | None = None
    thing: str = ""
    thing_id: UUID | None = None


def notice_id(rule: UUID, occurrence: str) -> UUID:
    """The id of one occurrence for one rule."""
    return uuid5(NOTICES, f"{rule}/{occurrence}")


def entries_in(announced: Sequence[Announced]) -> int:
    """Let the entries of these commits wait for the rules of their teams that hear such. Gives how many."""
    rules = list(NoticeRule.objects.filter(on=True, team__in={each.team for each in announced}))
    if not rules:
        return 0
    teams = {rule.team_id for rule in rules}
    theirs = [each for each in announced if each.team in teams]
    agents = entries.agents_of({each.session for each in theirs})
    heard = {kind for rule in rules for kind in rule.kinds}
    found = [
        (commit, Happened(f"entry:{commit.session}:{seq}", kind, commit.session, seq))
        for commit, seq, kind in entries.of_kinds((each for each in theirs if each.session in agents), heard)
    ]
    return sum(_for(rule, found, agents) for rule in rules)


def _for(rule: NoticeRule, found: Iterable[tuple[Announced, Happened]], agents: dict[UUID, str]) -> int:
    wanted = [
        happened
        for commit, happened in found
        if commit.team == rule.team_id
        and commit.at >= rule.since
        and happened.kind in rule.kinds
        and rule.agent in ("", agents[commit.session])
    ]
    return _take_in(rule, wanted)


def noted(team: UUID, kind: str, occurrence: str, thing: str, thing_id: UUID) -> int:
    """Take in something that is no entry of a session, in the caller's transaction. Gives for how many rules."""
    rules = NoticeRule.objects.filter(on=True, team=team, kinds__contains=[kind])
    happened = Happened(occurrence, kind, thing=thing, thing_id=thing_id)
    return sum(_take_in(rule, [happened]) for rule in rules)


def _take_in(rule: NoticeRule, happened: Sequence[Happened]) -> int:
    if not happened:
        return 0
    ((waiting,),) = ledger.run(
        "SELECT count(*) FROM agent_sessions_notice WHERE rule = %(rule)s AND state = 'new'", {"rule": rule.pk}
    )
    fits = max(0, MAX_NEW - waiting)
    return _insert(rule, happened[:fits]) + _insert(rule, happened[fits:], QUEUE_FULL)


def _insert(rule: NoticeRule, happened: Sequence[Happened], refused: str = "") -> int:
    if not happened:
        return 0
    rows = ledger.run(
        "INSERT INTO agent_sessions_notice"
        " (id, tenant, team, rule, version, kind, severity, about, about_seq, thing, thing_id, key, actor, count,"
        "  state, why, step, at, next_at, ended_at, attempts)"
        " SELECT r.id, %(tenant)s, %(team)s, %(rule)s, %(version)s, r.kind, '', r.about, r.seq, r.thing, r.thing_id,"
        "  '', '', 1, CASE WHEN %(fits)s THEN 'new' ELSE 'ended' END, %(refused)s, 0, now(),"
        "  CASE WHEN %(fits)s THEN now() END, CASE WHEN %(fits)s THEN NULL ELSE now() END, 0"
        " FROM unnest(%(ids)s::uuid[], %(kinds)s::text[], %(abouts)s::uuid[], %(seqs)s::int8[], %(things)s::text[],"
        "  %(thing_ids)s::uuid[]) AS r(id, kind, about, seq, thing, thing_id)"
        " ON CONFLICT (id) DO NOTHING RETURNING id",
        {
            "tenant": rule.tenant_id,
            "team": rule.team_id,
            "rule": rule.pk,
            "version": rule.version,
            "refused": refused,
            "fits": not refused,
            "ids": [notice_id(rule.pk, each.occurrence) for each in happened],
            "kinds": [each.kind for each in happened],
            "abouts": [each.about for each in happened],
            "seqs": [each.about_seq for each in happened],
            "things": [each.thing for each in happened],
            "thing_ids": [each.thing_id for each in happened],
        },
    )
    return len(rows)
