"""NetPIPE 3 to 5: its console lines and the files that it writes (``np.out``)."""

from fabricgauge.parse.interface import Dialect
from fabricgauge.parse.netpipe.output import NetPipeReader
from fabricgauge.parse.netpipe.rows import BEGINS

DIALECT = Dialect("netpipe", BEGINS, NetPipeReader)
