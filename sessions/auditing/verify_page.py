"""The page that verifies an export in the reader's own browser. It is for everybody, and sends nothing anywhere."""

from __future__ import annotations

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

# The bundle stays where it is: the page and its worker may load our scripts and connect to nothing.
# agentstate.workers has the worker's own policy.
SILENT = {"connect-src": [NONE], "form-action": [NONE], "worker-src": [SELF]}


@require_safe
@csp_replace(SILENT)
def verify(request: HttpRequest) -> HttpResponse:
    """The form; everything else is static/audit/verify/."""
    return render(request, "audit/verify.html")
