"""A session's alias goes from a column of its own into the card, sealed under the customer's key. A keyed token of it
stays beside the card. The table is written anew, so that no dead row keeps an alias.
"""

from uuid import UUID

import msgspec
from django.db import migrations, models

from audit import keys

CARD = "agent_sessions/card"
REWRITE = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE agent_sessions_agentsession ALTER COLUMN alias_token SET STATISTICS 0;
ALTER TABLE agent_sessions_agentsession ALTER COLUMN alias_token TYPE bytea USING alias_token || ''::bytea;
"""


def seal_aliases(apps, schema_editor):
    """Gives each row with an alias its token, and its card the alias. A card without its key has gone already."""
    rows = apps.get_model("agent_sessions", "AgentSession").objects.using(schema_editor.connection.alias)
    for pk, tenant, kid, alias, card in rows.exclude(alias="").values_list("pk", "tenant", "kid", "alias", "card"):
        try:
            resealed = _with_alias(kid, f"{CARD}/{pk}", bytes(card), alias)
            token = keys.blind_token(tenant, "alias", alias)
        except keys.Erased:
            resealed, token = b"", None
        rows.filter(pk=pk).update(card=resealed, alias_token=token)


def _with_alias(kid: UUID, purpose: str, card: bytes, alias: str) -> bytes:
    if not card:
        raise keys.Erased("its words were deleted")
    opened = msgspec.json.decode(keys.unseal(kid, purpose, card))
    return keys.seal(kid, purpose, msgspec.json.encode({**opened, "alias": alias}))


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0030_approvers_missing"),
        ("audit", "0015_stamps_end"),
    ]

    operations = [
        migrations.AddField("agentsession", "alias_token", models.BinaryField(null=True)),
        migrations.RunPython(seal_aliases, migrations.RunPython.noop),
        migrations.RemoveField("agentsession", "alias"),
        migrations.RunSQL(REWRITE, migrations.RunSQL.noop),
    ]
