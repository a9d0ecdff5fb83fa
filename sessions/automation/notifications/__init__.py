"""Notifications: which people are notified of what, by which channel, and how each delivery ended.

Pure: `definition`, `matching` (whether a rule applies, and under which key), `quiet_hours`, `retries`. `repository`
stores rules, `endpoints` addresses of webhooks, `preferences` what a person wants. `dispatch` turns an occurrence into
deliveries, and `delivery` sends them by `mail` or `webhook` with the words of `texts`. docs/notifications.md is the
manual.
"""
