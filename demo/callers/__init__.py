"""People who call the bank, for ever: twelve kinds of them, at a human pace, through the public API only.

Read `kinds.py` for who calls and what they say, `call.py` for how one call goes, `desk.py` for how many at once.
"""
