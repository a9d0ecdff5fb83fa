"""The one settings file: every value, in the order of Django's own reference, with its reason where it is not
Django's default.

Environment variables are named here and in `agentstate.stack.endpoints`, and listed in docs/settings.md. A value that
cannot work raises `BadSetting`, one line that names it, before anything starts.
"""

from __future__ import annotations

import os
from pathlib import Path

from csp.constants import NONE, SELF

from agentstate import workers
from agentstate.environment import BadSetting, Environment
from agentstate.proxies import proxies
from agentstate.secret_key import secret_key
from agentstate.stack.endpoints import endpoints

env = Environment(os.environ)
BASE_DIR = Path(__file__).resolve().parent.parent

# --- where things are -------------------------------------------------------------------------------------------
STACK = endpoints(os.environ, BASE_DIR)
STATE_DIR: Path = STACK.state_dir
BANK_DSN = STACK.bank_dsn
BANK_AUTHORIZATION_URL = env.text("BANK_AUTHORIZATION_URL")
BANK_AUTHORIZATION_TOKEN_FILE = env.text("AUTHORIZATION_TOKEN_FILE")

# --- core -------------------------------------------------------------------------------------------------------
DEBUG = env.flag("DEBUG", default=False)
SECRET_KEY = secret_key(env.text("SECRET_KEY"), STATE_DIR)  # empty before the first start: nothing can be signed then
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", default=("127.0.0.1", "localhost", "[::1]"))
ROOT_URLCONF = "agentstate.urls"
ASGI_APPLICATION = "agentstate.asgi.application"
APPEND_SLASH = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000  # bytes; a larger body is refused before it is parsed
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200

INSTALLED_APPS = [
    *(["daphne"] if DEBUG else []),  # its `runserver`; elsewhere it costs every process half a second of imports
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "django_celery_beat",
    "agentstate.stack",
    "agentstate.people",
    "audit",
    "sessions.apps.AgentSessionsConfig",
    "agentstate.apps.WiringConfig",
]

MIDDLEWARE = [
    "sessions.http.problems.everywhere",  # outermost: it sees every answer below /api/
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "agentstate.characters.on_pages",
    "sessions.http.access_log.recorded",  # innermost: what an answer was made of is on record before it leaves
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "sessions.web.frame.shell",
            ],
        },
    }
]

# --- databases --------------------------------------------------------------------------------------------------
DATABASES = STACK.databases
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MIGRATION_DATABASE = "owner"  # the application's own role may not change tables

# --- caches, channels, celery -----------------------------------------------------------------------------------
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": STACK.cache_url}}
SESSION_ENGINE = "django.contrib.sessions.backends.db"  # not the cache: a wiped Valkey must sign nobody out
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [STACK.channel_url], "prefix": "agentstate"},
    }
}
CELERY_BROKER_URL = STACK.broker_url
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False  # the message is a hint: the lease in the database decides who works
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "agentstate"
CELERY_DB_REUSE_MAX = 2**62  # Celery would close the connection around every task; `agentstate.celery` keeps it
CELERY_BEAT_SCHEDULER = "sessions.automation.triggers.beat:Elected"  # one of those that run ticks
# Expiry bounds what waits while no worker is there. It is far longer than clocks of machines may differ by: a worker
# compares it with its own, and one that is minutes ahead would drop all that it is given.
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "sessions.tasks.sweep", "schedule": 1.0, "options": {"expires": 3600}},
    "erase": {"task": "sessions.tasks.erase", "schedule": 5.0, "options": {"expires": 3600}},
    "fire_triggers": {"task": "sessions.tasks.fire_triggers", "schedule": 1.0, "options": {"expires": 3600}},
    "look_for_alerts": {"task": "sessions.tasks.look_for_alerts", "schedule": 1.0, "options": {"expires": 3600}},
    "look_at_disks": {"task": "sessions.tasks.look_at_disks", "schedule": 10.0, "options": {"expires": 3600}},
    "forget_firings": {"task": "sessions.tasks.forget_firings", "schedule": 600.0, "options": {"expires": 3600}},
    "notify": {"task": "sessions.tasks.notify", "schedule": 1.0, "options": {"expires": 3600}},
    "forget_notices": {"task": "sessions.tasks.forget_notices", "schedule": 600.0, "options": {"expires": 3600}},
    "carry_out_proposals": {
        "task": "sessions.tasks.carry_out_proposals",
        "schedule": 10.0,
        "options": {"expires": 3600},
    },
    "build_exports": {"task": "sessions.tasks.build_exports", "schedule": 2.0, "options": {"expires": 3600}},
    "scrub": {"task": "sessions.tasks.scrub", "schedule": 2.0, "options": {"expires": 3600}},
    "prune": {"task": "sessions.tasks.prune", "schedule": 24 * 3600.0, "options": {"expires": 3600}},
}
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # LOGGING below holds for workers too

