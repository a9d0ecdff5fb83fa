from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0005_delegations"),
    ]

    operations = [
        migrations.AlterField(
            model_name="membership",
            name="role",
            field=models.CharField(
                choices=[
                    ("viewer", "viewer"),
                    ("supervisor", "supervisor"),
                    ("auditor", "auditor"),
                    ("admin", "admin"),
                    ("privacy", "privacy"),
                    ("caller", "caller"),
                    ("incident_manager", "incident_manager"),
                ],
                max_length=20,
            ),
        ),
    ]
