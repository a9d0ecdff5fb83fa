"""A session's state is the fold of its events, nothing else.

The state is immutable and bounded: it holds the recent window of messages and the calls and requests that are open or
ended lately, so that opening a session costs the same at event 100,000 as at event 100.

`session` says what it holds, `evolution` folds, and `snapshot` gives its bytes. In each other file are the changes that
the events of one concept make: a function with `@event_handler`.
"""
