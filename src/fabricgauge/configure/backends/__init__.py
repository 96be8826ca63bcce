"""How a network is made permanent on nodes; a new way is a module and a row in ``table``."""
