"""Why a stop was set and why it was lifted are sealed under the key of its team. The table is written anew, so that no
dead row keeps a reason.
"""

from django.db import migrations, models

from audit.keys import teams

REWRITE = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE agent_sessions_stop ALTER COLUMN sealed_reason TYPE bytea USING sealed_reason || ''::bytea;
"""


def seal_reasons(apps, schema_editor):
    """Seals both reasons of each row."""
    rows = apps.get_model("agent_sessions", "Stop").objects.using(schema_editor.connection.alias)
    for pk, tenant, team, why, lifted in rows.values_list("pk", "tenant", "team", "reason", "lifted_why"):
        lifted_why = teams.seal(tenant, team, lifted) if lifted else None
        rows.filter(pk=pk).update(sealed_reason=teams.seal(tenant, team, why), sealed_lifted_why=lifted_why)


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0031_sealed_alias"),
        ("audit", "0015_stamps_end"),
    ]

    operations = [
        migrations.AddField("stop", "sealed_reason", models.BinaryField(default=b""), preserve_default=False),
        migrations.AddField("stop", "sealed_lifted_why", models.BinaryField(null=True)),
        migrations.RunPython(seal_reasons, migrations.RunPython.noop),
        migrations.RemoveField("stop", "reason"),
        migrations.RemoveField("stop", "lifted_why"),
        migrations.RunSQL(REWRITE, migrations.RunSQL.noop),
    ]
