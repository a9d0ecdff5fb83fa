"""Proposals hold, sealed, what they change of a data subject."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0027_urgent_sessions"),
    ]

    operations = [
        migrations.AddField(
            model_name="proposal",
            name="content",
            field=models.BinaryField(default=b""),
        ),
    ]
