"""The reasons of delegations and of audit accesses are sealed under the key of their team. Both tables are written anew,
so that no dead row keeps one.
"""

from django.db import migrations, models

from agentstate.people import reasons

REWRITE = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE people_accessgrant ALTER COLUMN sealed_reason TYPE bytea USING sealed_reason || ''::bytea;
ALTER TABLE people_delegation ALTER COLUMN sealed_reason TYPE bytea USING sealed_reason || ''::bytea;
"""


def seal_reasons(apps, schema_editor):
    """Seals the reason of each row."""
    for name in ("AccessGrant", "Delegation"):
        rows = apps.get_model("people", name).objects.using(schema_editor.connection.alias)
        for pk, tenant, team, reason in rows.values_list("pk", "tenant", "team", "reason"):
            rows.filter(pk=pk).update(sealed_reason=reasons.seal(tenant, team, reason))


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0010_sign_in_delays"),
        ("audit", "0015_stamps_end"),
    ]

    operations = [
        migrations.AddField("accessgrant", "sealed_reason", models.BinaryField(default=b""), preserve_default=False),
        migrations.AddField("delegation", "sealed_reason", models.BinaryField(default=b""), preserve_default=False),
        migrations.RunPython(seal_reasons, migrations.RunPython.noop),
        migrations.RemoveField("accessgrant", "reason"),
        migrations.RemoveField("delegation", "reason"),
        migrations.RunSQL(REWRITE, migrations.RunSQL.noop),
    ]
