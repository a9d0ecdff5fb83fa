"""The bank's agent, as an installation brings its own. AGENT_MODULES names `agent`, LIBRARY_FOLDERS names `library/`.

`agent` and `tools` register themselves, `script` answers without a language model, and `library/` holds the policy, the
chart, the talk, the state schema and the profile.
"""
