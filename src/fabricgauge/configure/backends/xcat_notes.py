"""Where the xCAT plan differs from the validation guide that it follows; pure.

Source: Interconnect Performance Validation, revision 1.2 (November 2021), sections High-Speed
Ethernet and Omni-path, Configuration.
"""

from collections.abc import Iterator

from fabricgauge.configure.job import Job

#: By the kind of network in whose section the guide has the slip; "" for both.
_MENDED = (
    ("ethernet", "the guide runs `make networks`; the command is makenetworks"),
    (
        "",
        "the guide defines one network with `-t network NAME`, the other with `-o NAME`, and nodes"
        " without a type; here every chdef says type and name (-t … -o …)",
    ),
    (
        "ethernet",
        "the guide runs makedns for its Omni-Path network only; here the name server learns the"
        " names of every network",
    ),
    (
        "omni-path",
        "the guide's ping has `-c` without a count, which ping refuses; here every ping has one,"
        " and neighbours ping each other both ways",
    ),
    (
        "omni-path",
        "the guide gives these ends no suffix, so that makehosts names them by the interface"
        " (c1-ib0); state one, and the plan verifies the names",
    ),
)


def notes(job: Job) -> Iterator[str]:
    kinds = {"", *(wanted.kind for wanted in job.wanted)}
    yield from (f"mended: {text}" for kind, text in _MENDED if kind in kinds)
    yield (
        "makedns -n writes all zones anew from /etc/hosts and the tables: records that somebody"
        " added to the name server by hand are lost"
    )
