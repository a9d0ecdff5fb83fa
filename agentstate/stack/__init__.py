"""The servers and programs behind `manage.py up`: real PostgreSQL and Valkey as children of one supervisor.

Read endpoints.py (where everything is), then servers.py (starting the two servers) and supervisor.py (keeping
everything alive). Nothing here knows what a session is.
"""
