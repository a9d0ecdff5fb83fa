"""The attacks by finding: what is promised, and what was tried. `python -m tests.attacks.table` writes docs/attacks.md.

A test compares the page with this table and with the tests that there are, in both directions.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "attacks.md"
ATTACK = re.compile(r"(?:test_)?((?:[a-z]|api|console)[0-9]+|races)_(.+)")
HEAD = """\
# Attacks

Attacks on a running installation, and what it must do. `make attacks` starts an installation with the
bank's legacy database, agents, policies, tools and charts of its own, and runs all of this beside each other. Each
attack looks at the bank's own rows, at the requests and at what the pages and the API say. Continuous integration runs
a share, drawn from the commit.

Under each promise is the first attack; the lines below it name all attacks, which are tests in `tests/attacks`.
This page is written by `python -m tests.attacks.table`.
"""

#: finding -> what is promised, what was tried
PROMISES: dict[str, tuple[str, str]] = {
    "c1": (
        "What was signed is not taken back, and what was decided is signed, or somebody is told within a minute.",
        "PostgreSQL's superuser makes a rejected request wait again; a colleague approves it; the log grows on.",
    ),
    "h1": (
        "A monitor accuses no honest log, and takes no other log for the one that it follows.",
        "A monitor checks again and again while sessions go on.",
    ),
    "h8": (
        "On a full disk the signer signs nothing that it did not remember whole.",
        "Heads are signed on a small file system, filled to the last byte.",
    ),
    "c2": (
        "An edit is a new call: the rule that fits the edited call decides.",
        "A supervisor edits a transfer between the customer's accounts into one to a stranger.",
    ),
    "c4": (
        "Nobody approves their own proposal, also on a delegated right, or after they spoke as the customer.",
        "A supervisor hands over a plan that moves money and approves it alone.",
    ),
    "p5": (
        "What a reviewer types again is the value that will be sent.",
        "A plan takes its amount from a reference, so that there is nothing to type.",
    ),
    "p9": (
        "Who proposed a call stays on record when a colleague edits, forks or delegates it.",
        "A colleague edits another call of the plan; then the proposer approves.",
    ),
    "p10": ("Who orders an undoing does not approve it.", "A supervisor orders money back and approves the order."),
    "p11": (
        "One authority counts once in a quorum.",
        "A supervisor approves, and a colleague approves again with the right that she delegated.",
    ),
    "p12": (
        "Approvals before and after an escalation add up as the rule says.",
        "One reviewer approves, the request is escalated, and a senior approves.",
    ),
    "p13": (
        "A standing approval needs the right of the rule's reviewers and ends with the delegation it was given on.",
        "A receiver of a delegation gives a standing approval; then the delegation ends.",
    ),
    "p1": (
        "A plan that is only proposed changes nothing of an approved one.",
        "A second plan for the same instance names another payee while the first one is carried out.",
    ),
    "p2": (
        "The values that an approved call reads are the approved ones, or it is asked again.",
        "After the approval a person rewrites the value that the transfer reads.",
    ),
    "p7": (
        "Every approver, of a call or of its plan, is looked up again when the call begins.",
        "The approver of a plan loses the right while its first call runs.",
    ),
    "q4": (
        "A chart forbids until it allows: overdue timers move it before a call begins.",
        "A transfer is approved in time and resumed after the chart's window.",
    ),
    "q7": (
        "A hold of the fraud desk remains when a fork is promoted.",
        "A fork from before the hold is promoted, and its transfer is approved.",
    ),
    "q8": (
        "A call runs by the version of its tool that was approved, or it is asked again.",
        "A plan is approved, and another version of its tool is deployed before the call begins.",
    ),
    "q9": (
        "Of two versions of a tool the stricter effect counts.",
        "A letter is lost in the post, and the next version of the tool says that it may be repeated.",
    ),
    "q10": (
        "A chart's hold remains when the chart is stopped, and an alert is raised.",
        "The version of the chart that holds a session is not deployed any more.",
    ),
    "q11": (
        "A plan that was rejected, expired or withdrawn keeps no session from a new schema.",
        "A plan is rejected, and a new version of the schema is deployed.",
    ),
    "q12": (
        "A state that only a timer leaves is left also after a rollback and in a fork.",
        "A session is rolled back into a hold of two seconds.",
    ),
    "q13": (
        "A lost call is not begun again where the chart forbids it by then.",
        "The worker dies during a transfer, and the fraud desk holds the session.",
    ),
    "h7": (
        "An approved call that is not done ends with a name on the request.",
        "The customer hangs up between the approval and the transfer.",
    ),
    "api1": (
        "A plan that leaves an approved call out does not withdraw it.",
        "Another plan arrives between the approval and the transfer.",
    ),
    "api2": (
        "Proposals of different callers wait side by side, or the second is refused by name.",
        "Two programs propose a call each in one session.",
    ),
    "m7": (
        "A passing failure is retried for a time that people can read.",
        "The bank does not answer for half a minute after the approval.",
    ),
    "m8": (
        "Blocked has one definition for the session, the list, the badge and the API.",
        "A call fails for good, and the agent says that it is sorry.",
    ),
    "p3": (
        "The end of a session reaches its delegates.",
        "A session is cancelled while its delegate waits for a person, who approves.",
    ),
    "p4": (
        "A rollback names what a delegate did.",
        "A delegate moves money, and the session that asked for it is rolled back.",
    ),
    "p6": (
        "A rollback names every approved call that it withdraws.",
        "A session is rolled back between the approval and the transfer.",
    ),
    "p8": (
        "A call that must not happen twice stays done after a rollback and in a fork.",
        "A letter that a retry has posted is offered for a retry again.",
    ),
    "p14": (
        "An approved call is due at once when a stop is lifted or the session is handed back.",
        "A transfer is approved under a stop, and the stop is lifted.",
    ),
    "p15": (
        "An undoing that has begun goes on while a colleague has the session.",
        "The first of two approved undoings fails for a while, and a colleague takes over.",
    ),
    "q1": ("A draft fork acts by no path.", "A fork hands a task to a delegate, which acts."),
    "q2": (
        "Promotion, end and pause of a session reach its delegates.",
        "A fork is promoted while a delegate of its parent waits for a person, who approves.",
    ),
    "q3": (
        "A failed call can be tried again after several rollbacks.",
        "A session is rolled back to before the call and then to after its failure.",
    ),
    "q5": (
        "A stop of one tool holds that tool only.",
        "The customer asks something while a stopped tool's call waits.",
    ),
    "q6": (
        "Forks and delegates count the money that was moved today.",
        "A limit of $200 a day is passed by promoting a fork from before the first transfer.",
    ),
    "q14": (
        "An approval that is taken back waits for a decision that can be made.",
        "An approval is taken back after the request's deadline, during its delay.",
    ),
    "q15": (
        "A call that a person rejected is refused in forks and delegates as well.",
        "A transfer is rejected, and an older fork is promoted and asks for it again.",
    ),
    "q16": (
        "An approved call of a customer who is erased ends with a name.",
        "The customer of an instance is erased between the approval and the call.",
    ),
    "c3": (
        "A team cannot delete another team's conversations, nor its own on one person's word and at once.",
        "An admin of one team sets a term of no days for everything.",
    ),
    "h6": (
        "A session that one team opens for a customer opens nothing of another team's.",
        "A caller of cards opens a session for retail's customer; cards then asks for a report and an erasure.",
    ),
    "h9": (
        "A stop reaches the teams in which the person may stop.",
        "A supervisor of cards stops everything, and an agent of retail.",
    ),
    "l2": (
        "What concerns a team alone is shown to that team.",
        "An admin of cards reads retail's retention and staff entries.",
    ),
    "l6": (
        "A customer's reference opens no profile of another team.",
        "A caller of cards names retail's customer and reads the profile.",
    ),
    "r5": (
        "No reference, refusal, delegate, scope or preview carries a private value.",
        "A model hands the customer's secret answer to a call as an argument, and reads the refusal.",
    ),
    "r6": (
        "A guard over a private place is refused: skipped or not, it would tell the value.",
        "A model asks in a guard whether the secret answer begins with b, then with c.",
    ),
    "r7": (
        "A tool receives a private value only if it is declared to.",
        "A model sends the secret answer to the authorization service as the purpose.",
    ),
    "o1": (
        "A model uses what its request offered: its tools, and what the agent declares. The rest is refused by name.",
        "A model hands a call to a delegate with a property that its agent does not offer.",
    ),
    "r15": (
        "A reviewer reads the tools of a plan, never labels in the place of tools.",
        "A model labels a transfer as a look-up of the customer.",
    ),
    "r18": (
        "No call and no text of an answer is dropped silently.",
        "A model proposes 40 calls in one answer.",
    ),
    "r11": (
        "A value of another type than a rule reads asks a person, wherever the rule reads it.",
        "A call fails, and its error stands where a rule looks for the mark of fraud.",
    ),
    "r13": (
        "A day's sum counts every declared amount, in absolute value; what it cannot read asks a person.",
        "A model moves $190.00 and then -$190.00, so that the day's sum is zero again.",
    ),
    "r16": (
        "Words of customers and tools reach a model inside a data envelope, never as the system.",
        "A customer writes a text that closes a quotation and goes on as the system.",
    ),
    "r17": (
        "Control, bidirectional and invisible characters are shown by name wherever a reviewer reads.",
        "A model hides an amount behind U+202E in the purpose of a transfer.",
    ),
    "r14": (
        "After three rejections the agent asks people for no more until one of them lets it go on.",
        "A model asks again after a rejection, each time with one cent more.",
    ),
    "r20": (
        "A pattern of a schema matches the whole value, in every validator.",
        "A model puts a newline behind the ten digits of an account number.",
    ),
    "r2": (
        "An error of a call, or words of a person, never land where a rule reads or another writes.",
        "A model lets a call fail whose error path is a supervisor's mark of fraud.",
    ),
    "r3": (
        "A tool's result goes to the place that its agent names, and no other call writes there.",
        "A model sends the no to a second question away, so that an older yes stands.",
    ),
    "r4": (
        "A record lands under the id that its call names, and under no other.",
        "A model reads one reservation to the place of another, which it then cancels.",
    ),
    "r8": (
        "Whether a call may write where it says is known before it runs.",
        "A transfer is to write its receipt over the customer's record.",
    ),
    "r12": (
        "A yes of the authorization service covers what it was asked about, for 15 minutes; a day's sum is read.",
        "A model asks about one cent and transfers $499, five times.",
    ),
    "console1": (
        "The card says when an amount differs from what the customer said, or was not said.",
        "The customer says $5,300 and the transfer is for $5,800.",
    ),
    "console2": (
        "Decisive words stay on the card, however long ago they were said.",
        "The customer says eight more things that decide nothing.",
    ),
    "console4": ("Figures are true for every reader.", "A viewer opens the live board while two requests wait."),
    "console7": (
        "A refusal names the field and says what to do.",
        "A supervisor approves without typing the amount again.",
    ),
    "console8": (
        "Badge, page and API count the same.",
        "A request is held, another has expired, and a third waits for others.",
    ),
    "r1": (
        "A delegate is bound as its parent is: it asks policy as a delegate, and refusals, flags, charts, sums of the"
        " day and take-overs of the parent hold in it.",
        "A person rejects a transfer; the model hands a harmless call to a delegate, which makes a smaller transfer.",
    ),
    "r9": (
        "The number of delegates is bounded, and they share the tokens, money and model requests of the session above.",
        "Every answer of the model hands five calls to delegates, which do the same.",
    ),
    "r10": (
        "The approval of a plan covers no value that a model or a delegate fills in later, directly or copied.",
        "The payee of an approved plan's transfer refers to what the model will answer to another of its calls.",
    ),
    "r19": (
        "Every shipped agent has bounds, and a tool that is called again and again is stopped, whatever its arguments.",
        "The model calls `remember` with new words for ever, 16 calls an answer.",
    ),
    "h2": (
        "A session that was deleted in the database is found within an hour, and told.",
        "A superuser deletes every row that names a session, in every table.",
    ),
    "m1": (
        "What a superuser alters of a session is found within one pass, and no reader shows a part as the whole.",
        "A superuser turns one bit of a payload.",
    ),
    "m4": (
        "Nothing is installed but the bytes that are pinned, the servers' too.",
        "An index serves another wheel under a pinned name and number.",
    ),
    "m5": (
        "A database older than what was signed is told to supervisors, auditors and admins, and exports are refused.",
        "Yesterday's database is put under today's signer.",
    ),
    "h3": (
        "Log files may be moved or deleted: new ones are begun, and nothing ends.",
        "All log files are renamed while everything runs; the whole folder is.",
    ),
    "a1": (
        "Behind a named proxy limits and the staff log see the caller's own address, which no caller can choose.",
        "A stranger behind the proxy tries a colleague's name with wrong passwords; the colleague signs in elsewhere.",
    ),
    "m2": (
        "Wrong passwords make attempts wait, at most 30 s, and lock nobody out. Made-up names slow nobody.",
        "A stranger tries made-up names, and then a colleague signs in at the same address.",
    ),
    "a2": (
        "A process that serves or signs has a secret key of its own, or refuses to start.",
        "The operator starts a web process on a second host that has the ledger's key only.",
    ),
    "a8": (
        "A setting that cannot work is refused at the start, in one line that names it, without its password.",
        "The operator mistypes a number, a password and an address.",
    ),
    "a9": ("A setting that is neither yes nor no is refused.", "The operator writes BEHIND_TLS=maybe."),
    "h4": (
        "A full disk is named, warned of, and survived without a hand: nothing is lost or doubled.",
        "The disk of an installation is filled to 96 %, and to the last byte while transfers are approved.",
    ),
    "h5": (
        "A client that opens many connections and completes no request takes the console from nobody.",
        "1,100 connections send half a request head, or one byte of a body.",
    ),
    "m6": (
        "What is too large is refused before it is read.",
        "A stranger announces a body of 150 MB, and sends it; another sends a head of 50 KB.",
    ),
    "l1": ("No address makes the API answer 500.", "NUL stands in an address."),
    "l3": (
        "Only the console's own pages open a socket.",
        "A page of another port, scheme or name of this host opens one with a signed-in person's cookie.",
    ),
    "l4": ("A socket sends a bounded number of frames.", "A viewer's socket sends 116,000 messages, or pings."),
    "l5": (
        "Behind TLS browsers are told to stay there, and the token of forms lives for a shift.",
        "The sign-in page is asked for behind a proxy with TLS, and without one.",
    ),
    "l8": (
        "An outage is told in few lines.",
        "PostgreSQL, or Valkey, is away for some seconds while sessions are worked on.",
    ),
    "e3": (
        "An alias stands nowhere in clear: in no table, dump or statistics.",
        "Twelve sessions share three aliases; a superuser analyses the tables and reads every column of `pg_stats`.",
    ),
    "e4": (
        "Only who may read a session is shown its alias, or finds it by that; and it is on record.",
        "An admin reads lists, pages and the session by API.",
    ),
    "e5": (
        "The secret of a link reaches no log.",
        "The holder of a link sends a form without a token, opens it too often, and opens it once it was taken back.",
    ),
    "e6": (
        "What a search leaves in the access log leads to no search of another reader or another day.",
        "Two readers search for the same customer.",
    ),
    "e7": (
        "Reasons of delegations, audit accesses, stops and their lifting are sealed, and callers read none of a stop.",
        "A superuser dumps the database and reads the statistics after each was given.",
    ),
    "e8": (
        "The reason of an erasure or hold is unreadable once the erasure has begun, however long the sweep takes.",
        "A superuser holds the lock of the session's row, so that the erasure cannot go on.",
    ),
    "e10": (
        "A saved plan names no customer of its team.",
        "A supervisor saves a plan whose call has a customer's reference as its argument.",
    ),
    "e1": (
        "What colleagues tell the agent reaches the customer's side at no door.",
        "The caller's token reads state, memory, entries and every proof after a whisper and a hand-back.",
    ),
    "e2": (
        "A private value is shown to nobody without `unmask`, at no door.",
        "A viewer and the caller read entries, proofs and the audit page after a supervisor wrote a private value.",
    ),
    "e9": (
        "Lists show account numbers by their last four digits. The decision card and the session have them whole.",
        "A transfer to a new payee waits; supervisors, viewers and programs read the lists.",
    ),
    "e11": (
        "A proof is masked as an export is, and is opened for those alone who may export and unmask.",
        "A viewer and the caller ask for proofs of a whole session, and for one field of an entry.",
    ),
    "e12": (
        "An erasure that is held up holds up no other, and waits for transactions of every database role.",
        "A superuser locks the log of one of two customers; a transaction of the role `owner` may still append.",
    ),
    "e13": (
        "What anybody typed is in clear in no file, log, row, statistics or Valkey, before and after an erasure.",
        "Marked words in every field; every file of the installation is read byte by byte.",
    ),
    "races": (
        "After every race the bank's rows agree with the request.",
        "Every ordered pair of commands on one session, 5 to 30 ms apart, with workers running and frozen.",
    ),
    "v1": (
        "What people read in a bundle is compared with what was recorded, or named as not proved.",
        "Whoever holds the log key replaces the PDF, the page, the CSV or the JSON in a bundle and signs it again.",
    ),
}


def attacks() -> dict[str, list[str]]:
    """Returns the names of the attacks that there are, by finding."""
    found: dict[str, list[str]] = {}
    for file in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(file.read_text()).body:
            match = ATTACK.fullmatch(node.name) if isinstance(node, ast.FunctionDef) else None
            if match and match[1] in PROMISES:
                found.setdefault(match[1], []).append(node.name)
    return found


def rendered() -> str:
    """Returns docs/attacks.md as it must be."""
    found = attacks()
    parts = [HEAD]
    for name, (promise, tried) in PROMISES.items():
        if name in found:
            lines = "\n".join(f"- `{each}`" for each in found[name])
            parts.append(f"## {name.upper()}\n\n{promise}\n\nTried: {tried}\n\n{lines}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(rendered())
