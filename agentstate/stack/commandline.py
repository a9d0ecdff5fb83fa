"""What manage.py does before Django: `--state-dir` for all commands, the demo's settings, servers for those that need
them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agentstate.environment import Environment
from agentstate.stack.endpoints import Endpoints, endpoints
from agentstate.stack.errors import StateDirUnusable

# Commands that never touch the database, and `up`, which brings the servers itself. Every other gets them.
WITHOUT_SERVERS = {
    *("check", "collectstatic", "compilemessages", "diffsettings", "findstatic", "help", "makemessages"),
    *("signer", "spectacular", "startapp", "startproject", "up", "version", "witness"),
}


def take_state_dir(argv: list[str], environ: dict[str, str] | os._Environ[str]) -> list[str]:
    """Move `--state-dir DIR` or `--state-dir=DIR` from the arguments into AGENTSTATE_STATE_DIR."""
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name != "--state-dir":
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value:
            raise StateDirUnusable("--state-dir needs a directory.")
        environ["AGENTSTATE_STATE_DIR"] = value
    return rest


def add_demo(argv: list[str], environ: dict[str, str] | os._Environ[str], stack: Endpoints) -> None:
    """Adds the demo's agent and library to the settings: for `up --demo`, and for every command of a state directory
    that once was a demo's. The demo brings them as any installation does.
    """
    if "--demo" not in argv and not stack.demo_dir.is_dir():
        return
    for setting, value in (
        ("AGENT_MODULES", "demo.bank_agent.agent"),
        ("LIBRARY_FOLDERS", str(stack.base_dir / "demo" / "bank_agent" / "library")),
    ):
        words = Environment(environ).words(setting)
        environ[setting] = ",".join([*words, *({value} - set(words))])


def underscored(argv: list[str]) -> list[str]:
    """The same with the command's name as its module has it: people write `rotate-kek`."""
    return [word.replace("-", "_") if at == 1 and not word.startswith("-") else word for at, word in enumerate(argv)]


def needs_servers(argv: list[str]) -> bool:
    """Whether the command named in `argv` (as in sys.argv) may touch the database."""
    command = argv[1] if len(argv) > 1 else "help"
    asks_for_help = command.startswith("-") or not {"-h", "--help"}.isdisjoint(argv)
    return not asks_for_help and (command not in WITHOUT_SERVERS or "--database" in argv)


def main(base_dir: Path) -> None:
    """Run one management command, with servers when it needs them and none run yet."""
    from django.core.management import execute_from_command_line

    argv = underscored(take_state_dir(sys.argv, os.environ))
    stack = endpoints(os.environ, base_dir)
    add_demo(argv, os.environ, stack)
    # Absolute, because children run in other directories.
    os.environ["AGENTSTATE_STATE_DIR"] = str(stack.state_dir)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")
    if not stack.embedded or not needs_servers(argv):
        if "up" in argv[1:2]:
            from agentstate.stack.statedir import prepare

            prepare(stack)  # the settings read the key that this makes
        if needs_servers(argv):
            from agentstate.stack import reach

            reach.check(stack)
        execute_from_command_line(argv)
        return
    from agentstate.stack.servers import servers_for_command

    def make_tables() -> None:
        execute_from_command_line([argv[0], "migrate", "--verbosity", "0"])

    with servers_for_command(stack, argv[1], make_tables):
        execute_from_command_line(argv)
