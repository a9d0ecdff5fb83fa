"""A chart as JSON and as SCXML: both ways the same, and bytes from anybody give a chart or a refusal by name."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import charts
from agentstate.engine.charts import BadChart, ChartOverrun
from agentstate.errors import Refused
from tests.core.chart_world import AT, events, random_charts, through_json
from tests.core.scxml_world import document, documents
from tests.searching import drawn

HEAD = b'<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" datamodel="cel">'


def read(name: str) -> charts.Chart | None:
    try:
        return charts.from_scxml(document("mandatory", name))
    except BadChart:
        return None


@pytest.mark.parametrize("name", documents("mandatory"))
def test_a_chart_is_the_same_through_json_and_through_scxml(name):
    chart = read(name)
    if chart is not None:
        assert charts.from_scxml(charts.to_scxml(chart)) == chart
        assert charts.bounded(charts.dump(chart)) == chart


@pytest.mark.parametrize(
    ("inside", "rule"),
    [
        (b'<state id="a"/><script>x = 1</script>', "no_script"),
        (b'<datamodel><data id="x" src="file:///etc/passwd"/></datamodel><state id="a"/>', "no_source"),
        (b'<state id="a"><invoke src="http://example.org/a.scxml"/></state>', "no_source"),
        (b'<state id="a"><onentry><shout/></onentry></state>', "unknown_element"),
        (b'<state id="a"><onentry><if><log/></if></onentry></state>', "form"),
        (b'<state id="a"><datamodel><data id="x"><b/></data></datamodel></state>', "no_xml_data"),
        (b'<datamodel><data id="x">{"price": 0.1}</data></datamodel><state id="a"/>', "no_floats"),
        (b"", "form"),
        (b'<state id="a b"/>', "form"),
    ],
)
def test_what_a_chart_cannot_hold_is_refused_by_rule(inside, rule):
    with pytest.raises(BadChart) as refusal:
        charts.from_scxml(HEAD + inside + b"</scxml>")
    assert refusal.value.facts["rule"] == rule


BOMB = b'<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>' + HEAD + b"&b;</scxml>"
OUTSIDE = b'<!DOCTYPE s [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + HEAD + b"&a;</scxml>"


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (BOMB, "no_dtd"),
        (OUTSIDE, "no_dtd"),
        (b"<!DOCTYPE scxml>" + HEAD + b"</scxml>", "no_dtd"),
        (HEAD + b"<state>" * 200 + b"</state>" * 200 + b"</scxml>", "size"),
        (HEAD + b"<log/>" * 20_000 + b"</scxml>", "size"),
        (b"x" * 300_000, "size"),
        (b"", "not_xml"),
        (b"{}", "not_xml"),
        (HEAD, "not_xml"),
        (b'<?xml version="1.0" encoding="nonsense"?>' + HEAD + b"</scxml>", "not_xml"),
        (b"<html/>", "not_scxml"),
        (b'<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript"/>', "datamodel"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_xml_that_would_harm_is_refused_quickly(data, rule):
    begun = time.process_time()
    with pytest.raises(BadChart) as refusal:
        charts.from_scxml(data)
    assert refusal.value.facts["rule"] == rule
    assert time.process_time() - begun < 3


DEEP = b'{"name":"a","version":1,"states":' + b'[{"id":"a","states":' * 10_000 + b"[]" + b"}]" * 10_000 + b"}"


@pytest.mark.parametrize(
    "data",
    [
        DEEP, b"[" * 100_000, b"", b"null", b"\xff", b'{"name":"a"}',
        b'{"name":"A b","version":1,"states":[{"id":"a"}]}',
        b'{"name":"a","version":1,"states":[]}', b'{"name":"a","version":1,"states":[{"id":"a","code":"x"}]}',
        b'{"name":"a","version":1,"states":[{"id":"a"}],"reads":["os"]}',
        b'{"name":"a","version":0.1,"states":[{"id":"a"}]}',
        json.dumps({"name": "a", "version": 1, "states": [{"id": f"s{n}"} for n in range(600)]}).encode(),
        b'{"name":"a","version":1,"states":[{"id":"a"}],"data":[{"name":"_event"}]}',
        b'{"name":"a","version":1,"states":[{"id":"a"}],"data":[{"name":"x"},{"name":"x"}]}',
        b'{"name":"a","version":1,"states":[{"id":"a","transitions":[{}]}]}',
        b'{"name":"a","version":1,"states":[{"id":"a","kind":"history"}]}',
    ],
    ids=range(16),
)  # fmt: skip
def test_json_that_is_no_chart_is_refused_by_name_and_quickly(data):
    begun = time.process_time()
    with pytest.raises(BadChart):
        charts.load(data)
    assert time.process_time() - begun < 3


@settings(max_examples=drawn(150))
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_a_chart_or_a_refusal(data):
    for read in (charts.load, charts.from_scxml, charts.load_cases):
        with suppress(BadChart):
            read(data)


@settings(max_examples=drawn(200))
@given(random_charts, st.lists(events, max_size=4))
def test_any_chart_is_refused_or_runs_within_its_bounds_the_same_every_time(drawn, told):
    data = json.dumps(drawn).encode()
    with suppress(BadChart, ChartOverrun):
        made = charts.bounded(data)
        charts.check(made)
        made = charts.load(data)
        assert charts.from_scxml(charts.to_scxml(made)) == made
        state, moved = charts.start(made, {}, AT)
        assert charts.start(made, {}, AT) == (state, moved)
        for event in told:
            with suppress(Refused):
                state, _ = charts.step(made, through_json(state), charts.Happening(event), {}, AT)
        if due := charts.due_next(state):
            charts.tick(made, through_json(state), {}, due)
