"""hosts, limits.conf and fstab: only what is missing or wrong is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.configure.description import Mount
from fabricgauge.features.configure.hosts import correct_hosts
from fabricgauge.features.configure.image import fstab_line, with_memlock, with_mounts
from fabricgauge.model.errors import UsageError

WANTED = {"c1": "10.0.0.1", "c1-net": "10.0.0.1", "c2-net": "10.0.0.2"}
LINES = st.lists(
    st.one_of(
        st.sampled_from(["10.0.0.1 c1 c1-net", "10.0.0.9 C1 other", "10.0.0.2\tc2-net # it",
                         "::1 localhost", "127.0.1.1 c1", "# c1", "", "nonsense", "10.0.0.2"]),
        st.text(st.characters(exclude_characters="\n"), max_size=30),
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n", "10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n"),
        ("127.0.1.1 c1\n10.0.0.2 c2-net\n",
         "10.0.0.1 c1\n10.0.0.2 c2-net\n10.0.0.1 c1-net\n"),
        ("10.0.0.7\tc1 c1-net # it\n10.0.0.2 c2-net\n",
         "10.0.0.1\tc1 c1-net # it\n10.0.0.2 c2-net\n"),
        ("10.0.0.7 c1 c2-net\n", "10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n"),
        ("10.0.0.9 c1 x # old\n10.0.0.1 c1 c1-net\n10.0.0.2 c2-net",
         "10.0.0.9 x # old\n10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n"),
        ("", "10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n"),
        ("::1 c1\n", "::1 c1\n10.0.0.1 c1 c1-net\n10.0.0.2 c2-net\n"),
        ("10.0.0.9 c1\r\n10.0.0.2\vc2-net\n",  # glibc's own white space
         "10.0.0.1 c1\r\n10.0.0.2\vc2-net\n10.0.0.1 c1-net\n"),
        ("10.0.0.1 C1 c1-NET\n10.0.0.2 c2-net\n", "10.0.0.1 C1 c1-NET\n10.0.0.2 c2-net\n"),
    ],
)  # fmt: skip
def test_names_get_their_address_and_no_other(text: str, new: str) -> None:
    assert correct_hosts(text, WANTED) == new


@given(LINES)
def test_what_is_corrected_needs_no_correction_and_keeps_other_names(lines: list[str]) -> None:
    text = "\n".join(lines)
    once = correct_hosts(text, WANTED)
    assert correct_hosts(once, WANTED) == once
    meaning: dict[str, set[str]] = {}
    for row in once.split("\n"):
        words = row.partition("#")[0].split()
        if len(words) > 1 and words[0].count(".") == 3:
            for name in words[1:]:
                meaning.setdefault(name.casefold(), set()).add(words[0])
    assert all(meaning[name] == {ip} for name, ip in WANTED.items())
    assert ("other" in once.split()) == ("other" in text.split())


def test_memlock_is_set_once_and_before_the_end() -> None:
    text = "# limits\n* soft memlock 64\nroot - nofile 4\n# End of file\n"
    new = with_memlock(text, "unlimited")
    assert new == (
        "# limits\nroot - nofile 4\n* soft memlock unlimited\n* hard memlock unlimited\n"
        "# End of file\n"
    )
    assert with_memlock(new, "unlimited") == new
    assert with_memlock("", "64") == "* soft memlock 64\n* hard memlock 64\n"


def test_memlock_with_a_dash_is_replaced_and_others_stay() -> None:
    assert with_memlock("*  -  memlock 5\n@users hard memlock 9\n", "unlimited") == (
        "@users hard memlock 9\n* soft memlock unlimited\n* hard memlock unlimited\n"
    )


def test_a_mount_is_added_once_as_the_guide_writes_it() -> None:
    mount = Mount("10.10.1.10:/opt/intel", "/opt/intel", "nfs", "nfsvers=3,nodev,nosuid")
    new = with_mounts("proc /proc proc defaults 0 0", [mount], "fstab")
    assert new.split("\n")[1] == "10.10.1.10:/opt/intel /opt/intel nfs nfsvers=3,nodev,nosuid 0 0"
    assert with_mounts(new, [mount], "fstab") == new
    other = Mount("10.10.1.11:/opt/intel", "/opt/intel")
    with pytest.raises(UsageError, match="fstab mounts 10.10.1.10:/opt/intel on /opt/intel"):
        with_mounts(new, [other], "fstab")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_no_path_ends_its_field(name: str) -> None:
    written = fstab_line(Mount(f"host:/{name}", f"/{name}"))
    assert len(written.split(" ")) == 6 and "\n" not in written
