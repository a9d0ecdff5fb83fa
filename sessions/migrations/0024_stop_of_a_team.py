"""A stop holds in one team. One that held in several becomes a row for each of them."""

import django.db.models.deletion
from django.db import migrations, models

EACH_TEAM = """
UPDATE agent_sessions_stop SET team_id = value::uuid WHERE scope = 'team';
INSERT INTO agent_sessions_stop
  (id, tenant_id, team_id, scope, value, reason, by, at, lifted_by, lifted_at, lifted_why)
  SELECT gen_random_uuid(), s.tenant_id, t.id, s.scope, s.value, s.reason, s.by, s.at, s.lifted_by, s.lifted_at,
    s.lifted_why
  FROM agent_sessions_stop s JOIN people_team t ON t.tenant_id = s.tenant_id
  WHERE s.team_id IS NULL AND t.id <> (SELECT min(o.id::text)::uuid FROM people_team o WHERE o.tenant_id = s.tenant_id);
UPDATE agent_sessions_stop s SET team_id = (
    SELECT min(o.id::text)::uuid FROM people_team o WHERE o.tenant_id = s.tenant_id)
  WHERE s.team_id IS NULL;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0023_standing_grants"),
        ("people", "0006_incident_manager"),
    ]

    operations = [
        migrations.RemoveConstraint("stop", "stop_once"),
        migrations.AddField(
            "stop",
            "team",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"
            ),
        ),
        migrations.RunSQL(EACH_TEAM, migrations.RunSQL.noop),
        migrations.AlterField(
            "stop",
            "team",
            models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
        ),
        migrations.AddConstraint(
            "stop",
            models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)), fields=("team", "scope", "value"), name="stop_once"
            ),
        ),
    ]
