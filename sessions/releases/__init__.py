"""Releases of the library: what folders propose, the approval that it needs, and what is in force.

`proposal` registers the kinds of proposals, `commands` compares folders with what is in force, `queries` and `pages`
list both.
"""
