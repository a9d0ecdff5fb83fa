"""Tools over HTTP, each described by a JSON file: `described` is the form, `mapping` what is sent and taken, `running`
the call. The files of this folder, and those of `http/` in TOOL_FOLDER, are the tools.
"""
