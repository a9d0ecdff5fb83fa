"""The signer: the only holder of the log key, a process of its own with a memory of its own. Needs no Django.

Read rules.py first (what is signed and what is refused), then memory.py and keyring.py (what lies on the disk),
messages.py and server.py (how it is asked). The rest of the house asks through `audit.signer`.
"""
