"""Outside servers, asked before anything starts: a wrong password or host is one line that names its setting."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import redis

from agentstate.environment import BadSetting, Environment
from agentstate.stack.endpoints import Endpoints

SECONDS = 5  # for each server to answer
POSTGRESQL, REDIS = 15, 7  # the least major versions that are tested
URLS = {"default": "DATABASE_URL", "owner": "DATABASE_OWNER_URL", "erase": "DATABASE_ERASE_URL"}


def check(stack: Endpoints) -> None:
    """Raises BadSetting for the first outside server that refuses us or is too old. Opens nothing that stays open."""
    if stack.embedded:
        return
    env = Environment(os.environ)
    for alias, setting in URLS.items():
        if env.text(setting):
            _check_postgres(setting, env.text(setting), stack.databases[alias])
    _check_redis(env.text("REDIS_URL"), stack.cache_url)


def _check_postgres(setting: str, url: str, database: dict[str, Any]) -> None:
    keys = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    given = {option: database[key] for option, key in keys.items() if database[key]}
    options = {name: value for name, value in database["OPTIONS"].items() if name != "pool"}
    try:
        with psycopg.connect(**{"connect_timeout": SECONDS, **options, **given}) as connection:
            version = connection.info.server_version // 10000
    except psycopg.Error as error:
        raise BadSetting(setting, url, str(error)[:400]) from None
    if version < POSTGRESQL:
        raise BadSetting(setting, url, f"PostgreSQL {version} answers, want {POSTGRESQL} or newer")


def _check_redis(url: str, cache_url: str) -> None:
    try:
        with redis.Redis.from_url(cache_url, socket_connect_timeout=SECONDS, socket_timeout=SECONDS) as client:
            said = client.info("server")
    except (redis.RedisError, OSError, ValueError) as error:
        raise BadSetting("REDIS_URL", url, str(error)) from None
    version = str(said.get("redis_version", ""))
    if int(version.partition(".")[0] or 0) < REDIS:
        raise BadSetting("REDIS_URL", url, f"Redis {version} answers, want {REDIS} or newer")
