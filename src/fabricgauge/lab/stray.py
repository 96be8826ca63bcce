"""Send frames of an unknown protocol until killed: the receiver's Linux drops and counts each.

The script uses only the standard library (``python -I -S stray.py``). Its arguments are the
INTERFACE and the number of frames PER SECOND. It prints its process id when it is ready to send.
"""

import os
import socket
import sys
import time
from contextlib import suppress

#: IEEE 802 Local Experimental EtherType 1 (IEEE 802-2014, 9.2.4): no protocol has it.
ETHERTYPE = 0x88B5

#: Shortest payload of an Ethernet frame: 46 octets (IEEE 802.3, 3.2.8).
PAYLOAD = bytes(46)
BROADCAST = b"\xff" * 6


def main() -> None:
    interface, per_s = sys.argv[1], float(sys.argv[2])
    raw_socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw_socket.bind((interface, 0))
    source = raw_socket.getsockname()[4]
    frame = BROADCAST + source + ETHERTYPE.to_bytes(2, "big") + PAYLOAD
    print(os.getpid(), flush=True)  # noqa: T201 -- the answer that the lab waits for
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    while True:
        with suppress(OSError):  # the link may be down for now
            raw_socket.send(frame)
        time.sleep(1 / per_s)


if __name__ == "__main__":
    main()
