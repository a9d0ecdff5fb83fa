"""What the database holds as plain text: every such column of ours, and why. Everything else that people, customers,
models or tools say is ciphertext or a keyed token.

A test holds the catalog to this list, plants words everywhere and looks through every column. None of these may hold a
word of a conversation or of anything derived from one.
"""

from __future__ import annotations

WORDS = "one of a few words of ours"
ID = "an opaque id"
NAMED = "a name that its developer or operator gave"
DIGEST = "a digest"
STAFF = "staff wrote it about staff"

# table -> column -> what is in it
CLEAR: dict[str, dict[str, str]] = {
    "people_tenant": {"name": NAMED},
    "people_team": {"name": NAMED, "slug": NAMED},
    "people_user": {"username": STAFF, "display_name": STAFF, "password": DIGEST},
    "people_membership": {"role": WORDS},
    "people_accessgrant": {"given_by": ID, "kinds": WORDS, "sessions": ID},
    "people_delegation": {"permissions": WORDS},
    "people_apitoken": {"name": STAFF, "digest": DIGEST},
    "people_signinlink": {"digest": DIGEST},
    "people_signindelay": {"key": DIGEST},
    "audit_subjectkey": {"kek_ref": "the name of a key-encryption key"},
    "audit_blindkey": {"kek_ref": "the name of a key-encryption key"},
    "audit_cosignature": {"name": NAMED, "line": "a witness's signature"},
    "audit_gap": {"part": WORDS},
    "audit_alteration": {"what": WORDS, "detail": "what was altered: numbers of entries, sizes and roots"},
    "audit_gstate": {"trouble": WORDS, "trouble_detail": "what the signer refused: sizes and roots"},
    "audit_erasurerequest": {"state": WORDS, "basis": WORDS, "asked_by": ID, "ruled_by": ID, "counts": "counts"},
    "audit_legalhold": {"set_by": ID, "lifted_by": ID},
    "audit_retentionclass": {"name": NAMED},
    "audit_retentionrule": {"agent": NAMED, "channel": WORDS},
    "agent_sessions_agentsession": {
        "agent": NAMED,
        "channel": WORDS,
        "status": WORDS,
        "waiting_for": WORDS,
        "taken_by": ID,
        "assigned_to": ID,
        "stalled": "a word of ours, with the name of a tool, an agent, a limit or a class of error",
    },
    "agent_sessions_slot": {"scope": NAMED, "call": ID},
    "agent_sessions_approvalrequest": {
        "assigned_to": ID,
        "state": WORDS, "tool": NAMED, "rule": NAMED, "policy": NAMED, "decided_by": ID,
        "execution": WORDS, "claimed_by": ID, "excluded": ID, "reviewers": "whom a rule names: roles, teams and logins",
    },
    "agent_sessions_proposal": {
        "kind": WORDS, "permission": WORDS, "teams": ID, "details": "ids, settings and counts of what is proposed",
        "by": ID, "state": WORDS, "ended_by": ID, "ended_why": WORDS,
    },
    "agent_sessions_proposalanswer": {"by": ID},
    "agent_sessions_stop": {
        "scope": WORDS, "value": NAMED, "by": ID, "lifted_by": ID,
    },
    "agent_sessions_offeredtool": {
        "server": NAMED, "tool": NAMED, "digest": DIGEST, "offer": "what an MCP server says of its tool",
        "answer": WORDS, "answered_by": ID,
    },
    "agent_sessions_standinggrant": {
        "scope": WORDS, "agent": NAMED, "tool": NAMED, "by": ID, "revoked_by": ID,
    },
    "agent_sessions_serverlook": {"server": NAMED, "problem": WORDS},
    "agent_sessions_skill": {"skill": NAMED},
    "agent_sessions_skillwanted": {"by": WORDS, "value": NAMED, "skill": NAMED},
    "agent_sessions_recordedstate": {"form": "the form of the state"},
    "agent_sessions_snapshot": {"form": "the form of the state"},
    "agent_sessions_agentdefinition": {"digest": DIGEST},
    "agent_sessions_savedplan": {"name": NAMED, "by": ID},
    "agent_sessions_accessline": {"reader": ID, "kind": WORDS, "about": ID, "teams": ID},
    "agent_sessions_disclosure": {
        "what": WORDS, "pointer": "the place of a field, names of ours only", "made_by": ID, "revoked_by": ID,
    },
    "agent_sessions_export": {
        "filter": "agents, outcomes, times; a customer by the id of their key", "state": WORDS, "problem": WORDS,
    },
    "agent_sessions_exportpart": {"state": WORDS, "kids": ID},
    "agent_sessions_trigger": {
        "name": NAMED, "source": WORDS, "watch": NAMED, "off_why": WORDS, "changed_by": ID,
    },
    "agent_sessions_triggerversion": {"definition": "what developers wrote down, and no customer said", "by": ID},
    "agent_sessions_triggerfiring": {"state": WORDS, "why": WORDS},
    "agent_sessions_watch": {
        "name": NAMED, "database": NAMED, "table": NAMED, "keys": "names of columns", "trouble": WORDS,
    },
    "agent_sessions_alert": {
        "rule": ID, "name": NAMED, "severity": WORDS, "why": WORDS, "state": WORDS, "cause": WORDS,
        "about": "the id of a request or call, the name of a tool, or a key of the house", "held_by": ID,
        "closed_by": ID, "to": "whom a rule names: roles, teams and logins",
        "chain": "whom a rule names next: roles, teams and logins",
    },
    "agent_sessions_libraryversion": {
        "kind": WORDS, "name": NAMED, "digest": "of files that an installation brings",
        "origin": "a folder of an installation",
    },
    "agent_sessions_teamrule": {"what": WORDS, "name": NAMED, "changed_by": ID},
    "agent_sessions_teamruleversion": {"definition": "what staff set up, and no customer said", "by": ID},
    "agent_sessions_levelclock": {"agent": NAMED, "name": NAMED, "what": WORDS, "about": ID, "outcome": WORDS},
    "agent_sessions_beat": {"who": "a host's name and a process's number"},
    "agent_sessions_noticerule": {"name": NAMED, "kinds": WORDS, "agent": NAMED, "changed_by": ID},
    "agent_sessions_noticeruleversion": {"definition": "what staff wrote down, and no customer said", "by": ID},
    "agent_sessions_noticeendpoint": {
        "name": NAMED, "url": "where staff have webhooks sent", "secret": NAMED, "off_why": WORDS, "changed_by": ID,
    },
    "agent_sessions_notice": {
        "kind": WORDS, "severity": WORDS, "thing": WORDS, "state": WORDS, "why": WORDS, "actor": ID,
        "key": "a keyed digest of what a rule makes of an entry",
    },
    "agent_sessions_noticedelivery": {
        "way": WORDS, "others": NAMED, "severity": WORDS, "state": WORDS, "why": WORDS, "bundle": ID,
    },
    "agent_sessions_noticeattempt": {
        "why": WORDS, "answer": "what a server outside said to a message without words of customers",
    },
    "agent_sessions_noticewishes": {"email": STAFF, "off": WORDS, "quiet": "times of a day"},
    "agent_sessions_teamquiet": {"quiet": "times of a day", "changed_by": ID},
    "agent_sessions_openview": {"reader": ID, "page": WORDS, "topic": "what a page watches: ids"},
}  # fmt: skip
