"""Which nodes a network is planned for, and which it has; pure."""

import msgspec


class Places(msgspec.Struct, frozen=True):
    """Nodes as the command line has them, the file, and who else there is; empty where none are."""

    wanted: tuple[str, ...]
    described: tuple[str, ...]
    otherwise: tuple[str, ...]

    def of(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """A network's nodes: its own, as far as the command line or the file have them."""
        everybody = self.wanted or self.described
        if own:
            return tuple(node for node in own if not everybody or node in everybody)
        return everybody or self.otherwise

    def counted(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """All nodes that the network has, whoever is planned for."""
        return own or self.described or self.wanted or self.otherwise
