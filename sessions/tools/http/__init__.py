"""Tools over HTTP, each a JSON file: `description` is its form, `mapping` what is sent and read, `calls` the request.
The files of this folder, and those of `http/` in TOOL_FOLDER, are the tools.
"""
