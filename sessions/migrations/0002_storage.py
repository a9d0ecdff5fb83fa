"""How hot rows are stored: room for updates in place, and a queue table that is vacuumed while it is small."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(
            "ALTER TABLE agent_sessions_agentsession SET (fillfactor = 70)",
            "ALTER TABLE agent_sessions_agentsession RESET (fillfactor)",
        ),
        migrations.RunSQL(
            "ALTER TABLE agent_sessions_outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
            "ALTER TABLE agent_sessions_outbox RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)",
        ),
    ]
