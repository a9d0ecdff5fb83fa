from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0003_access_grants"),
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
                ],
                max_length=20,
            ),
        ),
    ]
