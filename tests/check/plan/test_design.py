import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.design import MAX_ARMS, UNCHANGED, make_design, parse_factor
from fabricgauge.model.errors import UsageError

LEVELS = st.lists(st.sampled_from("abc"), min_size=2, max_size=3)


@given(st.lists(LEVELS, min_size=1, max_size=3), st.integers(1, 12), st.integers(0, 99))
def test_every_block_has_every_combination_once(
    levels: list[list[str]], blocks: int, seed: int
) -> None:
    factors = [parse_factor(f"env:F{number}={','.join(of)}") for number, of in enumerate(levels)]
    made = make_design(factors, blocks, seed)
    combinations = 1
    for of in levels:
        combinations *= len(of)
    assert len(made.arms) == combinations
    assert len(made.order) == blocks
    assert all(sorted(order) == list(range(combinations)) for order in made.order)


def test_the_order_differs_from_block_to_block_and_is_drawn_by_the_seed() -> None:
    factors = [parse_factor("mpi=mpich,openmpi")]
    made = make_design(factors, 20, 1)
    assert len(set(made.order)) == 2
    assert made == make_design(factors, 20, 1)
    assert made != make_design(factors, 20, 2)


@pytest.mark.parametrize(
    "said",
    ["mpi", "mpi=", "mpi=mpich", "colour=red,blue", "env:=a,b", "env:A B=a,b", "env:$(id)=1,2",
     "bind=core,socket", "buffers=single,many", "=a,b", ""],
)  # fmt: skip
def test_what_is_no_factor_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="--vary"):
        parse_factor(said)


def test_levels_of_a_variable_may_be_anything() -> None:
    assert parse_factor("env:A=$(touch x) ;,b").levels == ("$(touch x) ;", "b")
    assert parse_factor(r"env:UCX_TLS=tcp\,self,rc\,self\,sm").levels == ("tcp,self", "rc,self,sm")


def test_a_transport_s_own_commas_stay_in_its_level() -> None:
    levels = ("verbs:path-mtu=256,inline=0", "mpi")
    assert parse_factor(r"transport=verbs:path-mtu=256\,inline=0,mpi").levels == levels


def test_an_empty_level_leaves_a_variable_as_it_is() -> None:
    assert parse_factor("env:UCX_RNDV_THRESH=,8K").levels == (UNCHANGED, "8K")
    with pytest.raises(UsageError, match="a level is empty"):
        parse_factor("mpi=mpich,")


def test_too_many_combinations_and_factors_twice_are_refused() -> None:
    many = [parse_factor(f"env:F{number}=a,b") for number in range(7)]
    with pytest.raises(UsageError, match=f"more than {MAX_ARMS}"):
        make_design(many, 8, 1)
    with pytest.raises(UsageError, match="twice"):
        make_design([many[0], many[0]], 8, 1)


def test_layers_have_a_factor_and_providers_are_of_one_transport() -> None:
    layers = parse_factor(r"transport=sockets,ofi:provider=tcp\,domain=eth0,mpi")
    assert layers.levels == ("sockets", "ofi:provider=tcp,domain=eth0", "mpi")
    with pytest.raises(UsageError, match="vary transport or provider"):
        make_design([layers, parse_factor("provider=tcp,shm")], 8, 1)
