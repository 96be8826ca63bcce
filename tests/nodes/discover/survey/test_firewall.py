"""Rules in chains of their own, behind logs and comments, and those that cannot be followed."""

import time

import pytest

from fabricgauge.nodes.discover.survey.system import parse_firewall

NFT = """table inet f {
	chain input {
		type filter hook input priority filter; policy accept;
		ct state established,related accept
		%s
	}
	chain site {
		tcp dport 22 accept
		%s
	}
	chain open {
		accept
	}
}"""


def nft(last: str, site: str = "drop") -> dict[str, str]:
    return parse_firewall(NFT % (last, site), "# ip_tables is not loaded")


def iptables(*rules: str, policy: str = "ACCEPT") -> dict[str, str]:
    return parse_firewall("# nf_tables is not loaded", "\n".join((f"-P INPUT {policy}", *rules)))


def test_a_chain_that_input_leads_to_may_shut_the_node() -> None:
    told = {"firewall": "nft: input ends in drop in chain site"}
    assert nft("jump site") == nft("counter packets 3 bytes 180 goto site") == told
    site = ("-N SITE", "-A INPUT -j SITE", "-A SITE -p tcp -m tcp --dport 22 -j ACCEPT")
    told = {"firewall": "iptables: INPUT ends in DROP in chain SITE"}
    assert iptables(*site, "-A SITE -j DROP") == told
    assert iptables(*site, '-A SITE -j LOG --log-prefix "a b"', "-A SITE -j DROP") == told
    assert iptables("-A INPUT -g SITE", *site[:1], "-A SITE -j DROP") == told


def test_a_chain_under_a_condition_does_not() -> None:
    assert nft("tcp dport 80 jump site") == {"firewall": "none"}
    assert iptables("-A INPUT -p tcp -j SITE", "-A SITE -j DROP") == {"firewall": "none"}


def test_a_chain_that_returns_goes_on_where_it_came_from() -> None:
    assert nft("jump site", "return") == nft("jump site", "tcp dport 80 drop")
    assert nft("jump site", "return") == {"firewall": "none"}
    back = ("-A INPUT -j SITE", "-A SITE -j RETURN", "-A SITE -j DROP")
    assert iptables(*back) == {"firewall": "none"}
    assert iptables(*back, policy="DROP") == {"firewall": "iptables: INPUT DROP"}
    assert iptables(*back, "-A INPUT -j DROP") == {"firewall": "iptables: INPUT ends in DROP"}


def test_what_accepts_everything_before_the_end_shuts_nothing() -> None:
    assert nft("accept\n\t\tdrop") == nft("jump open\n\t\tdrop") == {"firewall": "none"}
    assert iptables("-A INPUT -j ACCEPT", policy="DROP") == {"firewall": "none"}


@pytest.mark.parametrize(
    "rule",
    [
        'log prefix "drop " drop',
        'log prefix "a b" level info flags tcp sequence,options drop',
        'counter packets 0 bytes 0 log prefix "x: " counter drop',
        'limit rate 5/minute burst 5 packets log prefix "x: " drop',
        'drop comment "nobody else"',
        "/* xt */ counter packets 0 bytes 0 drop",
    ],
)
def test_a_log_or_a_comment_makes_no_condition(rule: str) -> None:
    assert nft(rule) == {"firewall": "nft: input ends in drop"}


def test_a_limit_does() -> None:
    for rule in ("limit rate over 10/second drop", 'limit rate over 5/minute log prefix "x" drop'):
        assert nft(rule) == {"firewall": "none"}


def test_what_is_let_in_may_have_a_comment_and_a_chain_of_its_own() -> None:
    comment = '-s 10.1.0.0/16 -m comment --comment "my cluster" -j ACCEPT'
    reject = "-A INPUT -j REJECT --reject-with icmp-host-prohibited"
    assert iptables(f"-A INPUT {comment}", reject)["firewall lets in"] == "10.1.0.0/16"
    user = ("-A INPUT -j user", "-A user -s 10.1.0.0/16 -j ACCEPT")
    assert iptables(*user, policy="DROP")["firewall lets in"] == "10.1.0.0/16"
    zone = ("-A INPUT -i ib0 -g mine", "-A mine -j ACCEPT", reject)
    assert iptables(*zone)["firewall lets in"] == "ib0"
    found = nft("jump site", 'iifname "ib0" accept comment "cluster"\n\t\tdrop')
    assert found["firewall lets in"] == "ib0"
    assert nft('iifname "ib0" jump open\n\t\tdrop')["firewall lets in"] == "ib0"


def test_what_stands_in_a_chain_that_nothing_leads_to_is_not_let_in() -> None:
    lonely = ("-A user -s 10.1.0.0/16 -j ACCEPT", "-A INPUT -j DROP")
    assert iptables(*lonely) == {"firewall": "iptables: INPUT ends in DROP"}


def test_a_jump_that_cannot_be_followed_is_told_and_is_not_none() -> None:
    told = {"firewall unread": "nft: the jump to lost was not understood"}
    assert nft("jump lost") == told
    told = {"firewall unread": "iptables: the jump to NFQUEUE was not understood"}
    assert iptables("-A INPUT -j NFQUEUE --queue-num 0") == told
    assert iptables("-A INPUT -j NFQUEUE", "-A INPUT -j DROP")["firewall"].endswith("DROP")


def test_chains_that_lead_to_each_other_end() -> None:
    assert "firewall unread" in iptables("-A INPUT -j a", "-A a -j b", "-A b -j a")


def test_many_jumps_to_one_chain_take_no_time() -> None:
    """Each chain leads to the next one three times: 3^16 ways."""
    rules = [f"-A c{n} -j c{n + 1}" for n in range(40) for _ in (1, 2, 3)]
    begin = time.monotonic()
    iptables("-A INPUT -j c0", *rules)
    iptables("-A INPUT -j c0", *(one.replace(" -j", " -i e -j") for one in rules))
    assert time.monotonic() - begin < 5.0


@pytest.mark.parametrize(
    "words",
    ["counter", "log", "log flags all", 'log prefix "a" level info', "limit rate 5/minute log"],
)
def test_a_rule_of_many_words_takes_no_time(words: str) -> None:
    begin = time.process_time()
    assert nft(f"{words} " * 1000 + "nonsense") == {"firewall": "none"}
    assert time.process_time() - begin < 5.0
