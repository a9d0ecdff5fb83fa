"""What others do in the same run on the same server: LangGraph with its PostgreSQL saver, DBOS.

Each runs in a process of its own and in a virtual environment of its own (`make bench PEERS=1` makes it from
requirements/peers.txt), so that nothing of theirs is installed beside the product.
"""
