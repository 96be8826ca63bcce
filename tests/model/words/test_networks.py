from fabricgauge.model.words.networks import is_loopback, loopback_of, named


def test_a_loopback_is_a_reference_and_no_network() -> None:
    assert is_loopback(loopback_of("c1"))
    assert named(loopback_of("c1")) == "loopback of c1 (a reference, no network)"
    assert not is_loopback("net1") and not is_loopback(None)


def test_mpis_own_choice_has_words() -> None:
    assert named(None) == "MPI's own choice"
    assert named("net1") == "net1"
