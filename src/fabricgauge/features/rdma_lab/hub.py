"""Join the head of a lab with its virtual machines: each frame goes to all other ends.

The script uses only the standard library (``python -I -S hub.py``). Its arguments are the head's
INTERFACE, which it makes, the SOCKET that virtual machines send frames to, and the SOCKET of each
virtual machine. It prints its process id when the interface exists.
"""

import fcntl
import os
import select
import socket
import struct
import sys
from contextlib import suppress

#: From <linux/if_tun.h>: a request of ioctl(2), and flags: frames of Ethernet, nothing before them.
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000

#: Larger than any frame that an MTU of 65535 allows.
FRAME_BYTES = 65536 + 64

#: A virtual machine whose queue stays full that long loses a frame: others wait for it meanwhile.
SEND_TIMEOUT_S = 0.2


def main() -> None:
    interface, own_path, *guest_paths = sys.argv[1:]
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR)
        request = struct.pack("16sH22x", interface.encode(), IFF_TAP | IFF_NO_PI)
        fcntl.ioctl(tap, TUNSETIFF, request)
        cables = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        cables.bind(own_path)
    except OSError as error:
        sys.exit(f"{error.filename or interface}: {error.strerror}")
    cables.settimeout(SEND_TIMEOUT_S)
    print(os.getpid(), flush=True)  # noqa: T201 -- the answer that the lab waits for
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    while True:
        ready, _, _ = select.select([tap, cables.fileno()], [], [])
        with suppress(OSError):  # an end is down or gone for now
            if tap in ready:
                send(cables, os.read(tap, FRAME_BYTES), guest_paths)
        with suppress(OSError):
            if cables.fileno() in ready:
                frame, sender = cables.recvfrom(FRAME_BYTES)
                send(cables, frame, [path for path in guest_paths if path != sender])
                os.write(tap, frame)


def send(cables: socket.socket, frame: bytes, paths: list[str]) -> None:
    for path in paths:
        with suppress(OSError):
            cables.sendto(frame, path)


if __name__ == "__main__":
    main()
