"""Seals: they prove that this user wrote a JSON object, wherever its file lies now.

The owner of a file does not tell who wrote it: what is unpacked from somebody's archive belongs to
the one who unpacks it. A seal tells who wrote it. It is the object's first field: an HMAC
(RFC 2104) with SHA-256 over what the object is about and all bytes behind the seal. Its secret
never leaves the user's state folder.
"""

import hmac
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from fabricgauge.files.ownership import not_own
from fabricgauge.files.places import place
from fabricgauge.files.reading import read_bytes
from fabricgauge.files.writing import make_folder, write_whole

#: As long as the hash, as RFC 2104 recommends.
SECRET_BYTES = 32

_SEALED = re.compile(rb'\{"seal":"([0-9a-f]{64})",(.*)\Z', re.DOTALL)


def secret_file() -> Path:
    return place("XDG_STATE_HOME") / "seal.key"


def sealed(content: bytes, about: str) -> bytes:
    """A JSON object with fields, with this user's seal; as it is where there can be no secret."""
    try:
        secret = _secret() or _new_secret()
    except OSError:
        return content
    rest = content.removeprefix(b"{")
    return b'{"seal":"%s",%s' % (_digest(secret, about, rest), rest)


def unsealed(content: bytes, about: str) -> str:
    """Why a JSON object has no seal of this user's for what it is about; empty where it has."""
    found = _SEALED.match(content)
    if not found:
        folder = secret_file().parent
        why = not_own(folder) if folder.exists() else ""
        return "has no seal" + (f", and none can be given: {why}" if why else "")
    try:
        secret = _secret()
    except OSError as error:
        return f"has a seal that cannot be checked: {error.strerror}"
    if secret and hmac.compare_digest(_digest(secret, about, found[2]), found[1]):
        return ""
    return f"has another seal than {secret_file()} gives"


def _digest(secret: bytes, about: str, rest: bytes) -> bytes:
    said = about.encode(errors="surrogateescape") + b"\0" + rest
    return hmac.digest(secret, said, "sha256").hex().encode()


def _secret() -> bytes:
    """The secret; empty where there is none yet.

    Raises:
        OSError: it is not whole, or not this user's alone.
    """
    file = secret_file()
    if not os.path.lexists(file):
        return b""
    secret = read_bytes(file, most_bytes=SECRET_BYTES)
    why = not_own(file) or ("others may read it" if file.stat().st_mode & 0o077 else "")
    if why or len(secret) != SECRET_BYTES:
        raise OSError(0, f"{file} is no secret ({why or 'it is damaged'}); remove it")
    return secret


def _new_secret() -> bytes:
    """Make the secret; of two programs that do so at once, both have the first one's.

    Raises:
        OSError: there is no place for it that is this user's own.
    """
    file = secret_file()
    make_folder(file.parent)
    if why := not_own(file.parent):
        raise OSError(0, why)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}.new")
    write_whole(draft, secrets.token_bytes(SECRET_BYTES))
    try:
        with suppress(FileExistsError):
            os.link(draft, file)  # it appears whole, and replaces none
    finally:
        draft.unlink()
    return _secret()
