"""Names that mean one host, and names that mean two."""

import pytest

from fabricgauge.model.host_access import same_host, unify_hosts


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("c1", "c1", True), ("c1", "C1", True), ("a", "a.example.org", True),
        ("localhost", "127.0.0.1", True), ("127.0.0.1", "127.0.1.1", True),
        ("::1", "localhost", True), ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("::FFFF:127.0.0.1", "localhost", True), ("::ffff:10.0.0.1", "10.0.0.2", False),
        ("localhost.localdomain", "localhost", True), ("a.example.org", "a.example.org.", True),
        ("c1", "c10", False), ("a.one.org", "a.two.org", False), ("10.0.0.1", "10.0.0.10", False),
        ("10", "10.0.0.1", False), ("localhost", "c1", False), ("a", "ab.example.org", False),
    ],
)  # fmt: skip
def test_names_of_one_host(a: str, b: str, same: bool) -> None:
    assert same_host(a, b) is same
    assert same_host(b, a) is same
    assert (len(set(unify_hosts((a, b)))) == 1) is same


def test_each_host_keeps_its_first_name() -> None:
    names = ("a", "a.example.org", "b.example.org", "b", "127.0.0.1", "localhost")
    assert unify_hosts(names) == (
        "a",
        "a",
        "b.example.org",
        "b.example.org",
        "127.0.0.1",
        "127.0.0.1",
    )


def test_many_hosts_are_distinguished_quickly() -> None:
    names = tuple(f"node{number}" for number in range(20_000))
    assert unify_hosts(names) == names
