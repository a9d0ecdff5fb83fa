"""The list of equivalent mutants fits the code as it stands, and a share of the functions is drawn from the seed."""

from __future__ import annotations

from tests.mutation import MODULES, ROOT, STATEMENTS, TESTS, drawn, functions, listed


def known() -> set[tuple[str, str]]:
    found = (functions((ROOT / module).read_text(encoding="utf-8")) for module in MODULES)
    return {(plain, digest) for each in found for _, plain, digest in each}


def test_every_listed_mutant_is_of_a_function_as_it_stands() -> None:
    functions_now = known()
    assert [each for each in listed() if (each.function, each.digest) not in functions_now] == []


def test_the_named_tests_exist() -> None:
    assert [name for name in TESTS if not (ROOT / name).is_file()] == []


def test_the_functions_that_are_left_to_the_database_exist() -> None:
    for module, names in STATEMENTS.items():
        assert names <= {plain for _, plain, _ in functions((ROOT / module).read_text(encoding="utf-8"))}
        assert module in MODULES


def test_a_digest_follows_the_text_of_its_function_alone() -> None:
    one, other = "def f():\n    return 1\n", "X = 2\n\n\ndef f():\n    return 1\n"
    assert list(functions(one)) == list(functions(other))
    assert list(functions(one)) != list(functions(one.replace("1", "2")))
    assert [name for name, _, _ in functions("class A:\n    def f(self): ...\n")] == ["xǁAǁf"]


def test_a_share_is_drawn_from_the_seed_and_grows_with_its_size() -> None:
    names = [f"f{number}" for number in range(1_000)]
    quarter, half = ({name for name in names if drawn(name, "seed", share)} for share in (25, 50))
    assert 200 < len(quarter) < 300
    assert quarter < half
    assert {name for name in names if drawn(name, "another", 25)} != quarter
    assert all(drawn(name, "seed", 100) for name in names)
