"""`manage.py exports --out FILE`: export many sessions by a filter, as one archive that anybody can verify."""

from __future__ import annotations

import os
import tempfile
import time
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from agentstate.people.models import Tenant
from audit import signer
from sessions.exports import archive, builder, selection
from sessions.exports.session import checked
from sessions.models.sessions import Export

PAUSE = 0.2  # seconds, while somebody else builds


class Command(BaseCommand):
    """Export many sessions."""

    help = "Write all sessions that fit as one file that anybody can verify, masked; the log's key goes to FILE.vkey."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", required=True, type=Path, metavar="FILE")
        parser.add_argument("--team", type=UUID)
        parser.add_argument("--agent", default="")
        parser.add_argument("--status", default="")
        parser.add_argument("--customer", default="", metavar="REFERENCE")
        parser.add_argument("--from", dest="opened_from", type=_instant, metavar="TIME", help="opened at or after it")
        parser.add_argument("--to", dest="opened_to", type=_instant, metavar="TIME", help="opened before it")
        parser.add_argument("--unmask", metavar="REASON", help="show personal values too; the reason is recorded")
        parser.add_argument("--resume", type=UUID, metavar="ID", help="go on with an export whose command was ended")
        parser.add_argument("--force", action="store_true", help="replace FILE if it exists")

    def handle(self, *_args: Any, **options: Any) -> None:
        out = options["out"]
        if out.exists() and not options["force"]:
            raise CommandError(f"{out} exists; --force replaces it")
        try:
            export = self._begun(options)
            self._build(export)
            size = _write(export, out)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        except OSError as error:
            raise CommandError(f"cannot write {out}: {error.strerror}") from None
        self.stdout.write(f"wrote {out}: {export.total} sessions, {size} bytes")

    def _begun(self, options: dict[str, Any]) -> Export:
        if options["resume"]:
            found = Export.objects.filter(pk=options["resume"], user=None).first()
            if found is None:
                raise selection.UnknownExport()
            return found
        tenant = Tenant.objects.get()
        names = ("team", "agent", "status", "customer", "opened_from", "opened_to")
        wanted = selection.filtered(tenant.pk, **{name: options[name] for name in names})
        reason = "" if options["unmask"] is None else checked(options["unmask"])
        return selection.ask_as_system(tenant, wanted, reason)

    def _build(self, export: Export) -> None:
        """Build it here, or wait while a worker does. Ended by hand, it is built on by workers; --resume fetches it."""
        self.stderr.write(f"export {export.pk}: {export.total} sessions")
        while export.state in selection.UNDER_WAY:
            mine = builder.claim(export.pk)
            if mine:
                builder.build(*mine)
            else:
                time.sleep(PAUSE)
            export.refresh_from_db()
            self.stderr.write(f"{export.built} of {export.total}")
        if export.state != Export.State.DONE:
            raise CommandError(f"the export ended as {export.state} {export.problem}".strip())


def _write(export: Export, out: Path) -> int:
    """Write `out` whole, or leave it as it was, and `out`.vkey."""
    size, parts = archive.pack(export)
    descriptor, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        out.with_name(f"{out.name}.vkey").write_text(f"{signer.vkey()}\n", encoding="ascii")
        os.replace(draft, out)
    finally:
        Path(draft).unlink(missing_ok=True)
    return size


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
