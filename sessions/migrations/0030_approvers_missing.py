"""How many people too few could approve a request when it was made, on its row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0029_standing_approval_rolled_back"),
    ]

    operations = [
        migrations.AddField(
            model_name="approvalrequest",
            name="approvers_missing",
            field=models.SmallIntegerField(db_default=0),
        ),
    ]
