"""`manage.py export SESSION --out FILE`: write a session's verifiable bundle, masked, and the log's key beside it."""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit import signer
from audit.export import bundle, record_export
from sessions.exports.session import checked, plain_write

BY = "system"  # who may run commands on this machine holds its keys anyway


class Command(BaseCommand):
    """Export one session."""

    help = "Write a session as one file that anybody can verify; the log's key goes to FILE.vkey."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("session", type=UUID)
        parser.add_argument("--out", required=True, type=Path, metavar="FILE")
        parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
        parser.add_argument(
            "--withhold",
            action="append",
            default=[],
            metavar="KIND",
            help="keep the content of entries of this kind sealed, e.g. message.added (may be repeated)",
        )
        parser.add_argument("--unmask", metavar="REASON", help="show personal values too; the reason is recorded")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            reason = "" if options["unmask"] is None else checked(options["unmask"])
            withhold = frozenset(options["withhold"])
            summary = export(options["session"], options["out"], options["force"], withhold, reason)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        except OSError as error:
            raise CommandError(f"cannot write {options['out']}: {error.strerror}") from None
        for warning in summary.warnings:
            self.stderr.write(self.style.WARNING(f"WARNING: {warning}"))
        self.stdout.write(f"wrote {options['out']}: {summary.size} entries, root {summary.root}")


def export(session: UUID, out: Path, force: bool, withhold: frozenset[str], reason: str) -> bundle.Summary:
    """Write `out` whole, or leave it as it was, and `out`.vkey. CommandError if `out` exists."""
    if out.exists() and not force:
        raise CommandError(f"{out} exists; --force replaces it")
    record_export(session, BY, reason)
    descriptor, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            summary = plain_write(session, file, masked=not reason, withhold=withhold)
            file.flush()
            os.fsync(file.fileno())
        out.with_name(f"{out.name}.vkey").write_text(f"{signer.vkey()}\n", encoding="ascii")
        if force:
            os.replace(draft, out)
        else:
            os.link(draft, out)  # unlike replace, it cannot overwrite what somebody else wrote meanwhile
    finally:
        Path(draft).unlink(missing_ok=True)
    return summary
