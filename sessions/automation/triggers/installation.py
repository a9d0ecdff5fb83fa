"""Installing a watch in another application's database, and taking it away again, from the machine."""

from __future__ import annotations

from uuid import UUID

import psycopg
from django.db import transaction

from agentstate.errors import Refused
from agentstate.ids import new_id
from agentstate.people.models import Team
from audit import ledger, staff
from audit.server_clock import now
from sessions.automation.triggers import table_watch
from sessions.automation.triggers.databases import connected
from sessions.automation.triggers.table_watch import BadWatch, Watched
from sessions.models.triggers import Trigger, Watch


class NotInstalled(Refused):
    """The other database refused what a watch needs; its owner can install it (--print)."""

    code = "watch_not_installed"


class WatchInUse(Refused):
    """A trigger that is on takes its row changes from this watch."""

    code = "watch_in_use"
    remedy = "Switch it off first."


def looked_up(
    name: str, database: str, table: str, *, keys: tuple[str, ...] = (), columns: tuple[str, ...] = (), reader: str = ""
) -> Watched:
    """The table as it is: its primary key, unless `keys` are named. Raises BadWatch, NotReachable."""
    schema, plain = table_watch.parted(table)
    with connected(database) as there:
        named = {"table": ".".join('"' + part.replace('"', '""') + '"' for part in (schema, plain))}
        known = {row[0] for row in there.execute(table_watch.COLUMNS, named)}
        found = keys or tuple(row[0] for row in there.execute(table_watch.PRIMARY_KEY, named))
    if not known:
        raise BadWatch("there is no such table, or the role may not see it", field="table")
    for column in (*found, *columns):
        if column not in known:
            raise BadWatch(f"it has no column {column[:63]!r}", field="columns")
    watched = Watched(name, schema, plain, found, columns, reader)
    table_watch.check(watched)
    return watched


def text_of(watched: Watched, database: str) -> str:
    """What its owner is to run, in one transaction."""
    with connected(database) as there:
        return f"BEGIN;{table_watch.install(watched).as_string(there)}COMMIT;\n"


def install(team: Team, watched: Watched, database: str, *, there_already: bool = False) -> Watch:
    """Install the watch (unless its owner has) and begin to poll; again: as it is now. Raises NotInstalled."""
    other = Watch.objects.filter(name=watched.name).first()
    if other is not None and (other.team_id, other.database) != (team.pk, database):
        raise BadWatch("another watch has this name", field="name")
    if not there_already:
        _run(database, table_watch.install(watched))
    with transaction.atomic():
        row, _ = Watch.objects.update_or_create(
            name=watched.name,
            defaults={
                "id": other.pk if other is not None else new_id(),
                "tenant_id": team.tenant_id,
                "team_id": team.pk,
                "database": database,
                "table": f"{watched.schema}.{watched.table}",
                "keys": list(watched.keys),
                "installed_at": now(),
            },
        )
        _record(row, "watch.installed")
    return row


def remove(name: str) -> None:
    """Take the watch away, with all that it noted. Raises BadWatch, WatchInUse, NotInstalled."""
    row = Watch.objects.filter(name=name).first()
    if row is None:
        raise BadWatch("there is no such watch", field="name")
    if Trigger.objects.filter(team_id=row.team_id, source="row", watch=name, on=True).exists():
        raise WatchInUse()
    schema, plain = table_watch.parted(row.table)
    _run(row.database, table_watch.uninstall(Watched(name, schema, plain, tuple(row.keys))))
    if not Watch.objects.filter(database=row.database).exclude(pk=row.pk).exists():
        _run(row.database, table_watch.clear_up())
    with transaction.atomic():
        _record(row, "watch.removed")
        row.delete()


def _run(database: str, statements: table_watch.sql.Composed) -> None:
    with connected(database) as there:
        try:
            with there.transaction():
                there.execute(statements)
        except psycopg.Error as error:
            raise NotInstalled(type(error).__name__) from None


def _record(row: Watch, kind: str) -> None:
    facts: dict[str, str | UUID] = {"watch": row.name, "table": row.table, "database": row.database}
    staff.record(row.tenant_id, now(), kind, ledger.SYSTEM, "", {**facts, "team": str(row.team_id)})