# --- mail -------------------------------------------------------------------------------------------------------
EMAIL_HOST = env.text("EMAIL_HOST")  # empty: a file each, in the state directory
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'filebased'}.EmailBackend"
EMAIL_FILE_PATH = STATE_DIR / "mail"
EMAIL_PORT = env.whole("EMAIL_PORT", default=25, least=1, most=65535)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=False)  # STARTTLS
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", default="agentstate@localhost")

# --- people -----------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "people.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "people:sign_in"
LOGIN_REDIRECT_URL = "live"
SESSION_COOKIE_AGE = 12 * 3600  # a shift
SESSION_COOKIE_SAMESITE = "Lax"

# --- API --------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "agentstate.people.authentication.BearerAuthentication",
        "agentstate.people.authentication.BrowserAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["sessions.http.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["sessions.http.rendering.ExactJSONRenderer"],
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS tells nothing that the OpenAPI document does not
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "sessions.http.problems.problem",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "NUM_PROXIES": 0,  # without it throttles believe X-Forwarded-For from anybody
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "AgentState",
    "DESCRIPTION": (
        "Sessions of AI agents, the steps that wait for a person, and the ledger beneath.\n\n"
        "Every refusal is a problem document (RFC 9457): its `code` is for programs, its `field` names what is wrong. "
        "Commands take an `idempotency_key`: sent again with the same key, a command gets its first answer, with the "
        "header `Idempotency-Replayed: true`, and is not carried out again; another command under that key is refused. "
        "Amounts of money are integers of minor units with a currency."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "ENUM_NAME_OVERRIDES": {
        "SessionStatus": "sessions.conversation.schemas.SESSION_STATUS",
        "RequestState": "sessions.approvals.queries.REQUEST_STATE",
        "WaitingFor": "sessions.conversation.schemas.WAITING_FOR",
        "DecisionKind": "sessions.approvals.schemas.DECISION_KIND",
        "EntryKind": "sessions.conversation.schemas.ENTRY_KIND",
        "Channel": "sessions.conversation.schemas.CHANNEL",
        "AlertRuleWhat": "sessions.automation.alert_rules.queries.RULE_WHAT",
        "LevelWhat": "sessions.automation.alerts.schemas.LEVEL_WHAT",
        "AlertState": "sessions.automation.alerts.queries.ALERT_STATE",
        "AlertSeverity": "sessions.automation.alerts.queries.ALERT_SEVERITY",
        "StopScope": "sessions.supervision.schemas.STOP_SCOPE",
        "SkillBy": "sessions.supervision.schemas.SKILL_BY",
        "WorkKind": "sessions.supervision.assignments.WORK_KIND",
        "TopicChange": "sessions.talk.schemas.TOPIC_CHANGE",
        "TopicStatus": "sessions.talk.schemas.TOPIC_STATUS",
        "InterventionHow": "sessions.interventions.queries.INTERVENTION",
        "StuckWhy": "sessions.interventions.queries.STUCK_WHY",
        "CheckpointWhy": "sessions.versions.schemas.CHECKPOINT_WHY",
        "EffectOutcome": "sessions.versions.schemas.EFFECT_OUTCOME",
        "Assume": "sessions.versions.schemas.ASSUME",
        "GateKind": "sessions.versions.schemas.GATE_KIND",
        "MergeHow": "sessions.state.schemas.MERGE_HOW",
        "ClashRule": "sessions.state.queries.CLASH_RULE",
        "AccessKind": "sessions.auditing.queries.ACCESS_KIND",
        "GrantKind": "sessions.auditing.schemas.GRANT_KIND",
        "ErasureBasis": "sessions.privacy.queries.ERASURE_BASIS",
        "ErasureState": "sessions.privacy.queries.ERASURE_STATE",
        "ErasureRuling": "sessions.privacy.schemas.ERASURE_RULING",
        "DisclosureKind": "sessions.disclosures.queries.WHAT",  # `what`, as of timers
        "TimerKind": "sessions.timers.queries.TIMER_KIND",
        "TriggerSource": "sessions.automation.triggers.queries.TRIGGER_SOURCE",
        "FiringState": "sessions.automation.triggers.queries.FIRING_STATE",
        "NoticeWay": "sessions.automation.notifications.schemas.WAY",
        "NoticeState": "sessions.automation.notifications.queries.NOTICE_STATE",
        "DeliveryState": "sessions.automation.notifications.queries.DELIVERY_STATE",
        "ConflictStatus": "sessions.state.queries.CONFLICT_STATUS",
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATIONS": False,
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "agentstate.schema.finish"],
}

