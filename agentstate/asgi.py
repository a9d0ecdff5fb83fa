"""HTTP and WebSocket, as Daphne serves them."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from agentstate import starting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")
starting.able_to_sign_or_leave()
http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - needs the apps that the line above has loaded
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

import agentstate.urls  # noqa: E402, F401 - what the first requests would import, each in a thread of its own
from agentstate import structs  # noqa: E402
from agentstate.origins import SameOrigin  # noqa: E402
from agentstate.proxies import ForwardedHeaders  # noqa: E402
from audit.keys import start  # noqa: E402
from sessions.consumers import routes  # noqa: E402

structs.ready_all()
start.check_or_leave()
application = ForwardedHeaders(
    ProtocolTypeRouter({"http": http, "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(routes)))}),
    settings.TRUSTED_PROXIES,
)
