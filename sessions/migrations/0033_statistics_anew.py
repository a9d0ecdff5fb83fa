"""PostgreSQL's table of statistics is written anew: its dead rows hold samples of the columns that were sealed.

An owner without the right is warned by PostgreSQL, and nothing happens: docs/erasure.md names what is left then.
"""

from django.db import migrations


class Migration(migrations.Migration):
    atomic = False  # VACUUM runs in no transaction
    dependencies = [
        ("agent_sessions", "0032_sealed_stops"),
        ("people", "0011_sealed_reasons"),
    ]

    operations = [
        migrations.RunSQL("VACUUM FULL pg_catalog.pg_statistic", migrations.RunSQL.noop),
    ]
