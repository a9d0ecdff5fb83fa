"""Whether a standing approval was given in what a rollback has taken back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0028_proposal_content"),
    ]

    operations = [
        migrations.AddField(
            model_name="standinggrant",
            name="rolled_back",
            field=models.BooleanField(db_default=False),
        ),
    ]
