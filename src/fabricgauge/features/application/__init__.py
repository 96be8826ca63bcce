"""The site's own application: its MPI messages (``profile``) and its speed-up (``scale``)."""
