"""Send frames of a protocol that no Linux knows, until killed: each is dropped and counted.

Runs by itself with nothing but the standard library (``python -I -S stray.py``): arguments are
the INTERFACE and how many frames to send PER SECOND. It prints its process id once it may send.
"""

import os
import socket
import sys
import time
from contextlib import suppress

#: IEEE 802 Local Experimental EtherType 1 (IEEE 802-2014, 9.2.4): no protocol's own.
ETHERTYPE = 0x88B5

#: The least that Ethernet carries: a header and 46 octets (IEEE 802.3, 3.2.8).
PAYLOAD = bytes(46)
BROADCAST = b"\xff" * 6


def main() -> None:
    interface, per_s = sys.argv[1], float(sys.argv[2])
    line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    line.bind((interface, 0))
    own = line.getsockname()[4]
    frame = BROADCAST + own + ETHERTYPE.to_bytes(2, "big") + PAYLOAD
    print(os.getpid(), flush=True)  # noqa: T201 -- the answer that the lab waits for
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    while True:
        with suppress(OSError):  # the link may be down for now
            line.send(frame)
        time.sleep(1 / per_s)


if __name__ == "__main__":
    main()
