"""A saved plan outlives the customers of its team, so it names none of them."""

from __future__ import annotations

import pytest

from sessions.core.plan_checks import NamesCustomer
from sessions.models.sessions import SavedPlan
from sessions.plans import commands as plans_commands
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import CUSTOMER, opened

pytestmark = pytest.mark.django_db(transaction=True)
LOOK = {"_tool": "load_customer", "customer": "†input.customer"}
NAMED = {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}


@pytest.mark.parametrize(
    ("calls", "more"),
    [
        ([{**LOOK, "customer": CUSTOMER}], {}),
        ([{**LOOK, "customer": {"of": [1, {"who": CUSTOMER}]}}], {}),
        ([LOOK], {"about": f"Worked out for {CUSTOMER}, who called twice."}),
        ([LOOK], {"conditions": [f"input.customer != '{CUSTOMER}'"]}),
        ([LOOK], {"output": {"of": [CUSTOMER]}}),
        ([LOOK], {"inputs": {**NAMED, "properties": {"customer": {"type": "string", "default": CUSTOMER}}}}),
    ],
)
def test_a_plan_that_names_a_customer_of_the_team_is_not_saved(calls, more):
    opened(CUSTOMER)
    wanted = {"inputs": NAMED, **more}
    with pytest.raises(NamesCustomer):
        plans_commands.save_plan(cast.alice(), "look", calls, **wanted)
    assert not SavedPlan.objects.exists()
    problem(Api(cast.alice()).post("/plans", {"name": "look", "calls": calls, **wanted}), 409, "names_customer")


def test_a_plan_with_an_input_in_its_place_is_saved_and_other_teams_customers_are_not_told_of():
    opened(CUSTOMER)
    theirs = opened("C-1002", by=cast.person("carl", cast.Role.CALLER, cast.cards()))
    assert plans_commands.save_plan(cast.alice(), "look", [LOOK], inputs=NAMED).version == 1
    assert plans_commands.save_plan(cast.alice(), "other", [{**LOOK, "customer": "C-1002"}], inputs=NAMED).version == 1
    assert theirs
    for word in ("system", f"team:{cast.retail().pk}", cast.alice().actor):  # subjects of keys that are no customers'
        assert plans_commands.save_plan(cast.alice(), "words", [LOOK], inputs=NAMED, about=word).name == "words"