# --- security ---------------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
HSTS_SECONDS = 365 * 24 * 3600  # browsers refuse plain HTTP for so long
BEHIND_TLS = env.flag("BEHIND_TLS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
CSRF_COOKIE_AGE = SESSION_COOKIE_AGE  # each page with a form sends it anew
SECURE_HSTS_SECONDS = HSTS_SECONDS if BEHIND_TLS else 0
TRUSTED_PROXIES = env.read("TRUSTED_PROXIES", lambda _: proxies(env.words("TRUSTED_PROXIES")), proxies(()))
if BEHIND_TLS and not TRUSTED_PROXIES:
    raise BadSetting("BEHIND_TLS", env.text("BEHIND_TLS"), "name the proxy in TRUSTED_PROXIES, for example 127.0.0.1")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
if wrong := [origin for origin in CSRF_TRUSTED_ORIGINS if "://" not in origin]:
    raise BadSetting("CSRF_TRUSTED_ORIGINS", wrong[0], "want an origin with its scheme, as https://console.example")

# --- files ------------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_ADD_HEADERS_FUNCTION = workers.add_policy
WHITENOISE_USE_FINDERS = True  # straight from the checkout: nothing to collect before the first start

# --- time and language ------------------------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]

# --- logging: to standard output, one line each; the stack keeps the files ----------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "agentstate.log_lines.Line",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "filters": {"brief": {"()": "agentstate.outages.Brief"}},
    "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["brief"]}},
    "root": {"handlers": ["out"], "level": env.choice("LOG_LEVEL", "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL")},
    "loggers": {
        "django": {"level": "INFO"},  # without Django's own handlers, which write addresses as they are
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "mcp": {"level": "CRITICAL"},  # its errors quote what a server said
        "celery.app.trace": {"level": "WARNING"},  # a line for each sweep would bury the rest
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}


def _limits(text: str) -> dict[str, int]:
    """`kind:name=number`, with spaces between; what is limited, and to how many at once. 0: not limited."""
    found = dict[str, int]()
    for word in text.split():
        scope, _, number = word.partition("=")
        kind, _, name = scope.partition(":")
        if kind not in ("tool", "agent", "team") or not name or not number.isdecimal():
            raise ValueError(f"got {word!r}, want tool:NAME=N, agent:NAME=N or team:SLUG=N")
        found[scope] = int(number)
    return found


# --- AgentState's own -------------------------------------------------------------------------------------------
LOG_ORIGIN = env.text("LOG_ORIGIN", default="agentstate.local/log")  # the name under which heads are signed
KEY_ENCRYPTION = env.text("KEY_ENCRYPTION", default="file")  # or `environment`, or a class's dotted path (docs/keys.md)
KEY_ENCRYPTION_KEY = env.text("LEDGER_KEK")
KEY_ENCRYPTION_KEYS_BEFORE = env.words("LEDGER_KEK_OLD")
SIGNER_SOCKET = env.text("SIGNER_SOCKET", default=str(STACK.socket_dir / "signer.sock"))
# An old log key signs beside the new that long
LOG_KEY_OVERLAP_DAYS = env.number("LOG_KEY_OVERLAP_DAYS", default=30.0, unit="days")
LOG_SECOND_SIGNATURE = env.flag("LOG_SECOND_SIGNATURE", default=False)  # ML-DSA-44 beside Ed25519 under every head
WITNESSES = env.text("WITNESSES").split()  # vkey and URL in turn; docs/settings.md says how
WITNESS_EVERY = env.number("WITNESS_EVERY", default=10.0, least=0.001)
TIMESTAMP_URL = env.url("TIMESTAMP_URL")  # a time-stamp authority (RFC 3161)
TIMESTAMP_ROOT = env.path("TIMESTAMP_ROOT")  # file with its root certificate (PEM)
if bool(TIMESTAMP_URL) != bool(TIMESTAMP_ROOT):
    raise BadSetting("TIMESTAMP_URL", TIMESTAMP_URL, "goes with TIMESTAMP_ROOT, the authority's root certificate")
TIMESTAMP_EVERY = env.number("TIMESTAMP_EVERY", default=3600.0, least=0.001)
RESTAMP_DAYS = env.number("RESTAMP_DAYS", default=90.0, unit="days")
LOG_READS_PER_MINUTE = env.whole("LOG_READS_PER_MINUTE", default=1200)  # of the public log, by one address; 0: any
# Seconds between two looks for heads to sequence, at rest
SEQUENCE_EVERY = env.number("SEQUENCE_EVERY", default=0.25, least=0.001)
SEQUENCE_BUSY = env.number("SEQUENCE_BUSY", default=0.025, least=0.001)  # and while heads change
HEADMAP_EVERY = env.number("HEADMAP_EVERY", default=60.0, least=0.001)
# An idle log's head is signed and witnessed anew
REPUBLISH_EVERY = env.number("REPUBLISH_EVERY", default=600.0, least=0.001)
# Sequencer or signer away for longer: recorded as a downtime
GAP_SECONDS = env.number("GAP_SECONDS", default=10.0, least=0.001)
# Of one core that the scrubber may use
SCRUB_SHARE = env.number("SCRUB_SHARE", default=0.05, least=0.001, unit="cores")
# Seconds between two comparisons of all heads, and between two passes over all entries
SCRUB_HEADS_EVERY = env.number("SCRUB_HEADS_EVERY", default=1800.0, least=0.001)
SCRUB_ENTRIES_EVERY = env.number("SCRUB_ENTRIES_EVERY", default=3600.0, least=0.001)
# An export of many sessions is kept, sealed, for so long
EXPORT_HOURS = env.number("EXPORT_HOURS", default=72.0, least=0.001, unit="hours")
SITE_URL = env.url("SITE_URL", default="http://127.0.0.1:8000/")  # where notices lead: this console as people reach it
MAILS_PER_HOUR = env.whole("MAILS_PER_HOUR", default=20)  # to one person of one team; what is more leaves as one
NOTICE_DAYS = env.whole("NOTICE_DAYS", default=90, least=1)  # notices and what became of them are kept for so long
# A dead worker's sessions are taken over after this
LEASE_SECONDS = env.number("LEASE_SECONDS", default=6.0, least=0.001)
WORKERS = env.whole("AGENTSTATE_WORKERS", default=2, least=1)  # worker processes that `up` starts
DRAIN_SECONDS = env.number("DRAIN_SECONDS", default=6.0)  # a worker that stops waits so long for what runs
LIMITS: dict[str, int] = env.read("LIMITS", _limits, {})  # at once, over all workers: "tool:transfer=4 agent:bank=50"
PARALLEL_CALLS = env.whole("PARALLEL_CALLS", default=8, least=1)  # calls of one session that run side by side
OUTSIDE_HOSTS = env.words("OUTSIDE_HOSTS")  # all that tools may call; empty: what they name
OUTSIDE_NETWORKS = env.networks("OUTSIDE_NETWORKS")  # private networks that tools may reach, as 10.1.0.0/16
OUTSIDE_CA_FILE = env.path("OUTSIDE_CA_FILE")  # certificates (PEM) to trust beside the usual ones
OUTSIDE_SECRETS = env.text("OUTSIDE_SECRETS", default="file")  # or `environment`, or a class (docs/tools.md)
AGENT_MODULES = env.words("AGENT_MODULES")  # Python modules that register agents and tools when imported
# Folders of the installation's own policies, charts, state schemas, talks, profiles, prices (docs/connecting.md)
LIBRARY_FOLDERS = env.paths("LIBRARY_FOLDERS", Path.is_dir)
TOOL_FOLDER = env.path("TOOL_FOLDER", Path.is_dir)  # with http/*.json and mcp/*.json: the installation's own tools
TOOL_THREADS = env.whole("TOOL_THREADS", default=64, least=1)  # threads of one worker that run tools
SESSION_IDLE = env.whole("AGENTSTATE_SESSION_IDLE", default=0)  # seconds after which an idle session expires; 0: never
SNAPSHOT_EVERY = 100  # events
STATE_CACHE_BYTES = env.whole("STATE_CACHE_BYTES", default=64_000_000)  # folded states kept in one process
AGENT_MODEL = env.text("AGENT_MODEL")  # empty: the scripted model
AGENT_STREAMS = env.flag("AGENT_STREAMS", default=True)  # whether answers are asked for piece by piece
AGENT_BASE_URL = env.text("AGENT_BASE_URL")
AGENT_API_KEY = env.text("AGENT_API_KEY")
