"""The reader of console blocks reads what it claims to."""

import pytest
from tests.docs.blocks import Commands, WriteFile, is_ours, steps
from tests.docs.pages import PAGES, fences, name

PAGE = """
<!-- file: ~/x.toml -->
```toml
a = 1
```

<!-- needs: /bin/sh; exit: 0 or 3; shows: a; b -->
```console
$ fabricgauge check -w 'c[1-2]'
 PASS  net1
```

<!-- exit: 1, while the next block runs -->
```console
$ fabricgauge check
```
some words
```console
$ fabricgauge lab down
```

<!-- not run: needs real nodes -->
```console
$ fabricgauge check -w 'c[1-2]'
```

<!-- on: ssh; exit: 0 -->
```console
$ fabricgauge check c1 c2
```

```console
$ make check
```
"""


def test_blocks_are_read_in_order_with_what_is_expected_of_them() -> None:
    check = ("fabricgauge", "check")
    assert list(steps(PAGE)) == [
        WriteFile("~/x.toml", "a = 1\n"),
        Commands(8, ((*check, "-w", "c[1-2]"),), frozenset({0, 3}), "a; b", "/bin/sh"),
        Commands(14, (check,), frozenset({1}), beside_next=True),
        Commands(18, (("fabricgauge", "lab", "down"),), frozenset({0})),
        Commands(28, ((*check, "c1", "c2"),), frozenset({0}), on="ssh"),
    ]


@pytest.mark.parametrize("comment", ["exit: maybe", "exits: 0", "needs real nodes"])
def test_a_comment_that_is_not_understood_fails(comment: str) -> None:
    with pytest.raises(AssertionError, match="not understood"):
        list(steps(f"<!-- {comment} -->\n```console\n$ fabricgauge check\n```\n"))


def test_another_program_among_our_commands_fails() -> None:
    with pytest.raises(AssertionError, match="rm"):
        list(steps("```console\n$ fabricgauge check\n$ rm -r x\n```\n"))


def test_no_command_hides_in_a_block_of_another_kind() -> None:
    hidden = [
        f"{name(page)} line {fence.line}"
        for page in PAGES
        for fence in fences(page.read_text(encoding="utf-8"))
        if "$ fabricgauge" in fence.text and not is_ours(fence)
    ]
    assert hidden == []
