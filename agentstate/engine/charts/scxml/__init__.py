"""Charts as SCXML, in and out, with CEL as the data model (`datamodel="cel"`).

What an agent needs beside SCXML (instructions, tools, declared events) are attributes in a namespace of their own, so
any SCXML editor can draw the chart and leaves them alone.
"""

from __future__ import annotations

from agentstate.engine.charts.scxml.reading import from_scxml
from agentstate.engine.charts.scxml.writing import to_scxml

__all__ = ["from_scxml", "to_scxml"]
