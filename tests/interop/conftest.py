"""One export of one installation, made once: servers, database and site stay up until the last test has asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.interop.test_verifiers import Exported
from tests.shell.conftest import _authorization

__all__ = ["_authorization"]


@pytest.fixture(scope="module")
def exported(test_database, django_db_setup, django_db_blocker, _authorization, tmp_path_factory) -> Iterator[Exported]:
    from sessions.agents import versions
    from sessions.core import states
    from tests.interop import installation  # not before Django is set up

    with django_db_blocker.unblock():
        try:
            with ExitStack() as around:
                yield installation.exported(tmp_path_factory.mktemp("interop"), _authorization, around)
        finally:
            test_database.renew()  # the next test finds database, signer and caches as if there had been none of this
            test_database.forget_heads()
            states.forget_all()
            versions.forget_all()
