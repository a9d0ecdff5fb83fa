"""The scrubber: a slow background look for sessions that somebody deleted or altered in the database.

`heads` compares all heads that the signed global log knows with the head rows. `entries` reads the bytes of one log:
envelopes up to the root, payloads against their envelopes. `altered` keeps what they find. `schedule` divides both
into short pieces of work within a share of one core, and goes on where it stopped.

A superuser of the database can alter the scrubber's own rows as well. So each alteration is also a line of the worker's
log, and what outsiders hold (`verify.py`, the monitor) stays the last word.
"""
