from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0006_incident_manager"),
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
                    ("privacy_officer", "privacy_officer"),
                    ("caller", "caller"),
                    ("incident_manager", "incident_manager"),
                ],
                max_length=20,
            ),
        ),
    ]
