"""Counters of wrong passwords as rows of ours; the tables of django-axes, which held them before, go."""

import django.db.models.functions.datetime
from django.db import migrations, models

AXES = "axes_accessattemptexpiration", "axes_accessattempt", "axes_accesslog", "axes_accessfailurelog"


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0009_deputies"),
    ]

    operations = [
        migrations.CreateModel(
            name="SignInDelay",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("level", models.FloatField(db_default=0.0)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("opens", models.DateTimeField(null=True)),
            ],
            options={"indexes": [models.Index(fields=["at"], name="people_signindelay_at")]},
        ),
        migrations.RunSQL([f"DROP TABLE IF EXISTS {table} CASCADE" for table in AXES], migrations.RunSQL.noop),
    ]
