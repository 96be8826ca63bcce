"""``ethtool IFACE``, ``ethtool -i IFACE``, ``ethtool -a IFACE``, as text or ``--json``; pure.

As ethtool 6.1 prints them; the JSON of the settings after ethtool 6.10 (netlink/settings.c).
The printout itself tells which of the three it is.
"""

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import ethtool_driver, ethtool_pause, ethtool_settings
from fabricgauge.discover.printouts.json_documents import is_json, objects, word
from fabricgauge.discover.printouts.lines import broken_off, lines, unrecognised

TOOL = "ethtool"
#: What other options print; read elsewhere or not at all.
_OTHERS = ("Features for", "NIC statistics", "Coalesce parameters", "Ring parameters", "Channel")
_HEADS = ("Settings for ", "Pause parameters for ", "driver:", *_OTHERS)


def parse(text: str, argument: str = "") -> Parts:
    """What one of the three says of one interface.

    ``argument`` ends with the interface's name: ``eth0``, ``-i eth0``. Only ``-i`` needs it.
    """
    if is_json(text):
        return _of_json(text)
    first = next((line for line in lines(text) if line.startswith(_HEADS)), "")
    if first.startswith("Settings for "):
        return ethtool_settings.of_text(text)
    if first.startswith("Pause parameters for "):
        return ethtool_pause.of_text(text)
    if first.startswith("driver:"):
        return ethtool_driver.of_text(text, argument.rpartition(" ")[2])
    return Parts(troubles=unrecognised(TOOL, text, first))


def _of_json(text: str) -> Parts:
    read = objects(text)
    for entry in read.found:
        if "rx" in entry and "tx" in entry:
            return ethtool_pause.of_json(entry)
        if word(entry.get("ifname")):
            return ethtool_settings.of_json(entry)
    return Parts(troubles=broken_off(TOOL, read.whole))
