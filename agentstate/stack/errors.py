"""What can be wrong with a machine or a state directory. Each is one line that also says what to do."""

from __future__ import annotations

from agentstate.errors import Refused


class Unstartable(Refused):
    """AgentState cannot start."""

    code = "unstartable"


class StateDirOwned(Unstartable):
    """The state directory belongs to another user."""

    code = "state_dir_owned"


class StateDirUnusable(Unstartable):
    """The state directory cannot be made or written."""

    code = "state_dir_unusable"


class SocketDirTaken(Unstartable):
    """The directory for the sockets is not ours alone."""

    code = "socket_dir_taken"


class AlreadyRunning(Unstartable):
    """AgentState already runs from this state directory."""

    code = "already_running"


class OtherMajor(Unstartable):
    """The database was made by another PostgreSQL version."""

    code = "other_major"


class RootRefused(Unstartable):
    """PostgreSQL refuses to run as root."""

    code = "root_refused"


class NoServerProgram(Unstartable):
    """A server program is not installed."""

    code = "no_server_program"


class PortTaken(Unstartable):
    """The port is taken."""

    code = "port_taken"


class PasswordLost(Unstartable):
    """The password file of the database's superuser is missing or wrong."""

    code = "password_lost"


class DidNotStart(Unstartable):
    """A program did not start."""

    code = "did_not_start"


class KeepsDying(Unstartable):
    """A program keeps dying."""

    code = "keeps_dying"


class BankMissing(Unstartable):
    """The demo has no place for its bank."""

    code = "bank_missing"


class KeysUnusable(Unstartable):
    """The keys of the ledger cannot be used."""

    code = "keys_unusable"
