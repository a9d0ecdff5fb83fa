"""What came of the call of an approved request, on the request's row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0024_stop_of_a_team"),
    ]

    operations = [
        migrations.AddField(
            model_name="approvalrequest",
            name="execution",
            field=models.CharField(blank=True, db_default="", max_length=12),
        ),
    ]
